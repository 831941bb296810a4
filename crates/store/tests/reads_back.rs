//! A disk that takes what it cannot give back: what is written in the place of what could not be read is read back.

mod one_store;

use bytes::Bytes;
use slotcast_faults::{DiskFaults, OpFaults, Transient};
use slotcast_protocol::Claim;
use slotcast_store::{
    Config, Content, DiskError, Effect, Identity, Input, ReadError, StoreStatus, Ticket,
};

use one_store::Rig;

const TICKET: Ticket = Ticket(0);
const STORED: Effect = Effect::Stored { ticket: TICKET, already: false };

impl Rig {
    fn open() -> Rig {
        Rig::new(Config { segment_size: 64 << 10, ..Config::new(Identity([9; 32])) })
    }

    /// What it says to `input`.
    fn says(&mut self, input: Input) -> Vec<Effect> {
        self.told.clear();
        self.tell(input);
        std::mem::take(&mut self.told)
    }

    fn put(&mut self, n: u8) -> Vec<Effect> {
        self.says(Input::Put(TICKET, content(n), None, Claim::Bare))
    }

    fn get(&mut self, n: u8) -> Vec<Effect> {
        self.says(Input::Get(TICKET, content(n).chunk()))
    }

    fn cannot_read(&mut self, cannot: bool) {
        let lasting = cannot.then_some(DiskError::Failed);
        let read_content = OpFaults { lasting, ..OpFaults::default() };
        self.disk.faults = DiskFaults { read_content, ..DiskFaults::default() };
    }
}

fn content(n: u8) -> Content {
    Content::of(Bytes::from(vec![n; 1000]))
}

fn is_unreadable(told: &[Effect], n: u8) -> bool {
    told.iter()
        .any(|effect| matches!(effect, Effect::Unreadable(of, _) if *of == content(n).chunk()))
}

/// One chunk is all that is there, so that no other read shows what the disk is like.
#[test]
fn a_disk_that_cannot_read_what_was_written_anew_takes_no_more() {
    let mut rig = Rig::open();
    assert_eq!(rig.put(1), [STORED]);
    rig.cannot_read(true);
    let told = rig.get(1);
    assert!(told.contains(&Effect::NotFetched(TICKET, ReadError::Disk)), "{told:?}");
    assert!(is_unreadable(&told, 1) && !rig.store.holds(&content(1).chunk()));
    let mut puts = 0;
    while rig.store.status() == StoreStatus::Open {
        puts += 1;
        assert!(puts < 20, "it is found out");
        let told = rig.put(1);
        assert_eq!(told.first(), Some(&STORED), "it is on the disk");
        assert!(is_unreadable(&told, 1), "and then it is read back: {told:?}");
        assert!(!rig.store.holds(&content(1).chunk()), "it does not count");
    }
    assert_eq!(rig.store.status(), StoreStatus::ReadOnly(DiskError::Failed));
}

/// Other chunks can be read in between.
#[test]
fn that_others_can_be_read_is_no_excuse() {
    let mut rig = Rig::open();
    for n in 1..=2 {
        assert_eq!(rig.put(n), [STORED]);
    }
    let mut puts = 0;
    rig.cannot_read(true);
    rig.get(1);
    while rig.store.status() == StoreStatus::Open {
        puts += 1;
        assert!(puts < 20, "it is found out");
        rig.put(1);
        rig.cannot_read(false);
        assert_eq!(rig.get(2), [Effect::Fetched(TICKET, content(2))]);
        rig.cannot_read(true);
    }
}

#[test]
fn a_disk_that_reads_what_was_written_anew_is_a_good_one() {
    let mut rig = Rig::open();
    assert_eq!(rig.put(1), [STORED]);
    for _ in 0..20 {
        rig.cannot_read(true);
        assert!(is_unreadable(&rig.get(1), 1));
        assert!(!rig.store.reads_well());
        rig.cannot_read(false);
        assert_eq!(rig.put(1), [STORED], "nothing is said of what is read back");
        assert!(rig.store.holds(&content(1).chunk()) && rig.store.reads_well());
    }
    assert_eq!(rig.store.status(), StoreStatus::Open);
    // One that is read with luck alone is held for good as long as it is lucky with what was written anew.
    let transient = Some(Transient { one_in: 4, error: DiskError::Failed });
    rig.disk.faults.read_content = OpFaults { transient, ..OpFaults::default() };
    let got = (0..50).filter(|_| rig.get(1).contains(&Effect::Fetched(TICKET, content(1))));
    assert!(got.count() > 40);
}
