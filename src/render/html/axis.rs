//! Round numbers for axes.

/// Multiples of a round step within `from..=to`, at most about `most`.
pub fn ticks(from: u64, to: u64, most: u64) -> Vec<u64> {
    let step = step(to.saturating_sub(from), most);
    let first = from.div_ceil(step).saturating_mul(step);
    (first..=to).step_by(usize::try_from(step).unwrap_or(usize::MAX)).collect()
}

/// The smallest of 1, 2, 5, 10, 20 … of which at most `most` fit into the span.
fn step(span: u64, most: u64) -> u64 {
    let mut power = 1_u64;
    loop {
        for factor in [1, 2, 5] {
            let step = power.saturating_mul(factor);
            if span / step < most || step == u64::MAX {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// A count in at most five characters or so: `12`, `12.3k`, `4.5M`.
pub fn short(n: i64) -> String {
    let scaled = |by: f64, unit: &str| format!("{}{unit}", trimmed(n.unsigned_abs() as f64 / by));
    let digits = match n.unsigned_abs() {
        0..=9_999 => n.unsigned_abs().to_string(),
        10_000..=999_999 => scaled(1e3, "k"),
        1_000_000..=999_999_999 => scaled(1e6, "M"),
        _ => scaled(1e9, "G"),
    };
    if n < 0 { format!("\u{2212}{digits}") } else { digits }
}

fn trimmed(n: f64) -> String {
    let text = format!("{n:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(1, 3045, 7), [500, 1000, 1500, 2000, 2500, 3000]);
        assert_eq!(ticks(1541, 1630, 6), [1560, 1580, 1600, 1620]);
        assert_eq!(ticks(7, 7, 6), [7]);
        assert!(ticks(0, u64::MAX, 6).len() <= 6);
    }

    #[test]
    fn counts_stay_short() {
        assert_eq!([0, -18, 9999, 12_345, -2_000_000].map(short), ["0", "\u{2212}18", "9999", "12.3k", "\u{2212}2M"]);
    }
}
