//! Prints a first-order fragment of what Coq extracts as JSON, as Rust.
//!
//! The model of Multi-Paxos is a set of pure functions in Coq, about which theorems are proved. This crate turns them into
//! the functions that run. It is small because what it accepts is small, and everything else is a named [`Refusal`].
//!
//! # The fragment
//! - Types: `N` (`u64`), `bool`, `option`, `list`, pairs, the types of `prim.rs`, records, enumerations whose constructors have
//!   arguments of such types, and other names of such types. None has parameters, none is recursive.
//! - Functions of such types to such types, none of which calls itself; `let`; numbers, literal lists; `if`; `match` on one
//!   level of an option or an enumeration; fields, `fst` and `snd` of variables; comparisons, `&&`, `||`, `negb`; the
//!   functions of `prim.rs`; `map` and `fold_left` with a lambda or a function that lacks its last arguments.
//! - Not in it: recursion, other functions as values, type parameters, patterns that take records, pairs, lists or numbers
//!   apart, fields of something that is not a variable.
//!
//! # Ownership
//! Coq's values are never changed, Rust's are moved. A variable, or a field of one, is moved where it is needed last, and cloned
//! where it is needed again; maps and the state cannot be cloned, so a model that needs one twice is refused. Parameters
//! that are only looked at are references. What a map holds is only looked at where the model uses no more than its fields.
//! Whatever is wrong here is refused by rustc at the latest: the printed text has no `unsafe`, no `clone` of a map, and no
//! mutable variable.
//!
//! # What has to be trusted
//! That the text means what the JSON means: names of variables ([`names`]), the order of fields, and the table of
//! primitives ([`primitives`]). The same JSON's twin in OCaml is run against the printed text on millions of events.

#![forbid(unsafe_code)]

pub mod comments;
mod expressions;
pub mod extraction;
pub mod ir;
mod lower;
pub mod names;
pub mod ownership;
pub mod primitives;
mod print;
pub mod program;
mod refusal;

pub use refusal::{Reason, Refusal, Result};

use serde::Deserialize;

use comments::Comments;
use extraction::{Declaration, Extraction};

/// A Coq source: its path as the printed text names it, and its text.
#[derive(Debug)]
pub struct Source {
    /// From the repository's root.
    pub path: String,
    /// All of it.
    pub text: String,
}

/// Prints what `roots` reach of the extraction `json`; the comments of `sources` become documentation.
///
/// # Errors
/// The first [`Refusal`] that is met.
pub fn print(json: &str, roots: &[String], sources: &[Source]) -> Result<String> {
    let unreadable = |error: serde_json::Error| Reason::Unreadable(error.to_string()).of("");
    let mut reader = serde_json::Deserializer::from_str(json);
    reader.disable_recursion_limit();
    let extraction = Extraction::deserialize(&mut reader).map_err(unreadable)?;
    let program = lower::lower(&extraction, roots)?;
    let order: Vec<&str> = extraction.declarations.iter().filter_map(Declaration::name).collect();
    let mut comments = Comments::default();
    sources.iter().for_each(|source| comments.read(&source.text));
    let paths: Vec<String> = sources.iter().map(|source| source.path.clone()).collect();
    print::print(&program, &order, roots, &comments, &paths)
}

/// The names that `Extraction "file" names.` of a Coq source extracts.
///
/// # Errors
/// If there is no such sentence.
pub fn roots(source: &str) -> Result<Vec<String>> {
    let sentence = source.lines().skip_while(|line| !line.starts_with("Extraction \"")).collect::<Vec<_>>().join(" ");
    let names = sentence.split('"').nth(2).and_then(|rest| rest.split('.').next()).unwrap_or("");
    let names: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
    if names.is_empty() { Err(Reason::NoRoots.of("")) } else { Ok(names) }
}
