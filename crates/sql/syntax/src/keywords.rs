//! PostgreSQL's reserved words: a name that is one of them must be quoted.

use sqlparser::keywords::{ALL_KEYWORDS, ALL_KEYWORDS_INDEX, RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_TABLE_ALIAS};

/// Returns whether a word must be quoted to be a name.
pub fn is_reserved(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let all = ALL_KEYWORDS;
    let Some(keyword) = all.binary_search(&upper.as_str()).ok().and_then(|at| ALL_KEYWORDS_INDEX.get(at)) else {
        return false;
    };
    RESERVED_FOR_COLUMN_ALIAS.contains(keyword) || RESERVED_FOR_TABLE_ALIAS.contains(keyword)
}

/// Words that PostgreSQL takes for a column's label behind AS, and for no other name of a column: the categories "reserved" and
/// "reserved (can be function or type name)" of its `kwlist.h`, sorted.
const LABELS_ONLY: &[&str] = &[
    "ALL",
    "ANALYSE",
    "ANALYZE",
    "AND",
    "ANY",
    "ARRAY",
    "AS",
    "ASC",
    "ASYMMETRIC",
    "AUTHORIZATION",
    "BINARY",
    "BOTH",
    "CASE",
    "CAST",
    "CHECK",
    "COLLATE",
    "COLLATION",
    "COLUMN",
    "CONCURRENTLY",
    "CONSTRAINT",
    "CREATE",
    "CROSS",
    "CURRENT_CATALOG",
    "CURRENT_DATE",
    "CURRENT_ROLE",
    "CURRENT_SCHEMA",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "DEFAULT",
    "DEFERRABLE",
    "DESC",
    "DISTINCT",
    "DO",
    "ELSE",
    "END",
    "EXCEPT",
    "FALSE",
    "FETCH",
    "FOR",
    "FOREIGN",
    "FREEZE",
    "FROM",
    "FULL",
    "GRANT",
    "GROUP",
    "HAVING",
    "ILIKE",
    "IN",
    "INITIALLY",
    "INNER",
    "INTERSECT",
    "INTO",
    "IS",
    "ISNULL",
    "JOIN",
    "LATERAL",
    "LEADING",
    "LEFT",
    "LIKE",
    "LIMIT",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "NATURAL",
    "NOT",
    "NOTNULL",
    "NULL",
    "OFFSET",
    "ON",
    "ONLY",
    "OR",
    "ORDER",
    "OUTER",
    "OVERLAPS",
    "PLACING",
    "PRIMARY",
    "REFERENCES",
    "RETURNING",
    "RIGHT",
    "SELECT",
    "SESSION_USER",
    "SIMILAR",
    "SOME",
    "SYMMETRIC",
    "TABLE",
    "TABLESAMPLE",
    "THEN",
    "TO",
    "TRAILING",
    "TRUE",
    "UNION",
    "UNIQUE",
    "USER",
    "USING",
    "VARIADIC",
    "VERBOSE",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
];

/// Returns whether a word can be a column's label, but no other name of a column.
pub(crate) fn is_label_only(word: &str) -> bool {
    LABELS_ONLY.binary_search(&&*word.to_ascii_uppercase()).is_ok()
}

/// Words with which a query goes on behind a column's label: PostgreSQL reserves them, so none of them is the next name.
const FOLLOW_LABELS: &[&str] = &[
    "EXCEPT",
    "FETCH",
    "FOR",
    "FROM",
    "GROUP",
    "HAVING",
    "INTERSECT",
    "INTO",
    "LIMIT",
    "OFFSET",
    "ON",
    "ORDER",
    "RETURNING",
    "UNION",
    "WHERE",
    "WINDOW",
];

/// Returns whether a query goes on with this word behind a column's label.
pub(crate) fn follows_label(word: &str) -> bool {
    FOLLOW_LABELS.binary_search(&&*word.to_ascii_uppercase()).is_ok()
}
