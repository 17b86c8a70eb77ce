//! Values of enums.

use smol_str::SmolStr;

/// A value of an enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The enum's identifier.
    pub enumeration: u32,
    /// How it is written.
    pub name: SmolStr,
    /// Its place in the enum's order: ranks compare as bytes. A label keeps its rank as long as it lives, so that this is what is
    /// stored of a value.
    pub rank: Box<[u8]>,
}
