//! TPC-H: a wholesale supplier's books, and 22 questions that are asked of them. And six questions over one large table, alone and beside a
//! writer.
//!
//! [`Data`] has the rows of dbgen, [`queries`] the questions with the validation parameters, [`Client`] a session of the database in this
//! process. The test compares answers: of the row executor, of operators over batches on each engine that has tables, of PostgreSQL.
//! [`Facts`] has the large table and its questions with their answers; [`beside_a_writer`] scans it while single rows change,
//! [`behind_an_open_update`] reads rows that somebody has changed and not committed. The command `tpch` measures times, beside PostgreSQL's
//! and DuckDB's.
//!
//! Source: TPC Benchmark H, revision 3.0. Deviations: primary keys are declared and foreign keys are not; the refresh functions are
//! absent; query 15 is in its variant with WITH; below scale 1 the tables shrink together, but for regions and nations.

#![forbid(unsafe_code)]

mod behind;
mod client;
mod data;
mod facts;
mod source;
mod spread;
mod writer;

pub use behind::{Behind, BehindUpdate, behind_an_open_update};
pub use client::{Client, Subject, open};
pub use data::{Data, TABLES};
pub use facts::{Fact, Facts, Question};
pub use source::Source;
pub use spread::Spread;
pub use writer::{Beside, BesideWriter, beside_a_writer};

/// The tables, as statements of SQL.
pub const SCHEMA: &str = include_str!("../queries/schema.sql");

macro_rules! texts {
    ($($number:literal)*) => { [$(include_str!(concat!("../queries/", $number, ".sql"))),*] };
}

const TEXTS: [&str; 22] = texts!(
    "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11" "12" "13" "14" "15" "16" "17" "18" "19" "20" "21" "22"
);

/// The queries, in their order. The threshold of query 11 depends on the scale.
pub fn queries(scale: f64) -> Vec<String> {
    let fraction = format!("{:.10}", 0.0001 / scale);
    TEXTS.iter().map(|text| text.replace(":fraction", &fraction)).collect()
}
