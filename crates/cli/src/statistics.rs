//! What the runs say about themselves: warm-up, precision, theory, and the tail of many answers.

use slotcast_lab::{
    Estimate, LittleReport, PointReport, Precision, SimReport, Stopped, TailAtScale, Theory, Warmup,
};

use crate::format::{counted, estimate, figure, quantile};

/// Lines below a table. A line that starts with `warning:` says that figures should not be trusted.
pub(crate) fn notes(report: &SimReport) -> String {
    let lines: Vec<String> = match &report.point {
        Some(point) => one_point(point),
        None => many_points(report),
    };
    lines.into_iter().map(|line| format!("{line}\n")).collect()
}

fn one_point(point: &PointReport) -> Vec<String> {
    let PointReport { warmup, precision, theory, tail_at_scale, .. } = point;
    let mut lines: Vec<String> = unknown(point).into_iter().collect();
    lines.push(disk_wait(theory));
    lines.extend(tail(tail_at_scale, point.runs.len()));
    lines.push(warmup_line(warmup));
    lines.extend(little(theory));
    lines.extend(precision.as_ref().map(precision_line));
    lines
}

/// Of all points only what is worth a word, with the number of points that it is true of.
fn many_points(report: &SimReport) -> Vec<String> {
    let points: Vec<_> = report.all_points().collect();
    let mut lines = Vec::new();
    lines.extend(warmups(&points));
    let warned = |point: &&&PointReport| point.warmup.warning;
    lines.extend(summed_up(&points, warned, |point| warmup_line(&point.warmup)));
    for broken in [requests_line, disks_line] {
        let is_broken = |point: &&&PointReport| broken(&point.theory).is_some();
        lines.extend(summed_up(&points, is_broken, |point| {
            broken(&point.theory).unwrap_or_default()
        }));
    }
    let imprecise = |point: &&&PointReport| {
        point.precision.as_ref().is_some_and(|precision| precision.stopped != Stopped::Precise)
    };
    lines.extend(summed_up(&points, imprecise, |point| {
        point.precision.as_ref().map_or(String::new(), precision_line)
    }));
    if let Some(precision) = points.iter().find_map(|point| point.precision.as_ref()) {
        let seeds = || points.iter().filter_map(|point| point.precision.as_ref()).map(|p| p.seeds);
        let (least, most) = (seeds().min().unwrap_or(0), seeds().max().unwrap_or(0));
        let wanted = percent(precision.wanted);
        lines.push(format!("precision: {wanted} wanted, {least} to {most} seeds at a point"));
    }
    lines
}

/// What all points leave out, and at how many that is enough.
fn warmups(points: &[&PointReport]) -> Option<String> {
    let used = || points.iter().map(|point| point.warmup.used_us);
    let (least, most) = (used().reduce(f64::min)?, used().reduce(f64::max)?);
    let range =
        if least == most { time(least) } else { format!("{} to {}", time(least), time(most)) };
    let rule = match points[0].warmup.rule {
        "found" => "found by MSER-5",
        "as-published" => "as published",
        _ => "as set",
    };
    let enough = points.iter().filter(|point| point.warmup.enough == Some(true)).count();
    let of = points.len();
    Some(format!("warm-up: {range}, {rule}; all that MSER-5 finds at {enough} of {of} points"))
}

/// The line of the first point that `matters`, with its place and how many more there are.
fn summed_up(
    points: &[&PointReport],
    matters: impl Fn(&&&PointReport) -> bool,
    line: impl Fn(&PointReport) -> String,
) -> Option<String> {
    let mut found = points.iter().filter(matters);
    let first = found.next()?;
    let sweep: Vec<_> = first.sweep.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let line = line(first);
    let at = format!("at {} of {} points", found.count() + 1, points.len());
    Some(match line.split_once(": ") {
        Some((kind, rest)) => format!("{kind}: {at}, such as {}: {rest}", sweep.join(" ")),
        None => line,
    })
}

/// A part of a whole with two digits or so.
fn percent(part: f64) -> String {
    format!("{} %", figure(part * 100.0).trim_end_matches('0').trim_end_matches('.'))
}

/// Simulated time.
fn time(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{}s", short(us / 1e6)),
        us if us >= 1e3 => format!("{}ms", short(us / 1e3)),
        us => format!("{}us", short(us)),
    }
}

fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

fn warmup_line(warmup: &Warmup) -> String {
    let Warmup { rule, used_us, mser5, mser5_us, runs, length_us, mean_changes_by, .. } = warmup;
    let used = time(*used_us);
    let kind = if *rule == "found" { "pilot run" } else { "run" };
    let runs = format!("{} of {}", counted(*runs, kind), time(*length_us));
    let found = match mser5_us {
        Some(us) => format!("MSER-5 finds {} in {runs}", time(*us)),
        None if *mser5 == "not settled" => format!("MSER-5 finds no end of the start in {runs}"),
        None => format!("too few requests for MSER-5 in {runs}"),
    };
    let change = mean_changes_by.map_or(String::new(), |by| {
        format!("; without that part the mean latency would be {:+.1} %", by * 100.0)
    });
    let remedy = match (*rule, mser5_us) {
        _ if !warmup.warning => "",
        ("found", _) => "; run.warmup is left out; the cluster may be overloaded",
        (_, None) => "; longer runs would tell",
        (_, Some(_)) => "; set run.warmup, or statistics.warmup=found",
    };
    let word = if warmup.warning { "warning: warm-up" } else { "warm-up" };
    match *rule {
        "found" => format!("{word}: {used}; {found}{remedy}"),
        "as-published" => format!("{word}: {used}, as published; {found}"),
        _ => format!("{word}: {used}, as set; {found}{change}{remedy}"),
    }
}

fn precision_line(precision: &Precision) -> String {
    let Precision { wanted, seeds, stopped, .. } = precision;
    let wanted = percent(*wanted);
    let worst = precision.worst().map_or(String::new(), |worst| {
        let reached = worst.relative.map_or("no interval".into(), percent);
        format!("; the widest interval is that of {}, ± {reached}", worst.name)
    });
    let seeds = counted(*seeds, "seed");
    match stopped {
        Stopped::Precise => format!("precision: {wanted} reached with {seeds}{worst}"),
        Stopped::MaxSeeds => format!(
            "warning: precision: {wanted} not reached with {seeds}, which is \
             statistics.max_seeds{worst}"
        ),
        Stopped::MaxTime => format!(
            "warning: precision: {wanted} not reached in time: {seeds} until \
             statistics.max_time{worst}"
        ),
    }
}

fn disk_wait(theory: &Theory) -> String {
    let measured = theory.disk_wait_us.measured;
    let Some(at_random) = theory.disk_wait_us.pollaczek_khinchine else {
        return format!(
            "disk wait: {} us; random arrivals would wait without end, for some disk is offered all \
             that it can do",
            estimate(measured)
        );
    };
    let why = match measured.value / at_random.value {
        ratio if ratio < 0.9 => ": chunks come more evenly, as reservations and closed loops do",
        ratio if ratio > 1.1 => ": chunks come in bursts",
        ratio if ratio.is_finite() => ": chunks come about at random",
        _ => "",
    };
    format!(
        "disk wait: {} us; random arrivals would wait {} us (Pollaczek-Khinchine){why}",
        estimate(measured),
        estimate(at_random)
    )
}

fn little(theory: &Theory) -> impl Iterator<Item = String> {
    [requests_line(theory), disks_line(theory)].into_iter().flatten()
}

fn requests_line(theory: &Theory) -> Option<String> {
    let reason = "the rest is in requests that failed, or that were not finished when the run ended: \
                  is it too short, or overloaded?";
    little_line(&theory.little.requests, "requests under way", reason)
}

fn disks_line(theory: &Theory) -> Option<String> {
    let reason = "the rest is in chunks that came before or were finished after the measured time";
    little_line(&theory.little.disks, "chunks at disks", reason)
}

fn little_line(little: &LittleReport, what: &str, reason: &str) -> Option<String> {
    if little.holds {
        return None;
    }
    if little.unaccounted_us != 0.0 {
        return Some(format!(
            "warning: Little's law: {} us of the {what} are not accounted for; this is an error in \
             the simulator, not in the experiment",
            figure(little.unaccounted_us)
        ));
    }
    Some(format!(
        "warning: Little's law: rate times time is {} of the {} {what}; {reason}",
        estimate(little.ratio),
        figure(little.number.value)
    ))
}

/// Which quantiles have no interval, and what would give them one.
fn unknown(point: &PointReport) -> Option<String> {
    let parts = point.metrics.latency_us.parts();
    let quantiles = parts.iter().filter(|(name, _)| name.starts_with('p'));
    let unknown: Vec<_> =
        quantiles.filter(|(_, of)| of.ci95.is_none()).map(|(name, _)| *name).collect();
    (point.runs.len() > 1 && !unknown.is_empty()).then(|| {
        format!(
            "± ?: too few requests took longer than the {} to say how far it can be trusted; more seeds \
             or longer runs do",
            unknown.join(" and the ")
        )
    })
}

fn tail(tails: &[TailAtScale], runs: usize) -> Vec<String> {
    let measured = |name, of: Estimate| {
        (!of.value.is_nan()).then(|| format!("{name} {} us, ", quantile(of, runs)))
    };
    let lines = tails.iter().filter_map(|tail| {
        let p50 = measured("p50", tail.p50)?;
        let p99 = measured("p99", tail.p99).unwrap_or_default();
        Some(format!(
            "a request that needs {} answers: {p50}{p99}beyond p99 of one: {:.1} %",
            tail.answers,
            tail.beyond_p99 * 100.0
        ))
    });
    lines.collect()
}
