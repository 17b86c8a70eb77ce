//! UUIDs, random, of names and of the time: `gen_random_uuid`, and what PostgreSQL has in its extension `uuid-ossp`.
//!
//! Source: RFC 4122.

use super::super::arguments::Arguments;
use super::super::table::*;
use super::random::entropy;
use md5::{Digest, Md5};
use sha1::Sha1;
use std::sync::Arc;

/// The functions that make UUIDs.
pub(super) static FUNCTIONS: &[Function] = &[
    pure("gen_random_uuid", &[], UUID, |_| Ok(random())).volatile(),
    pure("uuid_generate_v4", &[], UUID, |_| Ok(random())).volatile(),
    session("uuid_generate_v1", &[], UUID, |env, _| Ok(of_time(env.clock_time()))).volatile(),
    session("uuid_generate_v1mc", &[], UUID, |env, _| Ok(of_time(env.clock_time()))).volatile(),
    pure("uuid_generate_v3", &[UUID, TEXT], UUID, |a| of_name::<Md5>(a, 3)),
    pure("uuid_generate_v5", &[UUID, TEXT], UUID, |a| of_name::<Sha1>(a, 5)),
    pure("uuid_nil", &[], UUID, |_| Ok(uuid(0))),
    pure("uuid_ns_dns", &[], UUID, |_| Ok(uuid(DNS))),
    pure("uuid_ns_url", &[], UUID, |_| Ok(uuid(DNS + (1 << 96)))),
    pure("uuid_ns_oid", &[], UUID, |_| Ok(uuid(DNS + (2 << 96)))),
    pure("uuid_ns_x500", &[], UUID, |_| Ok(uuid(DNS + (4 << 96)))),
];

/// The first of the name spaces: they differ in the lowest digit of the first group.
const DNS: u128 = 0x6ba7_b810_9dad_11d1_80b4_00c0_4fd4_30c8;

/// Microseconds from the beginning of the Gregorian calendar to 1970.
const GREGORIAN: i64 = 12_219_292_800_000_000;

fn uuid(bits: u128) -> Datum {
    Datum::Uuid(Arc::new(bits.to_be_bytes()))
}

/// A UUID of a version: the RFC's variant, and these bits elsewhere.
fn versioned(bits: u128, version: u128) -> Datum {
    let bits = bits & !(0xF000_u128 << 64) | (version << 76);
    uuid(bits & !(0xC0_u128 << 56) | (0x80_u128 << 56))
}

fn bits() -> u128 {
    (u128::from(entropy()) << 64) | u128::from(entropy())
}

/// UUID of version 4. It does not use the seeded generator, because it must not repeat.
fn random() -> Datum {
    versioned(bits(), 4)
}

/// UUID of version 1 of a time in microseconds since 1970. Its node is random and marked as such, since the address of the
/// machine's network card is nobody's business.
fn of_time(micros: i64) -> Datum {
    const MULTICAST: u128 = 1 << 40;
    // Random below the microsecond, so that two of the same microsecond and node still differ.
    let random = bits();
    let ticks =
        (i128::from(micros) + i128::from(GREGORIAN)) * 10 + i128::try_from(random >> 124).unwrap_or_default() % 10;
    let ticks = ticks.unsigned_abs();
    let (low, middle, high) = (ticks & 0xFFFF_FFFF, ticks >> 32 & 0xFFFF, ticks >> 48 & 0x0FFF);
    versioned(low << 96 | middle << 80 | high << 64 | random & 0xFFFF_FFFF_FFFF_FFFF | MULTICAST, 1)
}

/// UUID of a name in a name space.
fn of_name<D: Digest>(arguments: &[Datum], version: u128) -> Result<Datum> {
    let Some(Datum::Uuid(space)) = arguments.first() else { return Ok(Datum::Null) };
    let digest = D::new().chain_update(**space).chain_update(arguments.text(1)?).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Ok(versioned(u128::from_be_bytes(bytes), version))
}
