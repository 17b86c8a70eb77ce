//! Random numbers.

use super::super::arguments::{Arguments, invalid};
use super::super::table::*;
use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

/// The functions that answer differently each time.
pub(super) static FUNCTIONS: &[Function] = &[
    pure("random", &[], FLOAT8, |_| Ok(Datum::Float8(next_fraction()))).volatile(),
    pure("setseed", &[FLOAT8], VOID, |a| set_seed(a.float8(0)?)).volatile(),
];

/// Source: Blackman and Vigna, xoroshiro128**, which PostgreSQL 15 uses too: a seed gives the same numbers.
#[derive(Clone, Copy)]
struct Generator([u64; 2]);

impl Generator {
    fn seeded(mut seed: u64) -> Generator {
        let mut next = || {
            seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut value = seed;
            value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            value ^ (value >> 31)
        };
        Generator([next(), next()])
    }

    fn next(&mut self) -> u64 {
        let [first, second] = self.0;
        let mixed = second ^ first;
        let value = first.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        self.0 = [first.rotate_left(24) ^ mixed ^ (mixed << 16), mixed.rotate_left(37)];
        value
    }
}

thread_local! {
    /// A session's statements run on one thread at a time; what matters of a seed is the statements that follow it.
    static GENERATOR: Cell<Generator> = Cell::new(Generator::seeded(entropy()));
}

/// Bits that the operating system gave: the keys of the standard library's hash are made of such.
pub(super) fn entropy() -> u64 {
    RandomState::new().hash_one(0)
}

fn next_fraction() -> f64 {
    let mut generator = GENERATOR.get();
    let bits = generator.next() >> 12;
    GENERATOR.set(generator);
    bits as f64 / (1_u64 << 52) as f64
}

fn set_seed(seed: f64) -> Result<Datum> {
    if !(-1.0..=1.0).contains(&seed) {
        return Err(invalid(format!("setseed parameter {seed} is out of allowed range [-1,1]")));
    }
    let seed = (((1_u64 << 52) - 1) as f64 * seed) as i64;
    GENERATOR.set(Generator::seeded(seed.cast_unsigned()));
    Ok(Datum::Text("".into()))
}
