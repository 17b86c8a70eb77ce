//! COPY.

use super::{Expr, Ident, ObjectName, Query};

/// COPY.
#[derive(Clone, Debug)]
pub struct Copy {
    /// What is copied.
    pub source: CopySource,
    /// TO, not FROM.
    pub to: bool,
    /// Where the data goes, or comes from.
    pub stream: CopyStream,
    /// The options of both syntaxes, in the order of the text.
    pub options: Vec<CopyOption>,
    /// WHERE: the rows that are taken.
    pub condition: Option<Box<Expr>>,
}

/// What COPY copies.
#[derive(Clone, Debug)]
pub enum CopySource {
    /// Rows of a table.
    Table {
        /// The table.
        name: ObjectName,
        /// The columns; none: all.
        columns: Vec<Ident>,
    },
    /// The answer of a query: only TO.
    Query(Box<Query>),
}

/// The other end of COPY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyStream {
    /// STDIN, STDOUT: the client.
    Client,
    /// A file of the server.
    File,
    /// A program of the server.
    Program,
}

/// An option of COPY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyOption {
    /// FORMAT, in lower case unless quoted.
    Format(String),
    /// FREEZE
    Freeze(bool),
    /// DELIMITER
    Delimiter(String),
    /// NULL
    Null(String),
    /// HEADER
    Header(bool),
    /// QUOTE
    Quote(String),
    /// ESCAPE
    Escape(String),
    /// FORCE_QUOTE
    ForceQuote(Vec<Ident>),
    /// `FORCE_QUOTE *`
    ForceQuoteAll,
    /// FORCE_NOT_NULL
    ForceNotNull(Vec<Ident>),
    /// FORCE_NULL
    ForceNull(Vec<Ident>),
    /// ENCODING
    Encoding(String),
}
