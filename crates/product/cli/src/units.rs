//! Sizes and times as people write them: with PostgreSQL's units.

use std::time::Duration;

/// A number of bytes with PostgreSQL's units.
pub fn bytes(text: &str) -> Result<usize, String> {
    let units = [("kB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30), ("B", 1), ("", 1)];
    let bytes = measure(text, &units).ok_or("not a size: write 65536, 64kB, 16MB or 1GB")?;
    usize::try_from(bytes).map_err(|error| error.to_string())
}

/// A span of time with PostgreSQL's units.
pub fn duration(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1), ("min", 60_000), ("h", 3_600_000), ("s", 1_000), ("", 1_000)];
    measure(text, &units).map(Duration::from_millis).ok_or_else(|| "not a time: write 500ms, 30s, 5min, 1h or 0".into())
}

/// A whole number and one of the units, of which the first that ends the text counts.
fn measure(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, factor) =
        units.iter().find_map(|(unit, factor)| Some((text.trim().strip_suffix(unit)?.trim_end(), *factor)))?;
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times() {
        assert_eq!(bytes("64kB"), Ok(65_536));
        assert_eq!(bytes("16 MB"), Ok(16 << 20));
        assert_eq!(bytes("100"), Ok(100));
        assert!(bytes("MB").is_err());
        assert!(bytes("99999999999GB").is_err());
        assert_eq!(duration("5min"), Ok(Duration::from_secs(300)));
        assert_eq!(duration("20ms"), Ok(Duration::from_millis(20)));
        assert_eq!(duration("0"), Ok(Duration::ZERO));
        assert!(duration("soon").is_err());
    }
}
