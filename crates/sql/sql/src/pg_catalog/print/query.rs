//! Queries of views.

/// The query of a view as `pg_get_viewdef` gives it.
pub(in crate::pg_catalog) fn query(query: &str) -> String {
    format!(" {query};")
}
