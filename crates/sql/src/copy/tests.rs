//! Formats, in pieces of any size.
