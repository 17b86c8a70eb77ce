//! Limits of the engine beneath SQL, where its defaults are meant for smaller programs.

use seriatim::Builder;

/// Tables of the engine: one for each table and each index of SQL.
const TABLES: usize = 100_000;
/// The longest row that the engine can hold.
const ROW_BYTES: usize = 4_000_000;
/// The longest key: PostgreSQL's indexes end at a third of this.
const KEY_BYTES: usize = 8_192;
/// Rows that a transaction may write; a large COPY is one transaction. Their bytes have a limit of their own.
const WRITTEN_ROWS: usize = 10_000_000;
/// Bytes that a transaction may write. They become one record of the log, which a segment must hold.
const WRITTEN_BYTES: usize = 224 << 20;
/// Bytes of a segment of the log.
const SEGMENT_BYTES: u64 = 256 << 20;

/// A builder with these limits.
pub fn builder() -> Builder {
    Builder::default()
        .max_row_bytes(ROW_BYTES)
        .max_key_bytes(KEY_BYTES)
        .max_write_rows(WRITTEN_ROWS)
        .max_write_bytes(WRITTEN_BYTES)
        .engine(|options| {
            options.tables = TABLES;
            options.log.segment_bytes = SEGMENT_BYTES;
        })
}
