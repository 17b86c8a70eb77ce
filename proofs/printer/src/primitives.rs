//! What is trusted, not printed: the types and functions of `crates/order/paxos/src/core/prim.rs`.
//!
//! The names are those that `proofs/extract/Json.v` gives to the constants of `proofs/paxos/Prim.v` and of Coq's library.

/// How values of a type pass from hand to hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `Copy`.
    Copied,
    /// `Clone`, at the price of a reference count or of a short list.
    Cloned,
    /// Neither: a model that needs it twice is refused.
    Moved,
}

/// How a function takes an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It becomes the function's.
    Owned,
    /// By reference.
    Borrowed,
}

/// A type of `prim.rs`.
#[derive(Debug, PartialEq, Eq)]
pub struct PrimitiveType {
    /// As extracted.
    pub coq: &'static str,
    /// As in `prim.rs`.
    pub rust: &'static str,
    /// Of the type itself; what it contains does not matter.
    pub kind: Kind,
}

/// What a primitive gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// `u64`.
    Number,
    /// `bool`.
    Boolean,
    /// A list of `u64`.
    Numbers,
    /// The type of that name, which has no parameters.
    Type(&'static str),
    /// The type of that name, of elements that are not known here.
    Empty(&'static str),
    /// The type of the argument at this index.
    Same(usize),
    /// A reference into the argument at this index, if it has the element.
    Element(usize),
    /// Keys and elements of the argument at this index.
    Pairs(usize),
}

/// A function of `prim.rs`.
#[derive(Debug, PartialEq, Eq)]
pub struct Primitive {
    /// As extracted and as in `prim.rs`.
    pub name: &'static str,
    /// Of each argument.
    pub modes: &'static [Mode],
    /// Of the result.
    pub returns: Returns,
}

/// An operator of Rust.
#[derive(Debug, PartialEq, Eq)]
pub struct Operator {
    /// As extracted.
    pub coq: &'static str,
    /// Between its operands.
    pub rust: &'static str,
    /// A greater one binds more tightly.
    pub strength: u8,
}

/// The types.
pub const TYPES: &[PrimitiveType] = &[
    PrimitiveType { coq: "value", rust: "Value", kind: Kind::Cloned },
    PrimitiveType { coq: "image", rust: "Image", kind: Kind::Cloned },
    PrimitiveType { coq: "nset", rust: "ReplicaSet", kind: Kind::Copied },
    PrimitiveType { coq: "imap", rust: "InstanceMap", kind: Kind::Moved },
    PrimitiveType { coq: "smap", rust: "SessionMap", kind: Kind::Moved },
];

const O: Mode = Mode::Owned;
const B: Mode = Mode::Borrowed;

/// The functions.
pub const FUNCTIONS: &[Primitive] = &[
    Primitive { name: "noop", modes: &[], returns: Returns::Type("value") },
    Primitive { name: "blank", modes: &[], returns: Returns::Type("image") },
    Primitive { name: "n_add", modes: &[O, O], returns: Returns::Number },
    Primitive { name: "n_mul", modes: &[O, O], returns: Returns::Number },
    Primitive { name: "n_div", modes: &[O, O], returns: Returns::Number },
    Primitive { name: "n_mod", modes: &[O, O], returns: Returns::Number },
    Primitive { name: "n_max", modes: &[O, O], returns: Returns::Number },
    Primitive { name: "n_min", modes: &[O, O], returns: Returns::Number },
    Primitive { name: "n_range", modes: &[O, O], returns: Returns::Numbers },
    Primitive { name: "list_append", modes: &[O, O], returns: Returns::Same(0) },
    Primitive { name: "ns_empty", modes: &[], returns: Returns::Type("nset") },
    Primitive { name: "ns_add", modes: &[O, O], returns: Returns::Type("nset") },
    Primitive { name: "ns_mem", modes: &[O, O], returns: Returns::Boolean },
    Primitive { name: "ns_size", modes: &[O], returns: Returns::Number },
    Primitive { name: "im_empty", modes: &[], returns: Returns::Empty("imap") },
    Primitive { name: "im_get", modes: &[O, B], returns: Returns::Element(1) },
    Primitive { name: "im_has", modes: &[O, B], returns: Returns::Boolean },
    Primitive { name: "im_set", modes: &[O, O, O], returns: Returns::Same(2) },
    Primitive { name: "im_drop_below", modes: &[O, O], returns: Returns::Same(1) },
    Primitive { name: "im_range", modes: &[O, O, B], returns: Returns::Pairs(2) },
    Primitive { name: "sm_empty", modes: &[], returns: Returns::Empty("smap") },
    Primitive { name: "sm_get", modes: &[O, B], returns: Returns::Element(1) },
    Primitive { name: "sm_set", modes: &[O, O, O], returns: Returns::Same(2) },
    Primitive { name: "sm_remove", modes: &[O, O], returns: Returns::Same(1) },
];

/// The operators, which give a `bool`. `negb` is Rust's `!`.
pub const OPERATORS: &[Operator] = &[
    Operator { coq: "n_ltb", rust: "<", strength: 3 },
    Operator { coq: "n_leb", rust: "<=", strength: 3 },
    Operator { coq: "n_eqb", rust: "==", strength: 3 },
    Operator { coq: "andb", rust: "&&", strength: 2 },
    Operator { coq: "orb", rust: "||", strength: 1 },
];

/// The type extracted as `coq`.
pub fn type_named(coq: &str) -> Option<&'static PrimitiveType> {
    TYPES.iter().find(|ty| ty.coq == coq)
}

/// The function extracted as `name`.
pub fn function_named(name: &str) -> Option<&'static Primitive> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// The operator extracted as `coq`.
pub fn operator_named(coq: &str) -> Option<&'static Operator> {
    OPERATORS.iter().find(|operator| operator.coq == coq)
}
