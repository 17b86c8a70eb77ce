//! Names of Coq as names of Rust.

/// `entry_ballot` of the record `Entry` is `ballot`; `promised` of `State` stays.
pub fn field(constructor: &str, name: &str) -> String {
    let prefix = format!("{}_", constructor.to_lowercase());
    variable(name.strip_prefix(&prefix).unwrap_or(name))
}

/// `Message_Prepare` of `message` is `Prepare`; `Follower` of `role` stays.
pub fn variant(ty: &str, name: &str) -> String {
    let prefix = format!("{}_", capitalized(ty));
    name.strip_prefix(&prefix).unwrap_or(name).to_owned()
}

/// A variable or a function: `b'` is `b_prime`, and what Rust reserves gets a mark.
pub fn variable(name: &str) -> String {
    let name = name.replace('\'', "_prime");
    match name.as_str() {
        "self" => "self_id".to_owned(),
        "as" | "async" | "await" | "box" | "break" | "const" | "continue" | "crate" | "do" | "dyn" | "enum"
        | "extern" | "final" | "for" | "gen" | "impl" | "loop" | "macro" | "mod" | "move" | "mut" | "override"
        | "priv" | "pub" | "ref" | "return" | "static" | "struct" | "super" | "trait" | "try" | "type" | "typeof"
        | "unsafe" | "use" | "virtual" | "where" | "while" | "yield" => format!("{name}_"),
        _ => name,
    }
}

/// `ballot` is `Ballot`.
pub fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
