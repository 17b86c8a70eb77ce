//! Changes of the catalog together with the storage and rows that definitions describe: the floor below the statements of DDL.
//!
//! An operation takes names and definitions, never a statement's syntax, and leaves catalog, storage and rows agreeing:
//! `table.rs`, `column.rs`, `column_type.rs`, `constraint.rs`, `foreign_key.rs`, `index.rs`, `sequence.rs` and `view.rs` make and
//! change objects, `rename.rs` moves them, `drop.rs` removes them with what `dependents.rs` finds. `rows.rs` rewrites rows;
//! `expression.rs` and `qualify.rs` read and rewrite the expressions and queries that definitions keep as text; `reads.rs` tells
//! which columns a view names, `view_column.rs` renames them there; `name.rs` finds free names, and words errors about names.
//! `defined_type.rs` has types in kept texts, and what depends on a type; `composite.rs` what holds values of a composite one.

pub(crate) mod column;
pub(crate) mod column_type;
pub(crate) mod composite;
pub(crate) mod constraint;
pub(crate) mod defined_type;
pub(crate) mod dependents;
pub(crate) mod drop;
pub(crate) mod expression;
pub(crate) mod foreign_key;
pub(crate) mod index;
pub(crate) mod label;
pub(crate) mod name;
pub(crate) mod on_commit;
pub(crate) mod qualify;
pub(crate) mod reads;
pub(crate) mod rename;
pub(crate) mod rows;
pub(crate) mod sequence;
pub(crate) mod table;
pub(crate) mod view;
pub(crate) mod view_column;
