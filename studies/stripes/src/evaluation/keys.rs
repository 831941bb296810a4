//! Everything that an experiment about stripes can say.

use slotcast_lab::setting::{Choice, Field, Kind, Range, Value};
use slotcast_lab::{Seeds, choice};
use slotcast_units::{Share, Size, Span};

use crate::{Bottleneck, Mode, Scenario, SecondCache, Units};

/// What a file sets.
#[derive(Debug, Clone, Default)]
pub(super) struct Setup {
    pub(super) scenario: Scenario,
    pub(super) seeds: Seeds,
}

/// One key of a file.
#[derive(Debug)]
pub(super) struct StripeKey {
    /// `section.name`.
    pub(super) key: &'static str,
    /// Unit and range.
    pub(super) kind: Kind,
    pub(super) set: fn(&mut Setup, Value),
}

impl StripeKey {
    pub(super) fn section(&self) -> &'static str {
        self.key.split_once('.').map_or(self.key, |(section, _)| section)
    }
}

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

const fn count(min: u64, max: u64) -> Kind {
    Kind::Count(Range { min, max })
}

const fn choice<T: Choice>() -> Kind {
    Kind::Choice(T::WORDS)
}

const HOUR: Span = Span::from_secs(3600);
const TIME: Kind = Kind::Span(Range { min: Span::ZERO, max: HOUR });
const LONGER: Kind = Kind::Span(Range { min: Span::from_ns(1), max: HOUR });
const PART: Kind = Kind::Share(Range { min: Share::ZERO, max: Share::ONE });
const EXPONENT: Kind = Kind::Share(Range { min: Share::ZERO, max: Share::from_percent(400) });
const UNIT: Kind = Kind::Size(Range { min: Size::from_bytes(1), max: Size::from_mib(1024) });

macro_rules! key {
    ($section:ident . $name:ident, $kind:expr) => {
        key!(@ scenario.$section.$name, concat!(stringify!($section), ".", stringify!($name)), $kind)
    };
    (@ $($path:ident).*, $key:expr, $kind:expr) => {
        StripeKey {
            key: $key,
            kind: $kind,
            set: |setup, value| setup.$($path).* = Field::from_value(value),
        }
    };
}

/// Every key, section by section.
pub(super) static KEYS: &[StripeKey] = &[
    key!(stripes.mode, choice::<Mode>()),
    key!(stripes.data, count(1, 254)),
    key!(stripes.parity, count(1, 16)),
    key!(stripes.unit, UNIT),
    key!(stripes.count, count(1, 100_000)),
    key!(clients.count, count(1, 10_000)),
    key!(clients.units, choice::<Units>()),
    key!(clients.zipf, EXPONENT),
    key!(network.transfer, LONGER),
    key!(network.transfer_pair, LONGER),
    key!(network.message, TIME),
    key!(network.bottleneck, choice::<Bottleneck>()),
    key!(disk.write, TIME),
    key!(disk.spread, TIME),
    key!(disk.read, TIME),
    key!(disk.access, TIME),
    key!(cache.data_hits, PART),
    key!(cache.parity_hits, PART),
    key!(cache.second, choice::<SecondCache>()),
    key!(cache.ssd_read, TIME),
    key!(cache.prefetch, Kind::Switch),
    key!(costs.parity, TIME),
    key!(costs.lock, TIME),
    key!(patience.retry, LONGER),
    key!(patience.lease, LONGER),
    key!(run.warmup, TIME),
    key!(run.length, LONGER),
    key!(@ seeds.first, "seeds.first", count(0, u64::MAX)),
    key!(@ seeds.count, "seeds.count", count(1, 100_000)),
];

/// The sections, in the order of the keys.
pub(super) fn sections() -> Vec<&'static str> {
    let mut sections: Vec<_> = KEYS.iter().map(StripeKey::section).collect();
    sections.dedup();
    sections
}

/// The key called `name`.
pub(super) fn find(name: &str) -> Option<&'static StripeKey> {
    KEYS.iter().find(|known| known.key == name)
}
