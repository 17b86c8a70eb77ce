//! Functions that PostgreSQL has: a call of one that is not here is refused by its name, since no cast would help.

use crate::error::Error;
use std::collections::HashSet;
use std::sync::LazyLock;

/// The names of PostgreSQL 15's functions, without those that belong to types, indexes and operators.
static NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| include_str!("postgresql.txt").lines().collect());

/// The names of the functions of pgcrypto, which CREATE EXTENSION accepts for one that is built in.
const PGCRYPTO: &[&str] = &[
    "armor",
    "crypt",
    "dearmor",
    "decrypt",
    "decrypt_iv",
    "digest",
    "encrypt",
    "encrypt_iv",
    "gen_random_bytes",
    "gen_salt",
    "hmac",
    "pgp_armor_headers",
    "pgp_key_id",
    "pgp_pub_decrypt",
    "pgp_pub_decrypt_bytea",
    "pgp_pub_encrypt",
    "pgp_pub_encrypt_bytea",
    "pgp_sym_decrypt",
    "pgp_sym_decrypt_bytea",
    "pgp_sym_encrypt",
    "pgp_sym_encrypt_bytea",
];

/// 0A000 for a function of PostgreSQL's; `None` for a name that it does not have either.
pub(super) fn refusal(name: &str) -> Option<Error> {
    let hint = "PostgreSQL has this function, and this server has not: compute it in the application, or by the functions \
                that there are.";
    if PGCRYPTO.contains(&name) {
        let hint = "Of pgcrypto gen_random_uuid() is built in. Compute it in the application, or by md5(text) and by sha224 to \
                    sha512(bytea).";
        return Some(Error::unsupported(format_args!("function {name}")).hint(hint));
    }
    NAMES.contains(name).then(|| Error::unsupported(format_args!("function {name}")).hint(hint))
}
