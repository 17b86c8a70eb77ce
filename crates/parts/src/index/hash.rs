//! Hash index.
/// Hash index.
pub struct Hash;
