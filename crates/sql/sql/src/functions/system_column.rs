//! Values of the system columns `ctid` and `xmin`, and the key that a `ctid` names
//! (docs/decisions/0081-system-columns-are-functions-of-the-row.md).

use super::table::{ANY, Body, Function, Resolved, Volatility};
use crate::error::Result;
use crate::storage::push_values;
use crate::types::{Datum, Type};
use std::hash::{DefaultHasher, Hasher};

/// Set in places that are digests of keys; places without it are the keys.
const DIGEST: i64 = 1 << 47;
const PLACES: i64 = (1 << 48) - 1;
/// The first transaction number that PostgreSQL gives to a transaction.
const FIRST_XID: u32 = 3;
/// `xmax` of a row that the statement found and locked: any number but 0.
pub(crate) const LOCKED: Datum = Datum::Oid(2);

const fn of_row(name: &'static str, result: Type, body: fn(&[Datum]) -> Result<Datum>) -> Function {
    Function {
        name,
        arguments: &[],
        variadic: Some(ANY),
        result,
        strict: true,
        volatility: Volatility::Immutable,
        returns_set: false,
        body: Body::Pure(body),
    }
}

static CTID: Function = of_row("ctid", Type::TID, |key| Ok(Datum::Int8(place(key))));
static CTID_OF_ROW_NUMBER: Function = of_row("ctid_of_row_number", Type::TID, |key| match &key[0] {
    Datum::Bytea(bytes) => Ok(Datum::Int8(place(&[row_number(bytes)]))),
    _ => Ok(Datum::Null),
});
static XMIN: Function = of_row("xmin", Type::XID, |values| Ok(Datum::Oid(version(values))));
static XMAX: Function = of_row("xmax", Type::XID, |_| Ok(Datum::Oid(0)));
static TABLEOID: Function = of_row("tableoid", Type::OID, |values| Ok(values[0].clone()));
static XID: Function = of_row("xid", Type::XID, |values| match values[0] {
    Datum::Int4(number) => Ok(Datum::Oid(number as u32)),
    _ => Ok(Datum::Null),
});
static INT2_OF_CTID: Function = of_row("int2_of_ctid", Type::INT2, |a| {
    Ok(whole(&a[0]).and_then(|key| key.try_into().ok()).map_or(Datum::Null, Datum::Int2))
});
static INT4_OF_CTID: Function =
    of_row("int4_of_ctid", Type::INT4, |a| Ok(whole(&a[0]).map_or(Datum::Null, Datum::Int4)));

/// The number of a row of a table without a primary key.
fn row_number(key: &[u8]) -> Datum {
    let number = key.try_into().ok().and_then(|key| i64::try_from(u64::from_be_bytes(key)).ok());
    number.map_or(Datum::Null, Datum::Int8)
}

/// The place of a row with this key: an integer that fits, or a digest.
fn place(key: &[Datum]) -> i64 {
    match key {
        [Datum::Int2(key)] => i64::from(i32::from(*key) as u32),
        [Datum::Int4(key)] => i64::from(*key as u32),
        [Datum::Int8(key)] if (0..DIGEST).contains(key) => *key,
        _ => digest(key) as i64 & PLACES | DIGEST,
    }
}

/// The integer whose place this is.
fn whole(place: &Datum) -> Option<i32> {
    match place {
        Datum::Int8(place) => u32::try_from(*place).ok().map(|key| key as i32),
        _ => None,
    }
}

/// The number that stands for the row's values.
fn version(values: &[Datum]) -> u32 {
    FIRST_XID + (digest(values) % u64::from(u32::MAX - FIRST_XID)) as u32
}

fn digest(values: &[Datum]) -> u64 {
    let mut bytes = Vec::new();
    push_values(values, &mut bytes);
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    hasher.finish()
}

fn resolved(function: &'static Function, arguments: &[Type]) -> Resolved {
    Resolved { function, arguments: arguments.to_vec(), result: function.result, columns: None }
}

/// `ctid`, of the columns of the primary key.
pub fn ctid(key: &[Type]) -> Resolved {
    resolved(&CTID, key)
}

/// `ctid`, of the key of a table without a primary key.
pub fn ctid_of_row_number() -> Resolved {
    resolved(&CTID_OF_ROW_NUMBER, &[Type::BYTEA])
}

/// `xmin`, of a row.
pub fn xmin(values: &[Type]) -> Resolved {
    resolved(&XMIN, values)
}

/// `xmax`, of columns that a row always has.
pub fn xmax(present: &[Type]) -> Resolved {
    resolved(&XMAX, present)
}

/// `tableoid`: its first argument, if the row is there.
pub fn tableoid(values: &[Type]) -> Resolved {
    resolved(&TABLEOID, values)
}

/// The transaction number with which `xid = integer` compares.
pub fn xid() -> Resolved {
    resolved(&XID, &[Type::INT4])
}

/// The only key of this type that has a given place, or NULL; `None` for types whose keys do not all fit.
pub fn key_of_ctid(data_type: Type) -> Option<Resolved> {
    match data_type {
        Type::INT2 => Some(resolved(&INT2_OF_CTID, &[Type::TID])),
        Type::INT4 => Some(resolved(&INT4_OF_CTID, &[Type::TID])),
        _ => None,
    }
}

/// The key of type bigint that is at a place, where the place is not a digest.
pub fn bigint_at(place: &Datum) -> Option<Datum> {
    match place {
        Datum::Int8(place) if *place & DIGEST == 0 => Some(Datum::Int8(*place)),
        _ => None,
    }
}

/// Returns whether a call is `ctid` of the columns of a primary key.
pub fn is_ctid(function: &Resolved) -> bool {
    std::ptr::eq(function.function, &raw const CTID)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_integer_key_has_a_place_of_its_own() {
        for key in [i32::MIN, -1, 0, 1, 65_536, i32::MAX] {
            assert_eq!(whole(&Datum::Int8(place(&[Datum::Int4(key)]))), Some(key));
        }
        assert_eq!(place(&[Datum::Int2(-1)]), place(&[Datum::Int4(-1)]));
        assert_eq!(place(&[Datum::Int8(DIGEST - 1)]), DIGEST - 1);
    }

    #[test]
    fn other_keys_have_places_apart_from_those_of_integers() {
        for key in
            [vec![Datum::Int8(-1)], vec![Datum::Int8(DIGEST)], vec!["a".into()], vec![Datum::Int4(1), "a".into()]]
        {
            let place = place(&key);
            assert!(place & DIGEST != 0 && place <= PLACES, "{key:?}: {place}");
            assert!(bigint_at(&Datum::Int8(place)).is_none());
        }
    }

    #[test]
    fn a_version_depends_on_each_value() {
        let of = |values: &[Datum]| version(values);
        assert_ne!(of(&[Datum::Int4(1), Datum::Null]), of(&[Datum::Int4(1), Datum::Int4(0)]));
        assert_ne!(of(&["ab".into(), "c".into()]), of(&["a".into(), "bc".into()]));
        assert_eq!(of(&["a".into()]), of(&["a".into()]));
    }
}
