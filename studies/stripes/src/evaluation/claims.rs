//! What the published figures and the slides say, and whether it holds here.

use slotcast_lab::{Claim, Findings, Row};

pub(super) fn claims(findings: &Findings) -> Vec<Claim> {
    let mut claims = Vec::new();
    for mode in ["stripe-lock", "coordinated"] {
        let id = |figure: &str| format!("stripes/suno/{mode}/1-clients/{figure}");
        claims.push(theory(findings, &id("theoretical_latency"), mode));
        claims.push(near(findings, &id("latency"), 4.0, "measured latency", mode));
    }
    claims.push(lock_is_flat(findings));
    claims.push(coordinated_grows(findings));
    claims.push(a_miss_costs_a_read(findings));
    claims.push(prefetch_hides_a_miss(findings));
    claims.push(coordinated_gains(findings));
    claims.push(skew_hurts_locks_more(findings));
    claims.push(nothing_went_wrong(findings));
    claims
}

/// The latency of one client in the experiment about caches, in milliseconds.
fn with_cache(findings: &Findings, cache: &str) -> f64 {
    value(findings, &format!("stripes/cache/1-clients/{cache}/latency"))
}

fn a_miss_costs_a_read(findings: &Findings) -> Claim {
    let hit = with_cache(findings, "100%-hits/second-none/no-prefetch");
    let [disk, ssd] = ["none", "ssd"]
        .map(|second| with_cache(findings, &format!("0%-hits/second-{second}/no-prefetch")) - hit);
    Claim {
        id: "cache/miss".into(),
        text: "coordinated, one client: a cache miss adds several ms, and less than 1 ms with an SSD as \
               second-level cache"
            .into(),
        holds: disk > 2.0 && ssd > 0.0 && ssd < 1.0,
        certain: true,
        measured: format!("{disk:+.2} ms, {ssd:+.2} ms"),
    }
}

fn prefetch_hides_a_miss(findings: &Findings) -> Claim {
    let hit = with_cache(findings, "100%-hits/second-none/no-prefetch");
    let added = with_cache(findings, "0%-hits/second-none/prefetch") - hit;
    Claim {
        id: "cache/prefetch".into(),
        text: "coordinated, one client: the old content is there in time if it is fetched while the new \
               one arrives"
            .into(),
        holds: added.abs() < 0.1,
        certain: true,
        measured: format!("{added:+.2} ms"),
    }
}

/// Eight clients, whatever the code and the unit.
fn coordinated_gains(findings: &Findings) -> Claim {
    let places = ["geometry/{}/8+1", "geometry/{}/4+2", "geometry/{}/8+3"].into_iter();
    let units = ["units/{}/4KiB", "units/{}/64KiB", "units/{}/1MiB", "units/{}/4MiB"];
    let ratios = places.chain(units).map(|place| {
        let ops =
            |mode| value(findings, &format!("stripes/{}/throughput", place.replace("{}", mode)));
        ops("coordinated") / ops("stripe-lock")
    });
    let ratios: Vec<f64> = ratios.collect();
    Claim {
        id: "gain".into(),
        text: "8 clients on one stripe write at least twice as much coordinated as with the lock: 8+1, \
               4+2 and 8+3, and units of 4 KiB to 4 MiB"
            .into(),
        holds: ratios.iter().all(|ratio| *ratio >= 2.0),
        certain: true,
        measured: format!("{} times", listed(&ratios)),
    }
}

/// What is left of the throughput when stripes are chosen by Zipf's law.
fn skew_hurts_locks_more(findings: &Findings) -> Claim {
    let left = |mode: &str| {
        let ops = |zipf| value(findings, &format!("stripes/many/{mode}/zipf-{zipf}/throughput"));
        ops("99%") / ops("0%")
    };
    let (lock, coordinated) = (left("stripe-lock"), left("coordinated"));
    Claim {
        id: "many/skew".into(),
        text: "64 clients on 1000 stripes: Zipf's law with exponent 0.99 leaves the lock less than half of \
               its throughput, and the coordinated mode more than two thirds"
            .into(),
        holds: lock < 0.5 && coordinated > 2.0 / 3.0,
        certain: true,
        measured: format!("{:.0} %, {:.0} %", lock * 100.0, coordinated * 100.0),
    }
}

fn row<'a>(findings: &'a Findings, id: &str) -> Option<&'a Row> {
    findings.rows.iter().find(|row| row.id == id)
}

fn value(findings: &Findings, id: &str) -> f64 {
    row(findings, id).map_or(f64::NAN, |row| row.measured)
}

/// A published figure is met within so many percent.
/// Arithmetic over the constants that the experiment was given: no run can make it true or false.
fn theory(findings: &Findings, id: &str, mode: &str) -> Claim {
    Claim {
        text: format!(
            "{mode}, one client: the published theoretical latency is the sum of the published costs \
             (derived, not measured)"
        ),
        certain: false,
        ..near(findings, id, 0.1, "", mode)
    }
}

fn near(findings: &Findings, id: &str, percent: f64, what: &str, mode: &str) -> Claim {
    let deviation = row(findings, id).and_then(|row| row.deviation_pct);
    Claim {
        id: id.trim_start_matches("stripes/").into(),
        text: format!("{mode}, one client: the {what} is met within {percent} %"),
        holds: deviation.is_some_and(|deviation| deviation.abs() <= percent),
        certain: true,
        measured: format!("{:.3} ms, {:+.2} %", value(findings, id), deviation.unwrap_or(f64::NAN)),
    }
}

/// Throughput with 1 to 8 clients.
fn over_clients(findings: &Findings, mode: &str) -> Vec<f64> {
    (1..=8)
        .map(|n| value(findings, &format!("stripes/suno/{mode}/{n}-clients/throughput")))
        .collect()
}

fn listed(values: &[f64]) -> String {
    values.iter().map(|value| format!("{value:.1}")).collect::<Vec<_>>().join(", ")
}

fn lock_is_flat(findings: &Findings) -> Claim {
    let found = over_clients(findings, "stripe-lock");
    Claim {
        id: "suno/stripe-lock/flat".into(),
        text: "stripe-lock: 1 to 8 clients have 30 writes per second together, within 5 %".into(),
        holds: found.iter().all(|ops| (ops / 30.0 - 1.0).abs() <= 0.05),
        certain: true,
        measured: listed(&found),
    }
}

fn coordinated_grows(findings: &Findings) -> Claim {
    let found = over_clients(findings, "coordinated");
    let full = 1e3 / 10.633;
    let grows = found.windows(2).all(|pair| pair[1] >= pair[0] * 1.03 || pair[1] >= full * 0.95);
    let is_full = found.last().is_some_and(|ops| (ops / full - 1.0).abs() <= 0.03);
    Claim {
        id: "suno/coordinated/grows".into(),
        text: "coordinated: throughput grows with clients until the parity server's link is full at 94 \
               writes per second, within 3 %"
            .into(),
        holds: grows && is_full,
        certain: true,
        measured: listed(&found),
    }
}

fn nothing_went_wrong(findings: &Findings) -> Claim {
    let rows = findings.rows.iter().filter(|row| row.id.ends_with("/wrong_runs"));
    let wrong: Vec<f64> = rows.map(|row| row.measured).collect();
    Claim {
        id: "consistent".into(),
        text: "when all has come to rest, parity is that of the data in every run".into(),
        holds: !wrong.is_empty() && wrong.iter().all(|wrong| *wrong == 0.0),
        certain: true,
        measured: format!("{} wrong runs", wrong.iter().sum::<f64>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_lab::{Figures, Mode};

    fn holding(rows: &[(&str, f64, Option<f64>)]) -> Vec<String> {
        let rows = rows.iter().map(|(id, measured, published)| {
            let id = format!("stripes/{id}");
            Row::new(id, *published, &[*measured], "", Mode::SteadyState)
        });
        let findings = Findings { rows: rows.collect(), figures: Figures::new() };
        let holding = claims(&findings).into_iter().filter(|claim| claim.holds);
        holding.map(|claim| claim.id).collect()
    }

    #[test]
    fn nothing_is_claimed_of_what_was_not_measured() {
        assert_eq!(holding(&[]), Vec::<String>::new());
    }

    #[test]
    fn claims_follow_the_rows() {
        let latency = |ms| ("suno/stripe-lock/1-clients/latency", ms, Some(32.897));
        assert_eq!(holding(&[latency(34.2)]), ["suno/stripe-lock/1-clients/latency"]);
        assert_eq!(holding(&[latency(34.3)]), Vec::<String>::new(), "more than 4 %");
        assert_eq!(holding(&[("suno/wrong_runs", 0.0, None)]), ["consistent"]);
        assert_eq!(holding(&[("many/wrong_runs", 1.0, None)]), Vec::<String>::new());
        let cache = |miss: f64, ssd: f64, prefetched: f64| {
            holding(&[
                ("cache/1-clients/100%-hits/second-none/no-prefetch/latency", 27.0, None),
                ("cache/1-clients/0%-hits/second-none/no-prefetch/latency", miss, None),
                ("cache/1-clients/0%-hits/second-ssd/no-prefetch/latency", ssd, None),
                ("cache/1-clients/0%-hits/second-none/prefetch/latency", prefetched, None),
            ])
        };
        assert_eq!(cache(31.0, 27.5, 27.05), ["cache/miss", "cache/prefetch"]);
        assert_eq!(cache(27.5, 27.5, 28.0), Vec::<String>::new());
        let skew = |lock, coordinated| {
            holding(&[
                ("many/stripe-lock/zipf-0%/throughput", 100.0, None),
                ("many/stripe-lock/zipf-99%/throughput", lock, None),
                ("many/coordinated/zipf-0%/throughput", 100.0, None),
                ("many/coordinated/zipf-99%/throughput", coordinated, None),
            ])
        };
        assert_eq!(skew(40.0, 80.0), ["many/skew"]);
        assert_eq!(skew(60.0, 80.0), Vec::<String>::new());
    }
}
