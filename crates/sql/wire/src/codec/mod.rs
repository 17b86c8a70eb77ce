//! Messages as bytes: [`frame`] finds where one ends, [`frontend`] parses those of clients without copying them, and
//! [`backend`] writes the server's straight into the output, and [`converted`] makes those of clients with other encodings.
//!
//! An own codec, since the libraries build an owned value for every message and every row, and end the connection when a
//! message is longer than a limit of their own.

pub mod backend;
pub mod converted;
pub mod frame;
pub mod frontend;
