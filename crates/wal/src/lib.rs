//! Seriatim: wal.
