//! Loads, latencies, sizes and times as an architect reads them: GB/s, ms, TB, hours.

use slotcast_lab::Estimate;
use slotcast_units::Span;

/// `1.04 GB/s`.
pub(crate) fn bytes_rate(bytes_per_s: f64) -> String {
    let (value, unit) = match bytes_per_s {
        bytes if bytes >= 1e12 => (bytes / 1e12, "TB/s"),
        bytes if bytes >= 1e9 => (bytes / 1e9, "GB/s"),
        bytes => (bytes / 1e6, "MB/s"),
    };
    format!("{value:.*} {unit}", if value < 10.0 { 2 } else { 1 })
}

/// A latency in microseconds with its interval, in milliseconds with three significant digits.
pub(crate) fn ms(us: Estimate) -> String {
    let (value, ci95) = (us.value / 1e3, us.ci95.map(|ci95| ci95 / 1e3));
    let decimals = match value.abs().max(ci95.unwrap_or(0.0)) {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    match ci95 {
        _ if value.is_nan() => "-".into(),
        Some(ci95) => format!("{value:.decimals$} ± {ci95:.decimals$}"),
        // A check has several runs.
        None => format!("{value:.decimals$} ± ?"),
    }
}

/// A limit in milliseconds.
pub(crate) fn limit_ms(limit: Span) -> String {
    let ms = limit.as_ns() as f64 / 1e6;
    let text = format!("{ms:.3}");
    format!("{} ms", text.trim_end_matches('0').trim_end_matches('.'))
}

pub(crate) fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// Gigabytes per second with three significant digits.
pub(crate) fn gigabytes(bytes_per_s: f64) -> String {
    let value = bytes_per_s / 1e9;
    let decimals = match value {
        100.0.. => 0,
        10.0..100.0 => 1,
        1.0..10.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// Terabytes, or petabytes where there are many.
pub(crate) fn terabytes(bytes: f64) -> String {
    let (value, unit) = if bytes >= 1e15 { (bytes / 1e15, "PB") } else { (bytes / 1e12, "TB") };
    format!("{} {unit}", digits(value))
}

/// A number with three significant digits, or all before the point.
pub(crate) fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        100.0.. => 0,
        10.0..100.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// Seconds as hours, or days where there are many.
pub(crate) fn hours(seconds: f64) -> String {
    match seconds / 3600.0 {
        hours if hours >= 72.0 => format!("{:.1} days", hours / 24.0),
        hours if hours >= 1.0 => format!("{hours:.1} hours"),
        hours => format!("{:.0} minutes", (hours * 60.0).ceil()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_told_in_milliseconds() {
        let of = |value, ci95| ms(Estimate { value, ci95 });
        assert_eq!(of(950.0, Some(5.0)), "0.950 ± 0.005");
        assert_eq!(of(95_300.0, Some(2100.0)), "95.3 ± 2.1");
        assert_eq!(of(2_500_000.0, Some(10_000.0)), "2500 ± 10");
        assert_eq!(of(20_000.0, None), "20.0 ± ?");
        assert_eq!(limit_ms(Span::from_us(1500)), "1.5 ms");
        assert_eq!(limit_ms(Span::from_ms(100)), "100 ms");
    }

    #[test]
    fn sizes_and_times_have_the_unit_that_fits() {
        assert_eq!(terabytes(1.44e15), "1.44 PB");
        assert_eq!(terabytes(90e12), "90.0 TB");
        assert_eq!(hours(1800.0), "30 minutes");
        assert_eq!(hours(7200.0), "2.0 hours");
        assert_eq!(hours(86_400.0 * 5.0), "5.0 days");
    }
}
