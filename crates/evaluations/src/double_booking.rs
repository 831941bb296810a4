//! The evaluation of double booking: what it gains against, and together with, choosy initiators.
//! Nothing was published about it.

use slotcast_lab::paired::{chunk_and_disk, gains, per_seed};
use slotcast_lab::{
    Claim, Evaluation, Figures, Findings, Measured, Mode, Model, NotRun, Part, Row,
};
use slotcast_sim::RunReport;

/// The evaluation, for the catalogue.
pub(crate) const EVALUATION: Evaluation = Evaluation {
    name: "double-booking",
    title: "Replicast-H with double booking and late rejection (SURGE m9), beside choosy initiators",
    by_default: false,
    parts: &[
        Part {
            title: "Steady state, warm-up removed",
            file: "experiments/double-booking.toml",
            text: include_str!("../../../experiments/double-booking.toml"),
            model: Model::Cluster(|measured| rows(measured, Mode::SteadyState)),
        },
        Part {
            title: "From a standing start, as long as the published runs of Replicast-H",
            file: "experiments/double-booking-start.toml",
            text: include_str!("../../../experiments/double-booking-start.toml"),
            model: Model::Cluster(|measured| rows(measured, Mode::AsPublished)),
        },
    ],
    claims,
    statements: &[],
    not_run: &[NotRun {
        place: "SURGE, model m9",
        words: "double booking and late rejection",
        reason: "a model without published figures: all claims are of this project",
    }],
};

/// The policies against the plain protocol, by name: whether they are choosy, and book twice.
const POLICIES: [(&str, bool, bool); 3] =
    [("choosy", true, false), ("double-booking", false, true), ("both", true, true)];

/// The point that is as `plain` but for its policy.
fn with_policy<'a>(
    measured: &'a [Measured],
    plain: &Measured,
    (choosy, double_booking): (bool, bool),
) -> Option<&'a Measured> {
    let mut wanted = plain.scenario.clone();
    wanted.replicast.choosy = choosy;
    wanted.replicast.double_booking = double_booking;
    measured.iter().find(|point| point.scenario == wanted)
}

fn rows(measured: &[Measured], mode: Mode) -> Findings {
    let mean = |report: &RunReport| report.latency.mean;
    let p99 = |report: &RunReport| report.latency.p99;
    let is_plain = |point: &&Measured| {
        let replicast = &point.scenario.replicast;
        !replicast.choosy && !replicast.double_booking
    };
    let mut rows = Vec::new();
    for plain in measured.iter().filter(is_plain) {
        let place = format!("double-booking/{}", chunk_and_disk(plain));
        let mut row = |name: String, samples: &[f64], unit| {
            rows.push(Row::new(format!("{place}/{name}"), None, samples, unit, mode));
        };
        let mut figures = |name: &str, point: &Measured| {
            row(format!("{name}/mean_latency"), &per_seed(point, mean), "us");
            row(format!("{name}/p99_latency"), &per_seed(point, p99), "us");
            row(format!("{name}/chunks_per_s"), &per_seed(point, |r| r.chunks_per_s), "1/s");
        };
        figures("plain", plain);
        let found = POLICIES.map(|(name, choosy, double_booking)| {
            with_policy(measured, plain, (choosy, double_booking)).map(|point| (name, point))
        });
        found.iter().flatten().for_each(|(name, point)| figures(name, point));
        for (name, point) in found.into_iter().flatten() {
            row(format!("{name}/gain"), &gains(plain, point, mean), "%");
            row(format!("{name}/p99_gain"), &gains(plain, point, p99), "%");
        }
    }
    Findings { rows, figures: Figures::new() }
}

/// What the intervals allow to be said of the gains in steady state.
fn claims(findings: &Findings) -> Vec<Claim> {
    let gain = |place: &str, policy: &str| {
        let id = format!("double-booking/{place}/{policy}/gain");
        findings.rows.iter().find(|row| row.mode == Mode::SteadyState && row.id == id)
    };
    let lower_bound = |row: &Row| row.measured - row.ci95.unwrap_or(f64::INFINITY);
    let listed = |rows: &[Option<&Row>]| {
        let part = |row: &Option<&Row>| match row {
            Some(row) => format!("{:.1} % ± {:.1}", row.measured, row.ci95.unwrap_or(f64::NAN)),
            None => "not measured".into(),
        };
        rows.iter().map(part).collect::<Vec<_>>().join(", ")
    };
    let mut claims = Vec::new();
    for (place, text) in [
        ("16KiB/1000MBps", "16 KiB, 1000 MB/s"),
        ("128KiB/1000MBps", "128 KiB, 1000 MB/s"),
        ("1MiB/1000MBps", "1 MiB, 1000 MB/s"),
    ] {
        let row = gain(place, "double-booking");
        claims.push(Claim {
            id: format!("gain/{place}"),
            text: format!("{text}: double booking lowers the mean latency in steady state"),
            holds: row.is_some_and(|row| lower_bound(row) > 0.0),
            certain: true,
            measured: listed(&[row]),
        });
    }
    let places = ["16KiB/1000MBps", "128KiB/1000MBps", "1MiB/1000MBps"];
    let alone = places.map(|place| gain(place, "double-booking"));
    claims.push(Claim {
        id: "gain/falls-with-size".into(),
        text: "1000 MB/s: the smaller the chunk, the more double booking gains".into(),
        holds: alone.iter().all(Option::is_some)
            && alone.windows(2).all(|pair| {
                pair[0].zip(pair[1]).is_some_and(|(small, large)| small.measured > large.measured)
            }),
        certain: true,
        measured: listed(&alone),
    });
    let slow = ["128KiB/400MBps", "1MiB/400MBps"].map(|place| gain(place, "double-booking"));
    claims.push(Claim {
        id: "gain/none-at-slow-disks".into(),
        text: "128 KiB and 1 MiB, 400 MB/s: double booking changes the mean by less than 1.5 %"
            .into(),
        holds: slow.iter().all(|row| row.is_some_and(|row| row.measured.abs() < 1.5)),
        certain: true,
        measured: listed(&slow),
    });
    claims
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(place: &str, samples: &[f64]) -> Row {
        let id = format!("double-booking/{place}/double-booking/gain");
        Row::new(id, None, samples, "%", Mode::SteadyState)
    }

    fn verdicts(rows: Vec<Row>) -> Vec<(String, bool)> {
        let findings = Findings { rows, figures: Figures::new() };
        claims(&findings).into_iter().map(|claim| (claim.id, claim.holds)).collect()
    }

    #[test]
    fn claims_follow_the_rows() {
        let good = vec![
            row("16KiB/1000MBps", &[6.0, 6.1, 5.9]),
            row("128KiB/1000MBps", &[3.0, 3.1, 2.9]),
            row("1MiB/1000MBps", &[1.0, 1.1, 0.9]),
            row("128KiB/400MBps", &[0.2, -0.2, 0.1]),
            row("1MiB/400MBps", &[0.2, -0.2, 0.1]),
        ];
        assert!(verdicts(good.clone()).iter().all(|(_, holds)| *holds));
        let mut wide = good;
        wide[1] = row("128KiB/1000MBps", &[9.0, -3.0, 6.0]);
        let broken: Vec<_> = verdicts(wide).into_iter().filter(|(_, holds)| !holds).collect();
        assert_eq!(
            broken,
            [("gain/128KiB/1000MBps".to_string(), false)],
            "its interval holds zero"
        );
        assert!(verdicts(Vec::new()).iter().all(|(_, holds)| !holds), "nothing was measured");
    }
}
