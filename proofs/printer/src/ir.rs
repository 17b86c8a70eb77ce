//! The fragment: what of a model the printer accepts, in the terms in which it is printed.

use std::collections::BTreeSet;

use crate::primitives::{Operator, Primitive, PrimitiveType};

/// A type of Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// `u64`, for `N`.
    Number,
    /// `bool`.
    Boolean,
    /// One of `prim.rs`, with what it contains.
    Primitive(&'static PrimitiveType, Vec<Type>),
    /// A printed struct, enum or alias, by its extracted name.
    Named(String),
    /// `Option<T>`.
    Option(Box<Type>),
    /// `Vec<T>`.
    List(Box<Type>),
    /// `(A, B)`.
    Pair(Box<Type>, Box<Type>),
    /// Of an empty list or map: whatever its context wants.
    Unknown,
}

/// A variable, or a field of one, or a field of that, and so on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    /// The variable.
    pub root: String,
    /// The fields, outermost first.
    pub fields: Vec<String>,
}

impl Path {
    /// Does one contain the other?
    pub fn overlaps(&self, other: &Path) -> bool {
        self.root == other.root && self.fields.iter().zip(&other.fields).all(|(a, b)| a == b)
    }

    /// Without its last field.
    pub fn parent(&self) -> Option<(Path, &String)> {
        let (last, fields) = self.fields.split_last()?;
        Some((Path { root: self.root.clone(), fields: fields.to_vec() }, last))
    }
}

/// A path and what it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// From a variable.
    pub path: Path,
    /// Of the value there.
    pub ty: Type,
    /// What the last field is a field of; the same as `ty` for a variable.
    pub of: Type,
}

/// A set of paths, for instance those that are still needed.
pub type Paths = BTreeSet<Path>;

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A variable or a field.
    Path(Place),
    /// A number.
    Number(u64),
    /// A truth value.
    Boolean(bool),
    /// A call of a printed function, by its extracted name; without arguments a constant.
    Call(String, Vec<Expr>),
    /// A call of a function of `prim.rs`.
    Primitive(&'static Primitive, Vec<Expr>),
    /// `a op b`.
    Operator(&'static Operator, Box<Expr>, Box<Expr>),
    /// `!a`.
    Not(Box<Expr>),
    /// `let name = value; body`.
    Let(String, Box<Expr>, Box<Expr>),
    /// A constructor of an enum: its type's and its own extracted names.
    Variant(String, String, Vec<Expr>),
    /// A struct by its type's extracted name, with all its fields.
    Struct(String, Vec<(String, Expr)>),
    /// `(a, b)`.
    Pair(Box<Expr>, Box<Expr>),
    /// `Some(a)`.
    Some(Box<Expr>),
    /// `None`.
    None,
    /// `vec![a, b, c]`.
    List(Vec<Expr>),
    /// `map closure list`.
    Map(Box<Closure>, Box<Expr>),
    /// `fold_left closure list start`.
    Fold(Box<Closure>, Box<Expr>, Box<Expr>),
    /// `if condition { yes } else { no }`.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `match scrutinee { arms }`.
    Match(Box<Expr>, Vec<Arm>),
}

/// The function that map or fold applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closure {
    /// The parameters: the accumulator, if any, and the element.
    pub parameters: Vec<String>,
    /// The element's type.
    pub element: Type,
    /// What it computes.
    pub body: Expr,
}

/// `pattern => body`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm {
    /// What it takes.
    pub pattern: Pattern,
    /// What it gives.
    pub body: Expr,
}

/// A pattern: one constructor, its arguments variables or `_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// `_`.
    Wild,
    /// `None`.
    None,
    /// `Some(x)`, with the type of `x`.
    Some(String, Type),
    /// Of an enum: its type's and its own extracted names.
    Variant(String, String, Vec<String>),
}

impl Pattern {
    /// The variables that it binds.
    pub fn bound(&self) -> impl Iterator<Item = &String> {
        let names = match self {
            Pattern::Wild | Pattern::None => [].as_slice(),
            Pattern::Some(name, _) => std::slice::from_ref(name),
            Pattern::Variant(_, _, names) => names,
        };
        names.iter().filter(|name| *name != "_")
    }
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// As extracted.
    pub name: String,
    /// With their types.
    pub parameters: Vec<(String, Type)>,
    /// What it gives.
    pub result: Type,
    /// How.
    pub body: Expr,
}

/// A type that is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Definition {
    /// `type A = T`.
    Alias(Type),
    /// Its fields.
    Struct(Vec<(String, Type)>),
    /// Its variants by their extracted names.
    Enum(Vec<(String, Vec<Type>)>),
}
