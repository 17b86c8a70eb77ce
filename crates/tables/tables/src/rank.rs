//! Ranks: byte strings in an order that has room between any two.
//!
//! A rank is a fraction between 0 and 1, written in digits of one byte without the point, and without zeros at its end. So the
//! order of bytes is that of the fractions, none is another with zeros behind it, and there is one between any two.

/// Ranks for so many things, in their order, with room around each.
pub fn initial(count: usize) -> Vec<Vec<u8>> {
    let mut width = 1;
    while 256_u64.pow(width) <= 2 * count as u64 {
        width += 1;
    }
    let step = 256_u64.pow(width) / (count as u64 + 1);
    (1..=count as u64).map(|place| shortened((place * step).to_be_bytes()[8 - width as usize..].to_vec())).collect()
}

fn shortened(mut rank: Vec<u8>) -> Vec<u8> {
    while rank.last() == Some(&0) {
        rank.pop();
    }
    rank
}

/// A rank between two neighbours; `None` for the one that is missing at an end.
pub fn between(before: Option<&[u8]>, after: Option<&[u8]>) -> Vec<u8> {
    let (low, mut high) = (before.unwrap_or_default(), after);
    let mut rank = Vec::new();
    loop {
        let at = rank.len();
        let least = u16::from(low.get(at).copied().unwrap_or(0));
        let most = match high {
            Some(high) => u16::from(high.get(at).copied().unwrap_or(0)),
            None => 256,
        };
        match most.saturating_sub(least) {
            0 => rank.push(least as u8),
            // What follows is above all that begins with the lower digit.
            1 => {
                rank.push(least as u8);
                high = None;
            }
            // At the ends a step of one leaves room for many more.
            _ if after.is_none() => {
                rank.push(least as u8 + 1);
                return rank;
            }
            _ if before.is_none() && most > 1 => {
                rank.push((most - 1) as u8);
                return rank;
            }
            _ => {
                rank.push(((least + most) / 2) as u8);
                return rank;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_ranks_ascend_and_end_without_zeros() {
        for count in [0, 1, 2, 3, 127, 128, 129, 255, 256, 1000, 40_000] {
            let ranks = initial(count);
            assert_eq!(ranks.len(), count);
            assert!(ranks.is_sorted_by(|a, b| a < b), "{count}");
            assert!(ranks.iter().all(|rank| rank.last().is_some_and(|last| *last != 0)), "{count}");
        }
    }

    #[test]
    fn there_is_always_room() {
        // Pseudo-random places, and the three that are the narrowest: always first, always last, always behind the first.
        let mut seed = 1_u64;
        let mut draw = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        for kind in 0..4 {
            let mut ranks = initial(3);
            for _ in 0..1500 {
                let at = match kind {
                    0 => draw(ranks.len() + 1),
                    1 => 0,
                    2 => ranks.len(),
                    _ => 1,
                };
                let before = at.checked_sub(1).map(|before| &*ranks[before]);
                let new = between(before, ranks.get(at).map(|after| &**after));
                ranks.insert(at, new);
            }
            assert!(ranks.is_sorted_by(|a, b| a < b), "{kind}");
            assert!(ranks.iter().all(|rank| rank.last().is_some_and(|last| *last != 0)), "{kind}");
        }
    }
}
