//! The settings of an experiment about stripes.

use slotcast_lab::setting::{Kind, Schema, Setting, choice, count, share, size, span};
use slotcast_lab::{Seeds, choice, setting};
use slotcast_units::{Share, Size, Span};

use crate::{Bottleneck, Mode, Scenario, SecondCache, Units, check};

/// What a file sets.
#[derive(Debug, Clone, Default)]
pub(super) struct Setup {
    pub(super) scenario: Scenario,
    pub(super) seeds: Seeds,
}

/// The settings of the simulated stripes.
pub(super) static STRIPES: Schema<Setup> = Schema {
    model: "stripes",
    sections: &[
        ("stripes", "the stripes, and who keeps parity and data together"),
        ("clients", "who writes, and what"),
        ("network", "the links of every node"),
        ("disk", "the disk of each server"),
        ("cache", "what servers have in memory"),
        ("costs", "what computing and locks cost"),
        ("patience", "how long the machines wait"),
        ("run", "how long"),
        ("seeds", "replications: every point runs once with each seed"),
    ],
    settings: KEYS,
    blocks: None,
    check: |setup| check(&setup.scenario),
};

choice!(Mode {
    StripeLock = "stripe-lock", "clients keep parity and data together, with a lock for each stripe";
    Coordinated = "coordinated", "data and parity servers settle the order among themselves";
});
choice!(Units {
    Own = "own", "a client always writes the same unit of a stripe";
    Any = "any", "a client writes any unit, each with the same chance";
});
choice!(Bottleneck {
    Receiver = "receiver", "a receiver takes in no more than one message alone does";
    Stream = "stream", "one message is slower than the link, several fill it";
});
choice!(SecondCache {
    None = "none", "what is not in memory is read from the disk";
    Ssd = "ssd", "what is not in memory is read from an SSD";
});

const HOUR: Span = Span::from_secs(3600);
const TIME: Kind = span(Span::ZERO, HOUR);
const LONGER: Kind = span(Span::from_ns(1), HOUR);
const PART: Kind = share(Share::ZERO, Share::ONE);
const EXPONENT: Kind = share(Share::ZERO, Share::from_percent(400));
const UNIT: Kind = size(Size::from_bytes(1), Size::from_mib(1024));

const SUNO: &str = "Overcoming write penalties, 2012: cluster Suno";
const OURS: &str = "our choice";

macro_rules! key {
    ($section:ident . $name:ident, $($rest:tt)*) => {
        setting!(
            concat!(stringify!($section), ".", stringify!($name)),
            scenario.$section.$name,
            $($rest)*
        )
    };
}

static KEYS: &[Setting<Setup>] = &[
    key!(stripes.mode, choice::<Mode>(), OURS, "Who keeps parity and data together."),
    key!(stripes.data, count(1, 254), SUNO, "Data units of a stripe."),
    key!(stripes.parity, count(1, 16), SUNO, "Parity units of a stripe."),
    key!(stripes.unit, UNIT, SUNO, "Size of a unit."),
    key!(
        stripes.count,
        count(1, 100_000),
        SUNO,
        "Number of stripes; each begins at the next server."
    ),
    key!(
        clients.count,
        count(1, 10_000),
        SUNO,
        "Number of clients, each with one write after another."
    ),
    key!(clients.units, choice::<Units>(), SUNO, "Which unit of a stripe a client writes."),
    key!(
        clients.zipf,
        EXPONENT,
        OURS,
        "Exponent of Zipf's law over the stripes; 0% chooses each with the same chance."
    ),
    key!(network.transfer, LONGER, SUNO, "Time of a message of 1 MiB."),
    key!(
        network.transfer_pair,
        LONGER,
        SUNO,
        "Time of two messages of 1 MiB from one sender to two receivers at once."
    ),
    key!(
        network.message,
        TIME,
        SUNO,
        "Time of a small message, and the part of the other two that does not depend on the size."
    ),
    key!(network.bottleneck, choice::<Bottleneck>(), OURS, "What limits a message that is alone."),
    key!(disk.write, TIME, SUNO, "Time to write 1 MiB."),
    key!(disk.spread, TIME, SUNO, "How much shorter or longer a write may be: evenly distributed."),
    key!(disk.read, TIME, OURS, "Time to read 1 MiB."),
    key!(disk.access, TIME, OURS, "The part of both that does not depend on the size."),
    key!(cache.data_hits, PART, OURS, "How often the content of a data unit is in memory."),
    key!(cache.parity_hits, PART, OURS, "How often the content of a parity unit is in memory."),
    key!(cache.second, choice::<SecondCache>(), OURS, "Where contents are that are not in memory."),
    key!(
        cache.ssd_read,
        TIME,
        OURS,
        "Time to read 1 MiB from the SSD.",
        &[("cache.second", &["ssd"])]
    ),
    key!(
        cache.prefetch,
        Kind::Switch,
        OURS,
        "Whether a data server fetches the old content while the new one arrives; coordinated mode only.",
        &[("stripes.mode", &["coordinated"])]
    ),
    key!(costs.parity, TIME, SUNO, "Time to compute a unit of 1 MiB from others."),
    key!(
        costs.lock,
        TIME,
        SUNO,
        "Time to acquire and to release a lock, the four messages included."
    ),
    key!(
        patience.retry,
        LONGER,
        OURS,
        "How long machines wait for an answer before they ask again."
    ),
    key!(patience.lease, LONGER, OURS, "How long a client may hold a lock."),
    key!(run.warmup, TIME, OURS, "Simulated time at the start that is not measured."),
    key!(run.length, LONGER, OURS, "When clients stop."),
    setting!("seeds.first", seeds.first, count(0, u64::MAX), OURS, "The first seed."),
    setting!("seeds.count", seeds.count, count(1, 100_000), OURS, "Number of seeds."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use miette::Diagnostic;

    #[test]
    fn the_schema_is_sound() {
        assert_eq!(STRIPES.problems(), Vec::<String>::new());
    }

    fn problem(text: &str) -> (String, Option<String>) {
        let read = STRIPES.read("x.toml", text, &[], &[]);
        let error = read.and_then(|draft| draft.points()).expect_err("it is wrong");
        let help = error.help().map(|help| help.to_string());
        let label = error.labels().and_then(|mut labels| labels.next()?.label().map(String::from));
        (error.to_string(), label.or(help))
    }

    #[test]
    fn a_sweep_crosses_its_blocks() {
        let text = "[clients]\ncount = 3\n[[sweep]]\nstripes.data = [4, 8]\nstripes.parity = [2, 3]\n\
                    [[sweep]]\nstripes.unit = [\"4KiB\", \"1MiB\"]\n";
        let read = STRIPES.read("x.toml", text, &[], &[]).and_then(|draft| draft.points());
        let points = read.expect("it is right").points;
        let found: Vec<_> = points
            .iter()
            .map(|point| &point.scenario.scenario.stripes)
            .map(|stripes| (stripes.data, stripes.unit.as_bytes() >> 10))
            .collect();
        assert_eq!(found, [(4, 4), (4, 1024), (8, 4), (8, 1024)]);
        assert!(points.iter().all(|point| point.scenario.scenario.clients.count == 3));
    }

    #[test]
    fn errors_name_the_key_the_value_and_what_is_right() {
        let (message, label) = problem("[disk]\nwrites = \"1ms\"\n");
        assert_eq!(message, "unknown key `disk.writes`");
        assert_eq!(label.as_deref(), Some("[disk] has the keys write, spread, read, access"));
        let (message, _) = problem("[stripes]\ndata = 250\nparity = 9\n");
        assert!(message.contains("at most 16 parity units and 255 units in all"), "{message}");
        let (message, _) = problem("[costs]\nlock = \"0.1ms\"\n");
        assert!(message.contains("shorter than its four messages"), "{message}");
        let (message, _) = problem("[run]\nlength = \"1s\"\n[[sweep]]\nrun.length = [\"2s\"]\n");
        assert_eq!(message, "duplicate key `run.length`");
        assert_eq!(problem("[[sweep]]\nseeds.count = [1]\n").0, "seeds cannot be swept");
    }
}
