//! The rows.

use crate::source::{Lines, Source};
use std::borrow::Cow;
use std::fmt::Display;
use tpchgen::distribution::Distributions;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen::text::TextPool;

/// The tables' names, those first that others refer to.
pub const TABLES: [&str; 8] = ["region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem"];

/// Bytes of the texts from which short comments are cut.
const SHORT: i32 = 4 << 20;

/// The rows of all tables at one scale: the same at every call.
pub struct Data {
    scale: f64,
    texts: Cow<'static, TextPool>,
}

impl Data {
    /// The rows that dbgen makes. Scale 1 has 6 million items in a gigabyte. The texts take 300 MB.
    pub fn new(scale: f64) -> Data {
        Data { scale, texts: Cow::Borrowed(TextPool::get_or_init_default()) }
    }

    /// The same rows but for their comments, which are cut from fewer texts: quick to set up.
    pub fn with_few_texts(scale: f64) -> Data {
        Data { scale, texts: Cow::Owned(TextPool::new(SHORT, Distributions::static_default())) }
    }

    /// The scale.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Shows the rows of a table as lines for COPY with the delimiter `|`, many lines at a time.
    ///
    /// # Errors
    /// Errors of `visit`.
    pub fn lines<E>(&self, table: &str, visit: &mut dyn FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        let (scale, words, texts) = (self.scale, Distributions::static_default(), &*self.texts);
        let mut lines = Lines::new(visit);
        match table {
            "region" => lines.all(RegionGenerator::new_with_distributions_and_text_pool(words, texts).iter())?,
            "nation" => lines.all(NationGenerator::new_with_distributions_and_text_pool(words, texts).iter())?,
            "part" => {
                lines.all(PartGenerator::new_with_distributions_and_text_pool(scale, 1, 1, words, texts).iter())?;
            }
            "supplier" => {
                lines.all(SupplierGenerator::new_with_distributions_and_text_pool(scale, 1, 1, words, texts).iter())?;
            }
            "partsupp" => lines.all(PartSuppGenerator::new_with_text_pool(scale, 1, 1, texts).iter())?,
            "customer" => {
                lines.all(CustomerGenerator::new_with_distributions_and_text_pool(scale, 1, 1, words, texts).iter())?;
            }
            "orders" => {
                lines.all(OrderGenerator::new_with_distributions_and_text_pool(scale, 1, 1, words, texts).iter())?;
            }
            "lineitem" => {
                lines.all(LineItemGenerator::new_with_distributions_and_text_pool(scale, 1, 1, words, texts).iter())?;
            }
            _ => {}
        }
        lines.leave()
    }
}

impl Source for Data {
    fn schema(&self) -> &str {
        crate::SCHEMA
    }

    fn tables(&self) -> &[&str] {
        &TABLES
    }

    fn lines<E>(&self, table: &str, visit: &mut dyn FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        Data::lines(self, table, visit)
    }
}

impl<E> Lines<'_, E> {
    fn all(&mut self, rows: impl Iterator<Item = impl Display>) -> Result<(), E> {
        for row in rows {
            self.line(|text| {
                use std::fmt::Write;
                // To a string it cannot fail.
                let _ = write!(text, "{row}");
                // dbgen ends every value with a bar, the last one, too.
                text.pop();
            })?;
        }
        Ok(())
    }
}
