//! That the tables are well formed.

use super::{seed, tables};

/// All lines of the fixed rows are understood, and each has its table.
#[test]
fn fixed_rows_are_whole() {
    let lines: &[(&str, usize)] = &[
        ("pg_aggregate", 123),
        ("pg_am", 2),
        ("pg_amop", 210),
        ("pg_amproc", 60),
        ("pg_auth_members", 3),
        ("pg_authid", 12),
        ("pg_cast", 156),
        ("pg_collation", 3),
        ("pg_description", 493),
        ("pg_language", 3),
        ("pg_opclass", 29),
        ("pg_operator", 449),
        ("pg_opfamily", 21),
        ("pg_proc", 1891),
        ("pg_tablespace", 2),
        ("pg_type", 87),
    ];
    assert_eq!(lines.iter().map(|&(name, _)| name).collect::<Vec<_>>(), seed::NAMES);
    for &(name, lines) in lines {
        assert_eq!(seed::rows(name).len(), lines, "{name}");
    }
}

/// No two tables share a name or an identifier, nor two columns of a table.
#[test]
fn names_and_identifiers_are_unique() {
    let mut seen = std::collections::HashSet::new();
    for table in tables() {
        assert!(seen.insert((table.schema, table.name.to_owned())), "{table:?}");
        assert!(seen.insert(("oid", table.oid.to_string())), "{table:?}");
        let names: std::collections::HashSet<_> = table.columns.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), table.columns.len(), "{table:?}");
    }
}
