//! The crates of the workspace, from the inside out.

/// A crate, and what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crate {
    pub(crate) package: &'static str,
    pub(crate) folder: &'static str,
    pub(crate) ring: u8,
    pub(crate) part: Part,
}

/// A part of the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// What all others build on.
    Base,
    /// The product: an object store.
    Store,
    /// The event kernel.
    Kernel,
    /// Models of clusters.
    Simulator,
    /// What people ask of models, and what they read.
    Lab,
    /// Other systems than the store.
    Study,
    /// The binary and the Python package, which bring all together.
    Binary,
}

impl Part {
    /// Whose crates it may depend on, besides its own.
    pub(crate) fn may_use(self) -> &'static [Part] {
        use Part::{Base, Binary, Kernel, Lab, Simulator, Store, Study};
        match self {
            Base => &[],
            Store | Kernel => &[Base],
            Simulator => &[Base, Store, Kernel],
            Lab => &[Base, Kernel, Simulator],
            Study => &[Base, Kernel, Lab],
            Binary => &[Base, Store, Kernel, Simulator, Lab, Study],
        }
    }
}

const fn row(package: &'static str, folder: &'static str, ring: u8, part: Part) -> Crate {
    Crate { package, folder, ring, part }
}

/// A crate may depend on those above it; its tests and examples, too.
pub(crate) const CRATES: &[Crate] = &[
    row("slotcast-units", "crates/units", 1, Part::Base),
    row("slotcast-random", "crates/random", 1, Part::Base),
    row("slotcast-schedule", "crates/schedule", 1, Part::Store),
    row("slotcast-policy", "crates/policy", 1, Part::Store),
    row("slotcast-protocol", "crates/protocol", 1, Part::Store),
    row("slotcast-disk", "crates/disk", 1, Part::Store),
    row("slotcast-transport", "crates/transport", 1, Part::Store),
    row("slotcast-object", "crates/object", 1, Part::Store),
    row("slotcast-job", "crates/job", 1, Part::Store),
    row("slotcast-faults", "crates/faults", 1, Part::Store),
    row("slotcast-store", "crates/store", 1, Part::Store),
    row("slotcast-member", "crates/member", 1, Part::Store),
    row("slotcast-schedulers", "studies/lustre/schedulers", 1, Part::Study),
    row("slotcast-stripe", "studies/stripes/machines", 1, Part::Study),
    row("slotcast-flash", "crates/flash", 1, Part::Simulator),
    row("slotcast-engine", "crates/engine", 2, Part::Kernel),
    row("slotcast-scenario", "crates/scenario", 2, Part::Simulator),
    row("slotcast-peers", "crates/peers", 2, Part::Simulator),
    row("slotcast-sim", "crates/sim", 2, Part::Simulator),
    row("slotcast-page", "crates/page", 2, Part::Store),
    row("slotcast-node", "crates/node", 2, Part::Store),
    row("slotcast-s3", "crates/s3", 2, Part::Store),
    row("slotcast-lossy", "crates/lossy", 3, Part::Store),
    row("slotcast-tune", "crates/tune", 3, Part::Lab),
    row("slotcast-lab", "crates/lab", 3, Part::Lab),
    row("slotcast-plan", "crates/plan", 3, Part::Lab),
    row("slotcast-trace", "crates/trace", 3, Part::Lab),
    row("slotcast-evaluations", "crates/evaluations", 3, Part::Lab),
    row("slotcast-stripes", "studies/stripes", 3, Part::Study),
    row("slotcast-networks", "studies/networks", 3, Part::Study),
    row("slotcast-lustre", "studies/lustre", 3, Part::Study),
    row("slotcast-report", "crates/report", 3, Part::Lab),
    row("slotcast-catalogue", "crates/catalogue", 3, Part::Binary),
    row("slotcast-python", "crates/python", 3, Part::Binary),
    row("slotcast", "crates/cli", 3, Part::Binary),
];

/// The crates of ring 1, which decide.
pub(crate) fn ring_1() -> impl Iterator<Item = &'static Crate> {
    CRATES.iter().filter(|known| known.ring == 1)
}
