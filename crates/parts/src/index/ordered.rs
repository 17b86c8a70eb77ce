//! Ordered index.
/// Ordered index.
pub struct Ordered;
