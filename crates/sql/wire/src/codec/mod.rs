//! Messages as bytes: [`frame`] finds where one ends, [`frontend`] reads those of clients without copying them, and
//! [`backend`] writes the server's straight into the output.
//!
//! An own codec, since what the libraries offer builds an owned value for every message and every row, and ends the
//! connection when a message is longer than a limit that they have chosen.

pub mod backend;
pub mod frame;
pub mod frontend;
