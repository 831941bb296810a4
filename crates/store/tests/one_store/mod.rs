//! A store and its disk.

use slotcast_faults::SimulatedDisk;
use slotcast_store::{Config, Effect, Input, Store};

/// Whatever is under way is done before the next request.
pub(crate) struct Rig {
    config: Config,
    pub(crate) store: Store,
    pub(crate) disk: SimulatedDisk,
    /// What it has said.
    pub(crate) told: Vec<Effect>,
}

impl Rig {
    pub(crate) fn new(config: Config) -> Rig {
        let mut effects = Vec::new();
        let store = Store::open(config, &mut effects);
        let mut rig = Rig { config, store, disk: SimulatedDisk::new(1), told: Vec::new() };
        rig.settle(effects);
        rig
    }

    /// Starts again, with the same disk.
    #[allow(dead_code, reason = "not every test starts again")]
    pub(crate) fn restart(&mut self) {
        self.disk.crash();
        let mut effects = Vec::new();
        self.store = Store::open(self.config, &mut effects);
        self.settle(effects);
    }

    pub(crate) fn tell(&mut self, input: Input) {
        let mut effects = Vec::new();
        self.store.handle(input, &mut effects);
        self.settle(effects);
    }

    fn settle(&mut self, mut effects: Vec<Effect>) {
        loop {
            for effect in std::mem::take(&mut effects) {
                match effect {
                    Effect::Disk(id, op) => self.disk.ask(id, op),
                    Effect::Work => {
                        let work = self.store.take_work().expect("there is some");
                        self.store.handle(Input::Worked(work.run()), &mut effects);
                    }
                    other => self.told.push(other),
                }
            }
            if effects.is_empty() {
                let Some((id, result)) = self.disk.step() else { return };
                self.store.handle(Input::Disk(id, result), &mut effects);
            }
        }
    }
}
