//! Random values of TPC-C: clauses 2.1.6 and 4.3.2.

use env::Randomness;

/// Constants of the uneven distribution. Those of last names differ between load and run by 66: clause 2.1.6.1 requests a
/// difference from 65 to 119, other than 96 and 112.
const C_LAST_LOADED: u64 = 157;
const C_LAST_RUN: u64 = 223;
const C_CUSTOMER: u64 = 259;
const C_ITEM: u64 = 7_911;

/// Different last names.
const NAMES: u64 = 1_000;

/// Uneven between two bounds, both included.
fn nu_rand(randomness: &mut Randomness, a: u64, c: u64, least: u64, greatest: u64) -> u64 {
    let (one, other) = (randomness.in_range(0..a + 1), randomness.in_range(least..greatest + 1));
    ((one | other) + c) % (greatest - least + 1) + least
}

/// A customer of a district, which has so many.
pub(super) fn customer(randomness: &mut Randomness, customers: u64) -> u64 {
    nu_rand(randomness, 1_023, C_CUSTOMER, 1, customers)
}

/// An item.
pub(super) fn item(randomness: &mut Randomness, items: u64) -> u64 {
    nu_rand(randomness, 8_191, C_ITEM, 1, items)
}

/// Number of a last name that some customer of each district has.
pub(super) fn last_name(randomness: &mut Randomness, customers: u64) -> u64 {
    nu_rand(randomness, 255, C_LAST_RUN, 0, NAMES.min(customers) - 1)
}

/// Number of the last name of a customer: the first have one each.
pub(super) fn loaded_last_name(randomness: &mut Randomness, customer: u64) -> u64 {
    if customer <= NAMES { customer - 1 } else { nu_rand(randomness, 255, C_LAST_LOADED, 0, NAMES - 1) }
}

const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// A last name: a syllable for each of three digits.
pub(super) fn name(number: u64) -> String {
    [number / 100, number / 10, number].map(|number| SYLLABLES[(number % 10) as usize]).concat()
}

/// Letters, as many as is drawn between two bounds, both included.
pub(super) fn letters(randomness: &mut Randomness, least: u64, greatest: u64) -> String {
    let count = randomness.in_range(least..greatest + 1);
    (0..count).map(|_| char::from(b'a' + randomness.in_range(0..26) as u8)).collect()
}

/// So many digits.
pub(super) fn digits(randomness: &mut Randomness, count: usize) -> String {
    (0..count).map(|_| char::from(b'0' + randomness.in_range(0..10) as u8)).collect()
}

/// Data of items and stock: in a tenth of them stands "ORIGINAL".
pub(super) fn data(randomness: &mut Randomness) -> String {
    let mut data = letters(randomness, 26, 50);
    if randomness.chance(1, 10) {
        let at = randomness.in_range(0..data.len() as u64 - 7) as usize;
        data.replace_range(at..at + 8, "ORIGINAL");
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_syllables() {
        assert_eq!([name(0), name(371), name(999)], ["BARBARBAR", "PRICALLYOUGHT", "EINGEINGEING"]);
    }

    #[test]
    fn draws_stay_within_their_bounds_and_are_uneven() {
        let mut randomness = Randomness::from_seed(1);
        let mut counts = vec![0_u32; 3_001];
        for _ in 0..300_000 {
            counts[customer(&mut randomness, 3_000) as usize] += 1;
            assert!((1..=100_000).contains(&item(&mut randomness, 100_000)));
            assert!(last_name(&mut randomness, 30) < 30 && last_name(&mut randomness, 3_000) < 1_000);
        }
        counts.remove(0);
        counts.sort_unstable();
        let upper_tenth: u32 = counts[2_700..].iter().sum();
        assert!(upper_tenth > 60_000, "a tenth of the customers gets more than a fifth of the draws: {upper_tenth}");
    }

    #[test]
    fn a_tenth_of_the_data_is_original() {
        let mut randomness = Randomness::from_seed(2);
        let original = (0..10_000).filter(|_| data(&mut randomness).contains("ORIGINAL")).count();
        assert!((800..1_200).contains(&original), "{original}");
    }
}
