//! Times without an answer.

/// The longest time between two of these moments, or between one of them and an end of `from..=to`. All in nanoseconds; the moments
/// need no order.
pub fn longest_gap(moments: impl Iterator<Item = u64>, from: u64, to: u64) -> u64 {
    let mut inside: Vec<u64> = moments.filter(|moment| (from..=to).contains(moment)).collect();
    inside.extend([from, to]);
    inside.sort_unstable();
    inside.array_windows().map(|[before, after]| after - before).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_lies_between_moments_or_at_an_end() {
        let gap = |moments: &[u64]| longest_gap(moments.iter().copied(), 100, 200);
        assert_eq!(gap(&[]), 100);
        assert_eq!(gap(&[150, 120]), 50);
        assert_eq!(gap(&[110, 120, 190]), 70);
        assert_eq!(gap(&[50, 180, 110, 300]), 70, "what is outside does not count");
        assert_eq!(gap(&[160]), 60, "the first answer comes late");
    }
}
