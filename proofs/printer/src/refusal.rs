//! Why a model is not printed.

use std::fmt;

/// What of a model lies outside the fragment. Each names the definition in which it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The definition or type, or nothing where the file as a whole is refused.
    pub place: String,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Not the JSON that Coq writes.
    Unreadable(String),
    /// The file of roots has no `Extraction "file" names.`
    NoRoots,
    /// A name that is not declared.
    Undeclared(String),
    /// A function that calls itself: the fragment has map and fold only.
    Recursion(String),
    /// An inductive type with parameters.
    Polymorphic,
    /// A type without a Rust counterpart.
    UnknownType(String),
    /// A record's field that is read nowhere, so that the extraction does not say its name.
    UnnamedField(usize),
    /// A name that Rust's conventions refuse: an underscore in a constructor that is not `Type_Constructor`.
    ConstructorName(String),
    /// Two variables of a function that are called the same in Rust, like `b'` and `b_prime`.
    SameName(String),
    /// A definition that has fewer parameters than its type has arrows.
    MissingParameters,
    /// A function used as a value, other than by map and fold.
    HigherOrder,
    /// Fewer or more arguments than the function has parameters.
    ArgumentCount(String),
    /// A constructor without all its arguments.
    ConstructorCount(String),
    /// The field of something that is not a variable or a field itself: it needs a `let`.
    FieldOfExpression,
    /// A pattern that takes a record or a pair apart: it needs projections.
    RecordPattern(String),
    /// A pattern on a number or a list.
    Pattern(String),
    /// A list whose tail is not literal.
    ListTail,
    /// A number of the model's text that needs more than 64 bits.
    BigNumber,
    /// Recursion, a value without content, or what else Coq has and the fragment has not.
    Expression,
    /// A map or a state that is still needed after it was given away.
    Copied(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            write!(out, "{}", self.reason)
        } else {
            write!(out, "{}: {}", self.place, self.reason)
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Unreadable(why) => write!(out, "this is not an extraction: {why}"),
            Reason::NoRoots => write!(out, "no `Extraction \"file\" names.` names the functions to print"),
            Reason::Undeclared(name) => write!(out, "{name} is not declared"),
            Reason::Recursion(name) => write!(out, "{name} calls itself: only map and fold_left are printed"),
            Reason::Polymorphic => write!(out, "a type with parameters"),
            Reason::UnknownType(name) => write!(out, "the type {name} has no counterpart in Rust"),
            Reason::UnnamedField(index) => write!(out, "field {index} is read nowhere, so its name is unknown"),
            Reason::ConstructorName(name) => write!(out, "the constructor {name} is neither a word nor Type_Word"),
            Reason::SameName(name) => write!(out, "two variables are called {name} in Rust"),
            Reason::MissingParameters => write!(out, "it has fewer parameters than its type has arrows"),
            Reason::HigherOrder => {
                write!(out, "a function as a value, other than the first argument of map or fold_left")
            }
            Reason::ArgumentCount(name) => write!(out, "{name} has another number of parameters"),
            Reason::ConstructorCount(name) => write!(out, "the constructor {name} has another number of arguments"),
            Reason::FieldOfExpression => write!(out, "a field of something that is no variable: name it with `let`"),
            Reason::RecordPattern(name) => write!(out, "a pattern takes {name} apart: use its fields, fst or snd"),
            Reason::Pattern(name) => write!(out, "a pattern on {name}"),
            Reason::ListTail => write!(out, "a list whose tail is not literal: use ++"),
            Reason::BigNumber => write!(out, "a number beyond 64 bits"),
            Reason::Expression => write!(out, "an expression outside the fragment (recursion, or without content)"),
            Reason::Copied(path) => write!(out, "{path} is a map or a state and would have to be copied"),
        }
    }
}

impl std::error::Error for Refusal {}

/// A step of printing.
pub type Result<T> = std::result::Result<T, Refusal>;

impl Reason {
    /// The refusal of the definition `place`.
    pub fn of(self, place: &str) -> Refusal {
        Refusal { place: place.to_owned(), reason: self }
    }
}
