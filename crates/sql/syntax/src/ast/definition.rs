//! Statements over the catalog: what they create, change and drop.

use super::{
    AlterDatabase, AlterRole, CreateDatabase, CreateRole, DropDatabase, DropRole, Membership, Owned, OwnedAction,
};
use super::{DataType, Expr, Ident, ObjectName, Query};
use pgtypes::Type;

/// A statement over the catalog.
#[derive(Clone, Debug)]
pub enum Definition {
    /// CREATE TABLE
    CreateTable(CreateTable),
    /// CREATE TABLE AS, SELECT INTO
    CreateTableAs(CreateTableAs),
    /// CREATE INDEX
    CreateIndex(CreateIndex),
    /// CREATE VIEW
    CreateView(CreateView),
    /// CREATE SEQUENCE
    CreateSequence(CreateSequence),
    /// CREATE SCHEMA
    CreateSchema(CreateSchema),
    /// CREATE EXTENSION
    CreateExtension(CreateExtension),
    /// CREATE DATABASE
    CreateDatabase(CreateDatabase),
    /// ALTER DATABASE
    AlterDatabase(AlterDatabase),
    /// DROP DATABASE
    DropDatabase(DropDatabase),
    /// CREATE TYPE
    CreateType(CreateType),
    /// CREATE ROLE
    CreateRole(CreateRole),
    /// ALTER ROLE
    AlterRole(AlterRole),
    /// DROP ROLE
    DropRole(DropRole),
    /// GRANT and REVOKE of roles
    Membership(Membership),
    /// REASSIGN OWNED, DROP OWNED
    Owned(Owned),
    /// CREATE DOMAIN
    CreateDomain(CreateDomain),
    /// ALTER
    Alter(Alter),
    /// DROP
    Drop(Drop),
    /// TRUNCATE
    Truncate(Truncate),
    /// COMMENT ON
    Comment(Comment),
    /// GRANT, REVOKE
    Privileges(Privileges),
    /// LOCK
    Lock(Lock),
    /// VACUUM, ANALYZE, REINDEX, CLUSTER
    Maintenance(Maintenance),
}

impl Definition {
    /// Returns whether it is about what all databases share.
    pub fn is_shared(&self) -> bool {
        match self {
            Definition::CreateDatabase(_) | Definition::AlterDatabase(_) | Definition::DropDatabase(_) => true,
            Definition::CreateRole(_) | Definition::AlterRole(_) | Definition::DropRole(_) => true,
            Definition::Membership(_) | Definition::Privileges(_) | Definition::Maintenance(_) => true,
            Definition::Comment(comment) => matches!(comment.kind, ObjectKind::Database | ObjectKind::Role),
            _ => false,
        }
    }

    /// The command's tag, which messages name it by.
    pub fn tag(&self) -> String {
        let tag = match self {
            Definition::CreateTable(_) => "CREATE TABLE",
            Definition::CreateTableAs(create) if create.is_select_into => "SELECT INTO",
            Definition::CreateTableAs(_) => "CREATE TABLE AS",
            Definition::CreateIndex(_) => "CREATE INDEX",
            Definition::CreateView(_) => "CREATE VIEW",
            Definition::CreateSequence(_) => "CREATE SEQUENCE",
            Definition::CreateSchema(_) => "CREATE SCHEMA",
            Definition::CreateExtension(_) => "CREATE EXTENSION",
            Definition::CreateDatabase(_) => "CREATE DATABASE",
            Definition::AlterDatabase(_) => "ALTER DATABASE",
            Definition::DropDatabase(_) => "DROP DATABASE",
            Definition::CreateType(_) => "CREATE TYPE",
            Definition::CreateRole(_) => "CREATE ROLE",
            Definition::AlterRole(_) => "ALTER ROLE",
            Definition::DropRole(_) => "DROP ROLE",
            Definition::Membership(membership) if membership.is_grant => "GRANT ROLE",
            Definition::Membership(_) => "REVOKE ROLE",
            Definition::Owned(Owned { action: OwnedAction::Reassign(_), .. }) => "REASSIGN OWNED",
            Definition::Owned(_) => "DROP OWNED",
            Definition::CreateDomain(_) => "CREATE DOMAIN",
            Definition::Alter(alter) => return format!("ALTER {}", alter.kind.word()),
            Definition::Drop(drop) => return format!("DROP {}", drop.kind.word()),
            Definition::Truncate(_) => "TRUNCATE TABLE",
            Definition::Comment(_) => "COMMENT",
            Definition::Privileges(privileges) if privileges.is_grant => "GRANT",
            Definition::Privileges(_) => "REVOKE",
            Definition::Lock(_) => "LOCK TABLE",
            Definition::Maintenance(maintenance) => maintenance.tag,
        };
        tag.to_owned()
    }
}

/// Kinds of objects that ALTER, DROP and COMMENT name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// TABLE
    Table,
    /// VIEW
    View,
    /// INDEX
    Index,
    /// SEQUENCE
    Sequence,
    /// SCHEMA
    Schema,
    /// MATERIALIZED VIEW
    MaterializedView,
    /// EXTENSION
    Extension,
    /// FUNCTION
    Function,
    /// TYPE
    Type,
    /// DOMAIN
    Domain,
    /// COLLATION
    Collation,
    /// COLUMN
    Column,
    /// CONSTRAINT
    Constraint,
    /// DATABASE
    Database,
    /// ROLE
    Role,
    /// USER
    User,
}

impl ObjectKind {
    /// The words for it.
    pub fn word(self) -> &'static str {
        match self {
            ObjectKind::Table => "TABLE",
            ObjectKind::View => "VIEW",
            ObjectKind::Index => "INDEX",
            ObjectKind::Sequence => "SEQUENCE",
            ObjectKind::Schema => "SCHEMA",
            ObjectKind::MaterializedView => "MATERIALIZED VIEW",
            ObjectKind::Extension => "EXTENSION",
            ObjectKind::Function => "FUNCTION",
            ObjectKind::Type => "TYPE",
            ObjectKind::Domain => "DOMAIN",
            ObjectKind::Collation => "COLLATION",
            ObjectKind::Column => "COLUMN",
            ObjectKind::Constraint => "CONSTRAINT",
            ObjectKind::Database => "DATABASE",
            ObjectKind::Role => "ROLE",
            ObjectKind::User => "USER",
        }
    }
}

/// CREATE TABLE.
#[derive(Clone, Debug)]
pub struct CreateTable {
    /// Its name.
    pub name: ObjectName,
    /// TEMPORARY
    pub temporary: bool,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// Where its columns come from, in their order.
    pub columns: Vec<ColumnSource>,
    /// ON COMMIT
    pub on_commit: Option<OnCommit>,
    /// Constraints that are written by themselves. Those beside a column are in [`ColumnDefinition::constraints`].
    pub constraints: Vec<Constraint>,
}

/// ON COMMIT: what happens to a temporary table when its transaction commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnCommit {
    /// PRESERVE ROWS
    PreserveRows,
    /// DELETE ROWS
    DeleteRows,
    /// DROP
    Drop,
}

/// A part of CREATE TABLE that gives it columns.
#[derive(Clone, Debug)]
pub enum ColumnSource {
    /// A column.
    Column(ColumnDefinition),
    /// LIKE: the columns of another relation.
    Like(Like),
}

/// LIKE in CREATE TABLE.
#[derive(Clone, Debug)]
pub struct Like {
    /// The relation whose columns are copied.
    pub source: ObjectName,
    /// The position of its name, in characters of the text from 1.
    pub position: u32,
    /// What is copied beside names, types and NOT NULL.
    pub includes: Includes,
}

/// What INCLUDING and EXCLUDING of LIKE leave. Storage, statistics and compression are without effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Includes {
    /// COMMENTS
    pub comments: bool,
    /// CONSTRAINTS: CHECK constraints.
    pub constraints: bool,
    /// DEFAULTS
    pub defaults: bool,
    /// GENERATED
    pub generated: bool,
    /// IDENTITY
    pub identity: bool,
    /// INDEXES, with the keys that they are of.
    pub indexes: bool,
}

/// A column as CREATE TABLE and ADD COLUMN write it.
#[derive(Clone, Debug)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: Ident,
    /// Its type; `serial` is one here.
    pub data_type: DataType,
    /// Everything beside it that is no constraint of its own, in the order of the text.
    pub options: Vec<ColumnOption>,
    /// Keys, checks and references beside it.
    pub constraints: Vec<Constraint>,
}

/// A property of a column.
#[derive(Clone, Debug)]
pub enum ColumnOption {
    /// NULL
    Null,
    /// NOT NULL
    NotNull,
    /// DEFAULT
    Default(Expr),
    /// GENERATED AS IDENTITY
    Identity {
        /// ALWAYS, not BY DEFAULT.
        always: bool,
        /// Options of the sequence.
        sequence: SequenceOptions,
    },
    /// GENERATED ALWAYS AS ... STORED
    Generated(Expr),
    /// COLLATE
    Collate(ObjectName),
}

/// A constraint of a table. One that is written beside a column has that column as its only one.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// Its name.
    pub name: Option<Ident>,
    /// What it demands.
    pub kind: ConstraintKind,
    /// NOT VALID: the rows that are there are not checked. Only of CHECK and FOREIGN KEY.
    pub not_valid: bool,
}

/// What a constraint demands.
#[derive(Clone, Debug)]
pub enum ConstraintKind {
    /// PRIMARY KEY, UNIQUE
    Key(Key),
    /// CHECK
    Check(Box<Expr>),
    /// FOREIGN KEY, REFERENCES
    Foreign(ForeignKey),
}

/// PRIMARY KEY or UNIQUE.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its columns.
    pub columns: Vec<Ident>,
    /// PRIMARY KEY
    pub primary: bool,
    /// NULLS NOT DISTINCT
    pub nulls_not_distinct: bool,
    /// INCLUDE
    pub included: Vec<Ident>,
    /// DEFERRABLE
    pub deferrable: bool,
    /// INITIALLY DEFERRED
    pub initially_deferred: bool,
}

/// FOREIGN KEY.
#[derive(Clone, Debug)]
pub struct ForeignKey {
    /// The referencing columns.
    pub columns: Vec<Ident>,
    /// The referenced table.
    pub table: ObjectName,
    /// The referenced columns; none: the primary key's.
    pub referenced: Vec<Ident>,
    /// MATCH FULL
    pub match_full: bool,
    /// ON DELETE
    pub on_delete: ReferentialAction,
    /// ON UPDATE
    pub on_update: ReferentialAction,
    /// DEFERRABLE
    pub deferrable: bool,
    /// INITIALLY DEFERRED
    pub initially_deferred: bool,
}

/// What happens to the rows that refer to one that goes or changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReferentialAction {
    /// NO ACTION
    #[default]
    NoAction,
    /// RESTRICT
    Restrict,
    /// CASCADE
    Cascade,
    /// SET NULL
    SetNull,
    /// SET DEFAULT
    SetDefault,
}

/// CREATE TABLE AS and SELECT INTO.
#[derive(Clone, Debug)]
pub struct CreateTableAs {
    /// The table's name.
    pub name: ObjectName,
    /// TEMPORARY
    pub temporary: bool,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// ON COMMIT
    pub on_commit: Option<OnCommit>,
    /// Names of the first columns.
    pub columns: Vec<Ident>,
    /// Its rows.
    pub query: Query,
    /// Whether its rows are written: `false` for WITH NO DATA.
    pub with_data: bool,
    /// Whether it was written as SELECT INTO.
    pub is_select_into: bool,
}

/// CREATE INDEX, over columns.
#[derive(Clone, Debug)]
pub struct CreateIndex {
    /// Its name; `None`: one made of the names of table and columns.
    pub name: Option<Ident>,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// UNIQUE
    pub unique: bool,
    /// The table.
    pub table: ObjectName,
    /// USING
    pub method: Option<Ident>,
    /// The columns.
    pub columns: Vec<IndexColumn>,
    /// INCLUDE
    pub included: Vec<Ident>,
    /// NULLS NOT DISTINCT
    pub nulls_not_distinct: bool,
    /// WHERE
    pub predicate: Option<Expr>,
}

/// A column of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexColumn {
    /// A column of the table, by its name, or an expression.
    pub key: Expr,
    /// The operator class.
    pub class: Option<ObjectName>,
    /// DESC
    pub descending: bool,
    /// NULLS FIRST, or NULLS LAST.
    pub nulls_first: Option<bool>,
}

/// CREATE VIEW.
#[derive(Clone, Debug)]
pub struct CreateView {
    /// Its name.
    pub name: ObjectName,
    /// OR REPLACE
    pub or_replace: bool,
    /// TEMPORARY
    pub temporary: bool,
    /// Names of the first columns.
    pub columns: Vec<Ident>,
    /// What it shows.
    pub query: Query,
}

/// CREATE SEQUENCE.
#[derive(Clone, Debug)]
pub struct CreateSequence {
    /// Its name.
    pub name: ObjectName,
    /// TEMPORARY
    pub temporary: bool,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// Options of the sequence.
    pub options: SequenceOptions,
}

/// Options of a sequence, each at most once. `None`: not given.
#[derive(Clone, Debug, Default)]
pub struct SequenceOptions {
    /// AS
    pub data_type: Option<Type>,
    /// INCREMENT
    pub increment: Option<i64>,
    /// MINVALUE; `Some(None)`: NO MINVALUE.
    pub min: Option<Option<i64>>,
    /// MAXVALUE; `Some(None)`: NO MAXVALUE.
    pub max: Option<Option<i64>>,
    /// START
    pub start: Option<i64>,
    /// CACHE
    pub cache: Option<i64>,
    /// CYCLE, NO CYCLE
    pub cycle: Option<bool>,
    /// OWNED BY
    pub owned_by: Option<ObjectName>,
    /// RESTART; `Some(None)`: without a value.
    pub restart: Option<Option<i64>>,
    /// SEQUENCE NAME, of an identity column.
    pub name: Option<ObjectName>,
}

/// CREATE SCHEMA.
#[derive(Clone, Debug)]
pub struct CreateSchema {
    /// Its name; `None`: that of its owner.
    pub name: Option<ObjectName>,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// AUTHORIZATION
    pub owner: Option<Ident>,
}

/// CREATE EXTENSION.
#[derive(Clone, Debug)]
pub struct CreateExtension {
    /// Its name.
    pub name: Ident,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
}

/// CREATE TYPE.
#[derive(Clone, Debug)]
pub struct CreateType {
    /// Its name.
    pub name: ObjectName,
    /// What it is.
    pub kind: NewType,
}

/// What CREATE TYPE makes.
#[derive(Clone, Debug)]
pub enum NewType {
    /// AS ENUM: the labels, in their order.
    Enum(Vec<String>),
    /// AS: the attributes of a composite type.
    Composite(Vec<Attribute>),
}

/// An attribute of a composite type.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub data_type: DataType,
    /// COLLATE
    pub collation: Option<ObjectName>,
}

/// CREATE DOMAIN.
#[derive(Clone, Debug)]
pub struct CreateDomain {
    /// Its name.
    pub name: ObjectName,
    /// The type of its values.
    pub data_type: DataType,
    /// COLLATE
    pub collation: Option<ObjectName>,
    /// DEFAULT and constraints, in the order of the text.
    pub options: Vec<DomainOption>,
}

/// A property of a domain.
#[derive(Clone, Debug)]
pub enum DomainOption {
    /// NULL
    Null,
    /// NOT NULL
    NotNull,
    /// DEFAULT
    Default(Expr),
    /// CHECK, with the constraint's name.
    Check(Option<Ident>, Box<Expr>),
}

/// ALTER of a relation, a type or a schema.
#[derive(Clone, Debug)]
pub struct Alter {
    /// The kind of object that the statement says.
    pub kind: ObjectKind,
    /// Its name.
    pub name: ObjectName,
    /// IF EXISTS
    pub if_exists: bool,
    /// The changes, in the order in which they are made.
    pub actions: Vec<AlterAction>,
}

/// A change that ALTER makes.
#[derive(Clone, Debug)]
pub enum AlterAction {
    /// RENAME TO
    Rename(Ident),
    /// SET SCHEMA
    SetSchema(Ident),
    /// OWNER TO
    Owner(Ident),
    /// Options of a sequence.
    Sequence(SequenceOptions),
    /// ADD COLUMN
    AddColumn {
        /// IF NOT EXISTS
        if_not_exists: bool,
        /// The column.
        column: Box<ColumnDefinition>,
    },
    /// DROP COLUMN
    DropColumn {
        /// Its name.
        name: Ident,
        /// IF EXISTS
        if_exists: bool,
        /// CASCADE
        cascade: bool,
    },
    /// RENAME COLUMN
    RenameColumn {
        /// Its name.
        from: Ident,
        /// Its new name.
        to: Ident,
    },
    /// ALTER COLUMN
    AlterColumn {
        /// Its name.
        name: Ident,
        /// The change.
        action: ColumnAction,
    },
    /// ADD CONSTRAINT
    AddConstraint(Constraint),
    /// DROP CONSTRAINT
    DropConstraint {
        /// Its name.
        name: Ident,
        /// IF EXISTS
        if_exists: bool,
        /// CASCADE
        cascade: bool,
    },
    /// RENAME CONSTRAINT
    RenameConstraint {
        /// Its name.
        from: Ident,
        /// Its new name.
        to: Ident,
    },
    /// VALIDATE CONSTRAINT
    ValidateConstraint(Ident),
    /// CLUSTER ON
    ClusterOn(Ident),
    /// ENABLE TRIGGER, DISABLE TRIGGER.
    Trigger {
        /// The trigger, or ALL or USER.
        name: Ident,
        /// ENABLE
        enable: bool,
    },
    /// Storage, replication, row security that is off: of any relation. It has no effect; the reader has noted whether to warn.
    Storage,
    /// SET DEFAULT of a domain; `None`: DROP DEFAULT.
    SetDefault(Option<Box<Expr>>),
    /// SET NOT NULL of a domain, or DROP NOT NULL.
    SetNotNull(bool),
    /// ADD VALUE
    AddValue {
        /// The label.
        label: String,
        /// IF NOT EXISTS
        if_not_exists: bool,
        /// Where it goes; `None`: to the end.
        place: Option<LabelPlace>,
    },
    /// ADD ATTRIBUTE
    AddAttribute(Box<Attribute>),
    /// DROP ATTRIBUTE
    DropAttribute {
        /// Its name.
        name: Ident,
        /// IF EXISTS
        if_exists: bool,
        /// CASCADE
        cascade: bool,
    },
    /// ALTER ATTRIBUTE ... TYPE
    AlterAttribute(Box<Attribute>),
    /// RENAME ATTRIBUTE
    RenameAttribute {
        /// Its name.
        from: Ident,
        /// Its new name.
        to: Ident,
    },
    /// RENAME VALUE
    RenameValue {
        /// The label.
        from: String,
        /// Its new name.
        to: String,
    },
}

/// The place of a new label.
#[derive(Clone, Debug)]
pub struct LabelPlace {
    /// BEFORE, not AFTER.
    pub before: bool,
    /// The label beside it.
    pub neighbor: String,
}

/// A change of a column.
#[derive(Clone, Debug)]
pub enum ColumnAction {
    /// SET NOT NULL
    SetNotNull,
    /// DROP NOT NULL
    DropNotNull,
    /// SET DEFAULT
    SetDefault(Box<Expr>),
    /// DROP DEFAULT
    DropDefault,
    /// TYPE
    SetType {
        /// The new type.
        data_type: DataType,
        /// USING
        using: Option<Box<Expr>>,
    },
    /// ADD GENERATED AS IDENTITY
    AddIdentity {
        /// ALWAYS, not BY DEFAULT.
        always: bool,
        /// Options of the sequence.
        sequence: SequenceOptions,
    },
    /// SET GENERATED, and SET of options of the sequence.
    SetIdentity {
        /// ALWAYS, BY DEFAULT
        always: Option<bool>,
        /// Options of the sequence.
        sequence: SequenceOptions,
    },
    /// DROP IDENTITY
    DropIdentity {
        /// IF EXISTS
        if_exists: bool,
    },
    /// Storage or statistics. It has no effect; the reader has noted whether to warn.
    Storage,
}

/// DROP.
#[derive(Clone, Debug)]
pub struct Drop {
    /// The kind of the objects.
    pub kind: ObjectKind,
    /// Their names.
    pub names: Vec<ObjectName>,
    /// IF EXISTS
    pub if_exists: bool,
    /// CASCADE
    pub cascade: bool,
}

/// TRUNCATE.
#[derive(Clone, Debug)]
pub struct Truncate {
    /// The tables.
    pub names: Vec<ObjectName>,
    /// RESTART IDENTITY
    pub restart_identity: bool,
    /// CASCADE
    pub cascade: bool,
}

/// COMMENT ON.
#[derive(Clone, Debug)]
pub struct Comment {
    /// The kind of the object.
    pub kind: ObjectKind,
    /// Its name.
    pub name: ObjectName,
    /// What a constraint is of, a table or a domain, and its name.
    pub of: Option<(ObjectKind, ObjectName)>,
    /// The comment; `None`: NULL.
    pub text: Option<String>,
}

/// GRANT and REVOKE.
#[derive(Clone, Debug)]
pub struct Privileges {
    /// GRANT, not REVOKE.
    pub is_grant: bool,
    /// The tables and sequences that it names.
    pub relations: Vec<ObjectName>,
    /// The roles; PUBLIC is none of them.
    pub roles: Vec<Ident>,
}

/// LOCK.
#[derive(Clone, Debug)]
pub struct Lock {
    /// The relations.
    pub names: Vec<ObjectName>,
    /// Whether the mode is one that statements over rows take by themselves: ACCESS SHARE, ROW SHARE, ROW EXCLUSIVE.
    pub is_weak: bool,
    /// NOWAIT
    pub nowait: bool,
}

/// VACUUM, ANALYZE, REINDEX, CLUSTER: the tables that it names must be there.
#[derive(Clone, Debug)]
pub struct Maintenance {
    /// The tag.
    pub tag: &'static str,
    /// The relations.
    pub names: Vec<ObjectName>,
    /// The index that CLUSTER is to order the rows by.
    pub index: Option<Ident>,
}
