//! What the source says, and what follows for whoever has to choose a method, judged on medians.

use slotcast_lab::{Claim, Findings};

/// The numbers of networks of the surface.
const NETWORKS: std::ops::RangeInclusive<u32> = 1..=30;

/// The budget at which methods are compared, and the number of networks there.
const BUDGET: usize = 500;
const TEN: &str = "10-networks";

const OTHERS: [&str; 4] = ["random", "latin-hypercube", "cma-es", "gaussian-process"];

pub(super) fn claims(findings: &Findings) -> Vec<Claim> {
    let mut claims: Vec<Claim> =
        [500, 1000, 2300].into_iter().map(|calls| one_is_worst(findings, calls)).collect();
    claims.push(many_escape(findings));
    claims.push(more_come_closer(findings));
    claims.extend(OTHERS.map(|other| ten_beat(findings, other)));
    claims
}

fn value(findings: &Findings, calls: usize, name: &str, figure: &str) -> f64 {
    let id = format!("networks/{calls}-calls/{name}/{figure}");
    findings.rows.iter().find(|row| row.id == id).map_or(f64::NAN, |row| row.measured)
}

fn distance(findings: &Findings, calls: usize, networks: u32) -> f64 {
    value(findings, calls, &format!("{networks}-networks"), "distance")
}

/// A claim about chance: it may turn out otherwise with other seeds.
fn claim(id: String, text: String, holds: bool, measured: String) -> Claim {
    Claim { id, text, holds, certain: false, measured }
}

fn one_is_worst(findings: &Findings, calls: usize) -> Claim {
    let all: Vec<(u32, f64)> = NETWORKS.map(|k| (k, distance(findings, calls, k))).collect();
    let worst = all.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, f64::NAN));
    let (one, found) = (all[0].1, all.iter().all(|(_, distance)| distance.is_finite()));
    claim(
        format!("one-is-worst/{calls}"),
        format!("after {calls} calls one network is the farthest from the optimum of 1 to 30"),
        found && worst.0 == 1,
        format!("one network {one:.3}, the farthest is {} with {:.3}", worst.0, worst.1),
    )
}

fn many_escape(findings: &Findings) -> Claim {
    let missed = |networks: u32| value(findings, 2300, &format!("{networks}-networks"), "missed");
    let (one, thirty) = (missed(1), missed(30));
    claim(
        "many-escape".into(),
        "after 2300 calls fewer searches of 30 networks than of one are in the reach of another maximum".into(),
        thirty < one,
        format!("one network {:.0} %, 30 networks {:.0} %", one * 100.0, thirty * 100.0),
    )
}

fn more_come_closer(findings: &Findings) -> Claim {
    let found: Vec<f64> = [2, 5, 10, 20, 30].map(|k| distance(findings, 2300, k)).into();
    let listed: Vec<String> = found.iter().map(|distance| format!("{distance:.3}")).collect();
    claim(
        "more-come-closer".into(),
        "after 2300 calls each of 2, 5, 10, 20 and 30 networks comes closer than the one before"
            .into(),
        found.windows(2).all(|pair| pair[1] < pair[0]),
        listed.join(", "),
    )
}

fn ten_beat(findings: &Findings, other: &str) -> Claim {
    let (ten, theirs) =
        (value(findings, BUDGET, TEN, "distance"), value(findings, BUDGET, other, "distance"));
    let (value_ten, value_theirs) =
        (value(findings, BUDGET, TEN, "value"), value(findings, BUDGET, other, "value"));
    claim(
        format!("ten-beat/{other}"),
        format!(
            "after {BUDGET} calls ten networks are closer to the optimum than {other}, and higher"
        ),
        ten < theirs && value_ten > value_theirs,
        format!("distance {ten:.3} and {theirs:.3}, value {value_ten:.3} and {value_theirs:.3}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_lab::{Figures, Mode, Row};

    fn holding(rows: Vec<(String, f64)>) -> Vec<String> {
        let rows =
            rows.into_iter().map(|(id, value)| Row::new(id, None, &[value], "", Mode::AsPublished));
        let findings = Findings { rows: rows.collect(), figures: Figures::new() };
        claims(&findings).into_iter().filter(|claim| claim.holds).map(|claim| claim.id).collect()
    }

    fn surface(calls: usize, of: impl Fn(u32) -> f64) -> Vec<(String, f64)> {
        NETWORKS.map(|k| (format!("networks/{calls}-calls/{k}-networks/distance"), of(k))).collect()
    }

    #[test]
    fn nothing_is_claimed_of_what_was_not_measured() {
        assert_eq!(holding(Vec::new()), Vec::<String>::new());
        let part = surface(2300, |_| 1.0).into_iter().take(20).collect();
        assert_eq!(holding(part), Vec::<String>::new(), "a part of the surface is not the surface");
    }

    #[test]
    fn claims_follow_the_rows() {
        let falling = surface(2300, |k| 1.0 / f64::from(k));
        assert_eq!(holding(falling), ["one-is-worst/2300", "more-come-closer"]);
        let rising = surface(2300, |k| if k == 1 { 50.0 } else { f64::from(k) });
        assert_eq!(holding(rising), ["one-is-worst/2300"]);
        assert_eq!(holding(surface(1000, f64::from)), Vec::<String>::new());
        let at = |name: &str, distance, value| {
            let id = |figure| format!("networks/500-calls/{name}/{figure}");
            vec![(id("distance"), distance), (id("value"), value)]
        };
        let beaten = [at(TEN, 0.1, 3.0), at("random", 0.2, 2.5), at("cma-es", 0.01, 3.3)].concat();
        assert_eq!(holding(beaten), ["ten-beat/random"]);
    }
}
