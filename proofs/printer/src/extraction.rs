//! What Coq's `Extraction Language JSON` writes, as far as the printer reads it.
//!
//! Everything else becomes `Other`, so that what is extracted beside the model (the definitions under the primitives)
//! is read, and refused only where a printed function reaches it.

use serde::Deserialize;

/// One extracted file.
#[derive(Debug, Deserialize)]
pub struct Extraction {
    /// In the order of Coq: everything stands behind what it names.
    pub declarations: Vec<Declaration>,
}

/// A type or a function.
#[derive(Debug, Deserialize)]
#[serde(tag = "what")]
pub enum Declaration {
    /// `Inductive` and `Record`.
    #[serde(rename = "decl:ind")]
    Inductive {
        /// Its name.
        name: String,
        /// Its type parameters.
        argnames: Vec<String>,
        /// One for a record.
        constructors: Vec<Constructor>,
    },
    /// A type that is another name of a type.
    #[serde(rename = "decl:type")]
    Alias {
        /// Its name.
        name: String,
        /// Its type parameters.
        argnames: Vec<String>,
        /// What it stands for.
        value: Type,
    },
    /// A function or a constant.
    #[serde(rename = "decl:term")]
    Term {
        /// Its name.
        name: String,
        /// Arrows, as many as it takes arguments.
        #[serde(rename = "type")]
        ty: Type,
        /// A lambda, unless it is a constant.
        value: Expression,
    },
    /// Functions that call themselves.
    #[serde(rename = "decl:fixgroup")]
    Fixpoints {
        /// Each of them.
        fixlist: Vec<Fixpoint>,
    },
    /// Anything else.
    #[serde(other)]
    Other,
}

/// One way to make a value of an inductive type.
#[derive(Debug, Deserialize)]
pub struct Constructor {
    /// Its name.
    pub name: String,
    /// The types of its arguments.
    pub argtypes: Vec<Type>,
}

/// One recursive function: only its name matters, for the refusal.
#[derive(Debug, Deserialize)]
pub struct Fixpoint {
    /// Its name.
    pub name: String,
}

/// A type.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "what")]
pub enum Type {
    /// A function's.
    #[serde(rename = "type:arrow")]
    Arrow {
        /// What it takes.
        left: Box<Type>,
        /// What it gives.
        right: Box<Type>,
    },
    /// A declared one with its arguments.
    #[serde(rename = "type:glob")]
    Global {
        /// Its name.
        name: String,
        /// Its arguments.
        args: Vec<Type>,
    },
    /// Anything else.
    #[serde(other)]
    Other,
}

/// An expression.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "what")]
pub enum Expression {
    /// A variable.
    #[serde(rename = "expr:rel")]
    Variable {
        /// Its name.
        name: String,
    },
    /// A declared function or constant.
    #[serde(rename = "expr:global")]
    Global {
        /// Its name.
        name: String,
    },
    /// `let name := nameval in body`.
    #[serde(rename = "expr:let")]
    Let {
        /// The variable.
        name: String,
        /// What it is.
        nameval: Box<Expression>,
        /// Where it is.
        body: Box<Expression>,
    },
    /// `fun argnames => body`.
    #[serde(rename = "expr:lambda")]
    Lambda {
        /// The parameters.
        argnames: Vec<String>,
        /// What it computes.
        body: Box<Expression>,
    },
    /// `func args`.
    #[serde(rename = "expr:apply")]
    Apply {
        /// What is applied.
        func: Box<Expression>,
        /// To what.
        args: Vec<Expression>,
    },
    /// A constructor with all its arguments.
    #[serde(rename = "expr:constructor")]
    Construct {
        /// Its name.
        name: String,
        /// Its arguments.
        args: Vec<Expression>,
    },
    /// `match expr with cases end`.
    #[serde(rename = "expr:case")]
    Case {
        /// What is looked at.
        expr: Box<Expression>,
        /// In order.
        cases: Vec<Case>,
    },
    /// Anything else: recursion, what Coq could not type, what has no content.
    #[serde(other)]
    Other,
}

/// One `| pattern => body`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Case {
    /// What it takes.
    pub pat: Pattern,
    /// What it gives.
    pub body: Expression,
}

/// A pattern. Coq has compiled nested ones away.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "what")]
pub enum Pattern {
    /// A constructor; `_` is an argument without a name.
    #[serde(rename = "pat:constructor")]
    Constructor {
        /// Its name.
        name: String,
        /// Its arguments.
        argnames: Vec<String>,
    },
    /// `_`.
    #[serde(rename = "pat:wild")]
    Wild,
    /// Anything else.
    #[serde(other)]
    Other,
}

impl Declaration {
    /// The name of a type or a function that is not recursive.
    pub fn name(&self) -> Option<&str> {
        match self {
            Declaration::Inductive { name, .. } | Declaration::Alias { name, .. } | Declaration::Term { name, .. } => {
                Some(name)
            }
            Declaration::Fixpoints { .. } | Declaration::Other => None,
        }
    }
}
