//! Sequences: numbers handed out outside transactions, never twice, a crash notwithstanding.

use crate::context::Context;
use crate::error::Result;
use crate::store::Store;
use std::sync::Arc;

/// The state of all sequences, and of the row numbers of tables without a primary key.
pub struct Sequences {}

#[allow(unused_variables)]
impl Sequences {
    /// Finds the state's engine table, or makes it.
    ///
    /// # Errors
    /// The engine's.
    pub fn open(store: &Arc<dyn Store>) -> Result<Sequences> {
        todo!()
    }
}

/// `nextval`
///
/// # Errors
/// 2200H at the end of the sequence, the engine's.
#[allow(unused_variables)]
pub fn next_value(context: &mut Context<'_>, sequence: u32) -> Result<i64> {
    todo!()
}

/// `setval`
///
/// # Errors
/// 22003 out of bounds, the engine's.
#[allow(unused_variables)]
pub fn set_value(context: &mut Context<'_>, sequence: u32, value: i64, is_called: bool) -> Result<()> {
    todo!()
}

/// A row number for a table without a primary key, never given before.
///
/// # Errors
/// The engine's.
#[allow(unused_variables)]
pub fn next_row_number(context: &mut Context<'_>, table: &crate::catalog::Table) -> Result<u64> {
    todo!()
}
