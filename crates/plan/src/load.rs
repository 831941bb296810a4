//! What is asked of a cluster: writes and reads a second, stated as bytes or objects, together or apart.

use slotcast_sim::ScenarioError;
use slotcast_units::{Rate, Share};

use super::stated::{Stated, missing, wrong};

/// Most objects per second, as of `target.objects_per_s`.
const MAX_OBJECTS: f64 = 1e9;

/// What all clients together ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    /// Requests per second.
    pub(super) objects_per_s: u64,
    /// Part of them that are reads.
    pub(super) reads: Share,
}

/// One number that two keys can state, as objects or as bytes of them.
struct OneOf {
    objects: (&'static str, Option<u64>),
    bytes: (&'static str, Option<Rate>),
}

impl OneOf {
    /// Objects per second, with the key that stated them; none if neither did. `mean` is the mean size of an
    /// object in bytes.
    fn objects_per_s(&self, mean: f64) -> Result<Option<(&'static str, f64)>, ScenarioError> {
        let (key, objects) = match (self.objects, self.bytes) {
            ((_, None), (_, None)) => return Ok(None),
            ((key, Some(objects)), (_, None)) => (key, objects as f64),
            ((_, None), (key, Some(rate))) => (key, rate.as_bps() as f64 / 8.0 / mean),
            ((objects, Some(_)), (bytes, Some(_))) => {
                let problem =
                    format!("this and {objects} say the same twice; expected one of the two");
                return Err(wrong(bytes, problem));
            }
        };
        if objects > MAX_OBJECTS {
            let problem = format!(
                "{objects:.0} objects of this size per second; expected {MAX_OBJECTS:.0} at the most"
            );
            return Err(wrong(key, problem));
        }
        Ok(Some((key, objects)))
    }
}

impl Stated {
    /// The load, of objects of `mean` bytes on average. It is stated either as a whole with the part that
    /// is read, or as writes and reads; of these one follows from the other where the part is given.
    pub(super) fn load(&self, mean: f64) -> Result<Load, ScenarioError> {
        let total = OneOf {
            objects: ("target.objects_per_s", self.objects_per_s),
            bytes: ("target.rate", self.rate),
        };
        let puts = OneOf {
            objects: ("target.ingest_objects_per_s", self.ingest_objects_per_s),
            bytes: ("target.ingest", self.ingest),
        };
        let gets = OneOf {
            objects: ("target.reads_objects_per_s", self.reads_objects_per_s),
            bytes: ("target.reads", self.reads_rate),
        };
        let (total, puts, gets) =
            (total.objects_per_s(mean)?, puts.objects_per_s(mean)?, gets.objects_per_s(mean)?);
        if let (Some((key, _)), Some((of, _))) = (total, puts.or(gets)) {
            let problem =
                format!("{of} states the load already; expected all requests or writes and reads");
            return Err(wrong(key, problem));
        }
        let part = self.reads.map(Share::as_f64);
        let (puts, gets) = match (total, puts, gets) {
            (Some((_, total)), _, _) => {
                return Ok(Load::of(total, self.reads.unwrap_or_default()));
            }
            (_, Some((_, puts)), None) => match part {
                Some(1.0) => return Err(wrong("data.reads", "nothing is written then")),
                part => (puts, puts * part.map_or(0.0, |part| part / (1.0 - part))),
            },
            (_, None, Some((_, gets))) => match part {
                Some(0.0) => return Err(wrong("data.reads", "nothing is read then")),
                part => (gets * part.map_or(0.0, |part| 1.0 / part - 1.0), gets),
            },
            (_, Some(_), Some(_)) if part.is_some() => {
                let problem = "the part of the reads follows from target.ingest and target.reads; \
                               take one of the three out";
                return Err(wrong("data.reads", problem));
            }
            (_, Some((_, puts)), Some((_, gets))) => (puts, gets),
            (None, None, None) => {
                let ScenarioError { key, problem } = missing("target.objects_per_s");
                let problem = format!(
                    "{problem}, or `rate = \"1GB/s\"`, or `ingest` and `reads` such as `\"1GB/s\"`"
                );
                return Err(wrong(key, problem));
            }
        };
        let total = puts + gets;
        if total > MAX_OBJECTS {
            let problem = format!(
                "{total:.0} objects per second are written and read; expected {MAX_OBJECTS:.0} at the most"
            );
            return Err(wrong("target.ingest", problem));
        }
        let ppm = (gets / total * 1e6).round() as u32;
        // What is asked for at all is never rounded away.
        let ppm = ppm.clamp(u32::from(gets > 0.0), 1_000_000 - u32::from(puts > 0.0));
        Ok(Load::of(total, Share::from_ppm(ppm)))
    }
}

impl Load {
    fn of(objects_per_s: f64, reads: Share) -> Load {
        Load { objects_per_s: objects_per_s.round().max(1.0) as u64, reads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEAN: f64 = 4_000_000.0;

    fn load(state: impl FnOnce(&mut Stated)) -> Result<Load, ScenarioError> {
        let mut stated = Stated::default();
        state(&mut stated);
        stated.load(MEAN)
    }

    fn gigabytes(count: u64) -> Option<Rate> {
        Some(Rate::from_bytes_per_s(count * 1_000_000_000))
    }

    #[test]
    fn writes_and_reads_make_the_whole() {
        let both = load(|stated| {
            stated.ingest = gigabytes(8);
            stated.reads_rate = gigabytes(12);
        });
        let expected = Load { objects_per_s: 5000, reads: Share::from_percent(60) };
        assert_eq!(both, Ok(expected));
        let as_objects = load(|stated| {
            stated.ingest_objects_per_s = Some(2000);
            stated.reads_objects_per_s = Some(3000);
        });
        assert_eq!(as_objects, Ok(expected));
    }

    #[test]
    fn the_part_of_the_reads_makes_one_of_the_other() {
        // 8 GB/s are 30 % of all, so all are 26.67 GB/s.
        let written = load(|stated| {
            stated.ingest = gigabytes(8);
            stated.reads = Some(Share::from_percent(70));
        });
        assert_eq!(written, Ok(Load { objects_per_s: 6667, reads: Share::from_percent(70) }));
        let read = load(|stated| {
            stated.reads_rate = gigabytes(14);
            stated.reads = Some(Share::from_percent(70));
        });
        assert_eq!(read, Ok(Load { objects_per_s: 5000, reads: Share::from_percent(70) }));
        let only = load(|stated| stated.reads_rate = gigabytes(8));
        assert_eq!(only, Ok(Load { objects_per_s: 2000, reads: Share::ONE }));
    }

    #[test]
    fn what_is_rare_is_not_rounded_away() {
        let load = load(|stated| {
            stated.ingest_objects_per_s = Some(1);
            stated.reads_objects_per_s = Some(100_000_000);
        });
        assert_eq!(load.expect("a load").reads, Share::from_ppm(999_999));
    }

    #[test]
    fn what_is_said_twice_or_not_at_all_is_refused() {
        let key = |state: fn(&mut Stated)| load(state).expect_err("it is refused").key;
        assert_eq!(key(|_| ()), "target.objects_per_s");
        assert_eq!(
            key(|stated| {
                stated.objects_per_s = Some(1);
                stated.ingest = gigabytes(1);
            }),
            "target.objects_per_s"
        );
        assert_eq!(
            key(|stated| {
                stated.ingest = gigabytes(1);
                stated.ingest_objects_per_s = Some(1);
            }),
            "target.ingest"
        );
        assert_eq!(
            key(|stated| {
                stated.ingest = gigabytes(1);
                stated.reads_rate = gigabytes(1);
                stated.reads = Some(Share::ZERO);
            }),
            "data.reads"
        );
        assert_eq!(
            key(|stated| {
                stated.ingest = gigabytes(1);
                stated.reads = Some(Share::ONE);
            }),
            "data.reads"
        );
        assert_eq!(key(|stated| stated.rate = gigabytes(1_000_000_000)), "target.rate");
    }
}
