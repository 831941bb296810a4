//! Numbers for people: about four significant digits, thousands apart, intervals that fit.

use crate::chart::Mean;

/// Between thousands; narrow, and no line breaks there.
const THIN: char = '\u{202f}';

/// `value` with about four significant digits; a dash if there is none.
pub fn figure(value: f64) -> String {
    fixed(value, decimals(value, 4))
}

/// A whole number.
pub fn count(count: usize) -> String {
    fixed(count as f64, 0)
}

/// `+4.4 %`.
pub fn signed_percent(percent: f64) -> String {
    let text = fixed(percent, 1);
    let sign = if percent > 0.0 && text != "0.0" { "+" } else { "" };
    format!("{sign}{text} %")
}

/// `1039 ± 12`: the interval with two significant digits, the mean with as many decimals.
pub fn mean(mean: Mean) -> String {
    match mean.ci95.filter(|ci95| ci95.is_finite()) {
        Some(ci95) if ci95 > 0.0 && mean.value.is_finite() => {
            let places = decimals(ci95, 2).min(decimals(mean.value, 6));
            format!("{} ± {}", fixed(mean.value, places), fixed(ci95, places))
        }
        Some(_) => format!("{} ± 0", figure(mean.value)),
        None => figure(mean.value),
    }
}

/// The same with a unit: `1039 ± 12 µs`, `72.5 ± 0.3 %`.
pub fn mean_with_unit(of: Mean, unit: &str) -> String {
    match unit {
        "" => mean(of),
        unit => format!("{} {}", mean(of), crate::chart::unit_text(unit)),
    }
}

/// A short number for an axis: `50k`, `1.2M`, `0.25`.
pub fn tick(value: f64) -> String {
    let (scaled, suffix) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = format!("{scaled:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { format!("{text}{suffix}").replace('-', "−") }
}

/// `value` rounded to six significant digits: enough for a screen, and short in a page.
pub fn short(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    format!("{value:.5e}").parse().expect("a number that was just printed")
}

/// How many decimals `digits` significant digits take.
fn decimals(value: f64, digits: i32) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    // Of the number as it will be printed: 9.996 has one digit before the point more than 9.99.
    let rounded: f64 = format!("{value:.*e}", digits.max(1) as usize - 1).parse().unwrap_or(value);
    let before = rounded.abs().log10().floor() as i32 + 1;
    usize::try_from(digits - before).unwrap_or(0).min(6)
}

fn fixed(value: f64, places: usize) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let text = format!("{:.*}", places, value.abs());
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let is_zero = text.bytes().all(|digit| !(b'1'..=b'9').contains(&digit));
    let mut out = String::from(if value < 0.0 && !is_zero { "−" } else { "" });
    for (index, digit) in whole.chars().enumerate() {
        // Four digits are read at a glance; more need help.
        if index > 0 && whole.len() > 4 && (whole.len() - index).is_multiple_of(3) {
            out.push(THIN);
        }
        out.push(digit);
    }
    if !rest.is_empty() {
        out.push('.');
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: f64, ci95: f64) -> String {
        mean(Mean { value, ci95: Some(ci95) })
    }

    #[test]
    fn four_digits_and_thousands() {
        assert_eq!(figure(1039.8), "1040");
        assert_eq!(figure(88_389.2), "88\u{202f}389");
        assert_eq!(figure(1_234_567.0), "1\u{202f}234\u{202f}567");
        assert_eq!(figure(0.012_346), "0.01235");
        assert_eq!(figure(9.9996), "10.00");
        assert_eq!(figure(-3.25), "−3.250");
        assert_eq!(figure(f64::NAN), "–");
        assert_eq!(figure(0.0), "0");
    }

    #[test]
    fn a_mean_is_as_exact_as_its_interval() {
        assert_eq!(of(908.83, 8.77), "908.8 ± 8.8");
        assert_eq!(of(15_707.3, 168.4), "15\u{202f}707 ± 168");
        assert_eq!(of(0.7251, 0.0031), "0.7251 ± 0.0031");
        assert_eq!(of(5.0, 0.0), "5.000 ± 0");
        assert_eq!(mean(7.0.into()), "7.000");
    }

    #[test]
    fn percentages_have_signs_and_zero_has_none() {
        assert_eq!(signed_percent(4.38), "+4.4 %");
        assert_eq!(signed_percent(-4.38), "−4.4 %");
        assert_eq!((signed_percent(0.01), signed_percent(-0.01)), ("0.0 %".into(), "0.0 %".into()));
    }

    #[test]
    fn ticks_are_short() {
        assert_eq!(tick(50_000.0), "50k");
        assert_eq!(tick(1_250_000.0), "1.25M");
        assert_eq!(tick(2000.0), "2000");
        assert_eq!(tick(0.25), "0.25");
        assert_eq!(tick(-0.0), "0");
    }

    #[test]
    fn short_numbers_stay_near() {
        assert_eq!(short(123_456.789), 123_457.0);
        assert_eq!(short(0.000_123_456_78), 0.000_123_457);
        assert!(short(f64::NAN).is_nan());
    }
}
