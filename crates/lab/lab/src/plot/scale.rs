//! Axes: from values to pixels, and where ticks stand.

use crate::report::grouped;

/// An axis between two values.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    pixels: (i32, i32),
    is_logarithmic: bool,
    pub ticks: Vec<f64>,
}

/// Ticks on an axis, at most about.
const TICKS: f64 = 5.0;

impl Scale {
    /// From zero to above the greatest value.
    pub fn from_zero(greatest: f64, pixels: (i32, i32)) -> Scale {
        let greatest = greatest.max(1e-9);
        let step = steps(greatest / TICKS).find(|step| *step >= greatest / TICKS).unwrap_or(greatest);
        let count = (greatest / step).ceil();
        let ticks = (0..=count as u32).map(|tick| f64::from(tick) * step).collect();
        Scale { low: 0.0, high: (count * step).max(greatest * 1.04), pixels, is_logarithmic: false, ticks }
    }

    /// Logarithmic, between ticks around all values above zero.
    pub fn logarithmic(values: impl Iterator<Item = f64> + Clone, pixels: (i32, i32)) -> Scale {
        let positive = values.filter(|value| *value > 0.0);
        let least = positive.clone().reduce(f64::min).unwrap_or(1.0);
        let greatest = positive.reduce(f64::max).unwrap_or(1.0).max(least * 1.01);
        let low = steps(least).take_while(|step| *step <= least).last().unwrap_or(least);
        let high = steps(greatest).find(|step| *step >= greatest * 1.05).unwrap_or(greatest);
        let between = steps(low).skip_while(|step| *step < low * 0.99).take_while(|step| *step <= high * 1.01);
        let mut ticks: Vec<f64> = between.collect();
        if ticks.len() as f64 > 2.0 * TICKS {
            ticks.retain(|tick| (tick.log10() - tick.log10().round()).abs() < 1e-6);
        }
        Scale { low, high, pixels, is_logarithmic: true, ticks }
    }

    /// Between the least and the greatest of these places, with a tick at each if there are few.
    pub fn places(places: &[f64], doubles: bool, pixels: (i32, i32)) -> Scale {
        let low = places.iter().copied().reduce(f64::min).unwrap_or(0.0);
        let high = places.iter().copied().reduce(f64::max).unwrap_or(1.0);
        let ticks = places.to_vec();
        if doubles && low > 0.0 {
            return Scale { low: low / 1.2, high: high * 1.2, pixels, is_logarithmic: true, ticks };
        }
        let margin = ((high - low) * 0.04).max(if high > low { 0.0 } else { 0.5 });
        Scale { low: low - margin, high: high + margin, pixels, is_logarithmic: false, ticks }
    }

    /// Where a value stands. What is outside of the axis stands at its end.
    pub fn pixel(&self, value: f64) -> i32 {
        let place = |value: f64| if self.is_logarithmic { value.max(f64::MIN_POSITIVE).ln() } else { value };
        let (low, high) = (place(self.low), place(self.high));
        let share = ((place(value) - low) / (high - low)).clamp(0.0, 1.0);
        self.pixels.0 + (share * f64::from(self.pixels.1 - self.pixels.0)).round() as i32
    }
}

/// 1, 2, 5, 10 and so on, from below a value.
fn steps(from: f64) -> impl Iterator<Item = f64> {
    let first = from.log10().floor() as i32 - 1;
    (first..first + 40).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)))
}

/// A value, as short as it is still told from its neighbours.
pub(super) fn shown(value: f64) -> String {
    match value.abs() {
        10_000_000.0.. => format!("{:.0} M", value / 1e6),
        1_000_000.0.. => format!("{:.2} M", value / 1e6),
        100_000.0.. => format!("{:.0} K", value / 1e3),
        10_000.0.. => format!("{:.1} K", value / 1e3),
        100.0.. => grouped(value),
        10.0.. => format!("{value:.0}"),
        0.0 => "0".to_owned(),
        small if small >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A tick's value, without zeros behind the point.
pub(super) fn tick(value: f64) -> String {
    let shown = shown(value);
    match shown.split_once(' ') {
        Some((number, unit)) => format!("{} {unit}", short(number)),
        None => short(&shown).to_owned(),
    }
}

fn short(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(Scale::from_zero(87.0, (0, 100)).ticks, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        let ticks = |values: &[f64]| {
            let scale = Scale::logarithmic(values.iter().copied(), (0, 100));
            scale.ticks.iter().map(|value| tick(*value)).collect::<Vec<_>>()
        };
        assert_eq!(ticks(&[0.3, 1.5]), ["0.2", "0.5", "1", "2"]);
        assert_eq!(ticks(&[0.9, 54.0, 1.0]), ["0.5", "1", "2", "5", "10", "20", "50", "100"]);
        assert_eq!(ticks(&[0.001, 900.0]).len(), 7, "decades");
        assert_eq!(ticks(&[]), ["1", "2"]);
    }

    #[test]
    fn values_stand_where_their_ticks_say() {
        let scale = Scale::from_zero(100.0, (200, 0));
        assert_eq!(
            [0.0, 50.0, 1e9].map(|value| scale.pixel(value) / 4),
            [50, 25, 0].map(|pixel| pixel + i32::from(pixel == 25))
        );
        let doubling = Scale::places(&[1.0, 2.0, 4.0], true, (0, 300));
        let [one, two, four] = [1.0, 2.0, 4.0].map(|value| doubling.pixel(value));
        assert!(((four - two) - (two - one)).abs() <= 1);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [1_630_000.0, 483_000.0, 14_730.0, 1_234.0, 54.4, 0.87, 0.004].map(shown),
            ["1.63 M", "483 K", "14.7 K", "1,234", "54", "0.87", "0.004"]
        );
        assert_eq!([0.0, 2_000_000.0, 0.5, 1.0, 20_000.0].map(tick), ["0", "2 M", "0.5", "1", "20 K"]);
    }
}
