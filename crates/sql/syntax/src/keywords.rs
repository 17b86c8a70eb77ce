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
