//! The syntax tree: the parser's, under one name for all crates.

mod copy;
mod definition;

pub use copy::{Copy, CopyOption, CopySource, CopyStream};
pub use definition::{
    Alter, AlterAction, ColumnAction, ColumnDefinition, ColumnOption, Comment, Constraint, ConstraintKind,
    CreateExtension, CreateIndex, CreateSchema, CreateSequence, CreateTable, CreateTableAs, CreateView, Definition,
    Drop, ForeignKey, IndexColumn, Lock, Maintenance, ObjectKind, Privileges, ReferentialAction, SequenceOptions,
    Truncate,
};
pub use sqlparser::ast::*;
pub use sqlparser::tokenizer::{Location, Span};
