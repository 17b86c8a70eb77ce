//! What the code of a statement may touch, by kind of code: a handle for each right.
//!
//! | handle | who has it | reads | changes |
//! | --- | --- | --- | --- |
//! | [`Env`](crate::types::Env) | functions of values | styles, times | nothing |
//! | [`Names`] | binding; functions and relations that describe definitions | definitions, the search path | nothing |
//! | [`System`] | functions and relations about the system | definitions, the session, other sessions, figures | settings, sequences, notices |
//! | [`Exec`] | operators, INSERT, UPDATE, DELETE, COPY | rows, parameters | rows, the statement's memory, checks for COMMIT |
//! | [`Change`] | definitions | all of these | the catalog, engine tables |
//!
//! A greater right is lent as a lesser one (`exec.names()`, `change.exec`) and never the other way round: what a handle holds
//! beyond its methods is private to this folder. Only a session makes an [`Exec`], and a [`Change`] of it.

mod change;
mod exec;
mod names;
mod system;
mod types;

pub use change::Change;
pub(crate) use change::name_taken;
pub use exec::Exec;
pub use names::{NameLookup, Names, temporary_namespace};
pub use system::System;
pub(crate) use types::type_taken;

pub use crate::memory::Memory;
pub use pgtypes::{row_bytes, value_bytes};
