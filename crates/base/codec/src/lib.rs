//! Numbers, byte strings and texts as bytes: log records, files, snapshots, frames.
//!
//! Two families, which a format chooses from field by field:
//!
//! | field | bytes | written by | read by |
//! | --- | --- | --- | --- |
//! | number | LEB128: 1 to 10, seven bits each, the low ones first | [`put_number`] | [`Reader::number`] |
//! | byte string | its length as a number, its bytes | [`put_bytes`] | [`Reader::bytes`] |
//! | integer of fixed width | 1, 2, 4 or 8, little-endian | `push`, [`put_u16`], [`put_u32`], [`put_u64`] | [`Reader::u8`] and so on |
//! | byte string, text | its length in 4 bytes, its bytes | [`put_bytes32`] | [`Reader::bytes32`], [`Reader::text32`] |
//!
//! # Invariants
//! 1. Reading never panics and ends at the last byte: hostile bytes yield [`Malformed`], which says where the bad field begins.
//! 2. A length that exceeds the bytes left is refused before anything is allocated for it.
//! 3. A number has one encoding, the shortest. So equal values have equal bytes, and checksums and signatures of both agree.
//!
//! [`StreamReader`] reads numbers and byte strings from a stream, for what is too long to be in memory whole.
//! [`u32_at`] and [`u64_at`] read blocks of fixed layout, whose length the caller has checked.
//!
//! Deliberately absent: schemas, derive macros, versions. Each format numbers its own versions and tags.

#![forbid(unsafe_code)]

mod reader;
mod stream;
mod writer;

pub use reader::{Malformed, Reader, Reason, u32_at, u64_at};
pub use stream::{StreamError, StreamReader};
pub use writer::{put_bytes, put_bytes32, put_number, put_u16, put_u32, put_u64};
