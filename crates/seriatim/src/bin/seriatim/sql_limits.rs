//! Limits of the engine beneath SQL, where its defaults are meant for smaller programs.

/// Tables of the engine: one for each table and each index of SQL.
pub const TABLES: usize = 100_000;
/// The longest row that the engine can hold.
pub const ROW_BYTES: usize = 4_000_000;
/// The longest key: PostgreSQL's indexes end at a third of this.
pub const KEY_BYTES: usize = 8_192;
/// Rows that a transaction may write; a large COPY is one transaction. Their bytes have a limit of their own.
pub const WRITTEN_ROWS: usize = 10_000_000;
