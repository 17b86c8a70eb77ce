//! The syntax tree: plain data, with the places that errors need.
//!
//! It has what PostgreSQL's language has and this server handles; `lower` refuses the rest. Printed, a tree is SQL that
//! is read as the same tree again: views and defaults are kept as text.

mod copy;
mod data_type;
mod database;
mod definition;
mod dml;
mod expression;
mod name;
mod print;
mod query;
mod role;
mod span;
mod table;
mod walk;

pub use copy::{Copy, CopyOption, CopySource, CopyStream};
pub(crate) use data_type::BY_IDENTIFIER;
pub use data_type::DataType;
pub use database::{AlterDatabase, AlterDatabaseAction, CreateDatabase, DatabaseOption, DropDatabase, SettingChange};
pub use definition::{
    Alter, AlterAction, Attribute, ColumnAction, ColumnDefinition, ColumnOption, ColumnSource, Comment, Constraint,
    ConstraintKind, CreateDomain, CreateExtension, CreateIndex, CreateSchema, CreateSequence, CreateTable,
    CreateTableAs, CreateType, CreateView, Definition, DomainOption, Drop, ForeignKey, Includes, IndexColumn, Key,
    LabelPlace, Like, Lock, Maintenance, NewType, ObjectKind, OnCommit, Privileges, ReferentialAction, SequenceOptions,
    Truncate,
};
pub use dml::{
    Assignment, AssignmentTarget, ConflictTarget, Delete, DoUpdate, Insert, Merge, MergeAction, MergeClause,
    OnConflict, Overriding, Statement, Update, WrittenTable,
};
pub use expression::{
    Access, Argument, Case, CaseWhen, Exclusion, Expr, Function, Interval, LikeKind, Literal, Operator, SpecialCall,
    TrimSide, Value, Window, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec,
};
pub use name::{Ident, Location, ObjectName, Span};
pub use query::{
    Cte, Distinct, GroupingElement, Limit, LockClause, LockType, NamedWindow, NonBlock, OrderByExpr, OrderByOptions,
    Query, Select, SelectItem, SetExpr, SetOperator, ValuesRow, With,
};
pub use role::{AlterRole, AlterRoleAction, CreateRole, DropRole, Membership, Owned, OwnedAction, RoleOption};
pub use table::{
    FunctionsForm, Join, JoinConstraint, JoinKind, TableAlias, TableAliasColumn, TableFactor, TableFunction,
    TableWithJoins,
};
pub use walk::{Visit, VisitMut, Visitor, VisitorMut, visit_expressions, visit_expressions_mut, visit_relations};
