use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

const SIZE: u64 = 64 << 10;

/// A host with three places to mount disks at, each of which has a number of writes on it.
struct Host {
    register: Option<Register>,
    /// What lies in each folder, and how many chunks it holds.
    mounted: [(Contents, u32); 3],
    /// Disks that are not mounted.
    away: [Option<(Contents, u32)>; 3],
    /// Counts identities.
    made: u8,
    /// Chunks that each target should hold.
    acknowledged: [u32; 3],
}

#[derive(Debug, Clone, Copy)]
enum Mishap {
    /// A disk is not mounted: its mount point is empty, or not there.
    Unmount(usize, bool),
    Mount(usize),
    Swap(usize, usize),
    LoseRegister,
    /// Somebody gives up what is not there.
    Replace(usize),
    /// A crash between the register and the label.
    CrashInFormat,
}

fn mishaps() -> impl Strategy<Value = Vec<Mishap>> {
    let one = prop_oneof![
        (0..3_usize, any::<bool>()).prop_map(|(disk, gone)| Mishap::Unmount(disk, gone)),
        (0..3_usize).prop_map(Mishap::Mount),
        (0..3_usize, 0..3_usize).prop_map(|(a, b)| Mishap::Swap(a, b)),
        Just(Mishap::LoseRegister),
        (0..3_usize).prop_map(Mishap::Replace),
        Just(Mishap::CrashInFormat),
    ];
    prop::collection::vec(one, 1..12)
}

impl Host {
    fn new() -> Host {
        let new = || (Contents::Empty, 0);
        Host {
            register: None,
            mounted: [new(), new(), new()],
            away: [None, None, None],
            made: 0,
            acknowledged: [0; 3],
        }
    }

    fn admit(&mut self) -> Admission {
        let placed = |n: u8| {
            self.made += 1;
            Placed {
                target: TargetId(u32::from(n)),
                seat: Seat { group: GroupId(0), position: n },
                new: Identity([self.made; 32]),
            }
        };
        let placed: Vec<Placed> = (0..3).map(placed).collect();
        let contents = self.mounted.iter().map(|(contents, _)| Some(contents));
        let targets: Vec<_> = placed.into_iter().zip(contents).collect();
        let cluster = ClusterId::of_key(&[3; 32]);
        let new = ClusterId::from_bytes([9; 16]);
        admit(self.register.as_ref(), (Some(&cluster), &new), &targets, SIZE)
    }

    /// Starts; every target that it has takes a chunk. Gives which it has.
    fn start(&mut self, crashes: bool) -> Vec<bool> {
        let Admission { mut register, verdicts } = self.admit();
        self.register = Some(register.clone());
        let mut used = Vec::new();
        for (n, verdict) in verdicts.into_iter().enumerate() {
            let is_used = match verdict {
                Verdict::Format(_) if crashes => false,
                Verdict::Format(label) => {
                    assert_eq!(self.acknowledged[n], 0, "what target {n} holds is given up");
                    register = register.formatted(TargetId(n as u32), label.identity);
                    self.mounted[n].0 = Contents::Labelled { label, broken_copy: None };
                    true
                }
                Verdict::Open(label, _) => {
                    assert_eq!(
                        self.mounted[n].1, self.acknowledged[n],
                        "target {n} is another one"
                    );
                    self.mounted[n].0 = Contents::Labelled { label, broken_copy: None };
                    true
                }
                Verdict::Refuse(_) | Verdict::Unreadable => false,
            };
            if is_used {
                self.mounted[n].1 += 1;
                self.acknowledged[n] += 1;
            }
            used.push(is_used);
        }
        self.register = Some(register);
        used
    }

    /// The disk of a target that is given up does not come back, wherever it is. While the register is there it would be
    /// told from the new one (`what_is_given_up_by_mistake_is_kept`); without it nobody could know.
    fn throw_away(&mut self, target: TargetId) {
        let is_its = |contents: &Contents| {
            let Contents::Labelled { label, .. } = contents else { return false };
            label.owner.as_ref().is_some_and(|owner| owner.target == target)
        };
        for disk in self.mounted.iter_mut().filter(|disk| is_its(&disk.0)) {
            *disk = (Contents::Empty, 0);
        }
        for disk in &mut self.away {
            disk.take_if(|disk| is_its(&disk.0));
        }
    }

    fn suffer(&mut self, mishap: Mishap) {
        match mishap {
            Mishap::Unmount(n, is_gone) if self.away[n].is_none() => {
                let left = if is_gone { Contents::Missing } else { Contents::Empty };
                self.away[n] = Some(core::mem::replace(&mut self.mounted[n], (left, 0)));
            }
            Mishap::Mount(n) => {
                let is_vacant = matches!(self.mounted[n].0, Contents::Empty | Contents::Missing);
                if let Some(disk) = self.away[n].take_if(|_| is_vacant) {
                    self.mounted[n] = disk;
                }
            }
            Mishap::Swap(a, b) => self.mounted.swap(a, b),
            // With no disk mounted nobody could know that the store is not new.
            Mishap::LoseRegister
                if self.mounted.iter().any(|(contents, _)| {
                    matches!(contents, Contents::Labelled { label, .. } if label.owner.is_some())
                }) =>
            {
                self.register = None;
            }
            Mishap::Replace(n) => {
                let Admission { register, verdicts } = self.admit();
                let is_vacant = matches!(self.mounted[n].0, Contents::Empty | Contents::Missing);
                self.made += 1;
                let new = Identity([self.made; 32]);
                let target = TargetId(n as u32);
                if let Ok(register) =
                    register.replaced(target, (&verdicts[n], is_vacant), false, new)
                {
                    self.register = Some(register);
                    self.acknowledged[n] = 0;
                    self.throw_away(target);
                }
            }
            Mishap::CrashInFormat => drop(self.start(true)),
            Mishap::Unmount(..) | Mishap::LoseRegister => {}
        }
    }
}

proptest! {
    /// Whatever is mounted where: no target begins with nothing but by a person's word, none is taken for another,
    /// and when all disks are back all are used.
    #[test]
    fn no_target_is_lost_or_taken_for_another(mishaps in mishaps()) {
        let mut host = Host::new();
        host.start(false);
        for mishap in mishaps {
            host.suffer(mishap);
            host.start(false);
        }
    }
}

#[test]
fn what_is_given_up_by_mistake_is_kept() {
    let mut host = Host::new();
    host.start(false);
    let Admission { register, verdicts } = host.admit();
    let new = Identity([77; 32]);
    let replaced =
        |insists| register.clone().replaced(TargetId(1), (&verdicts[1], false), insists, new);
    assert_eq!(replaced(false), Err(NotReplaced::IsThere));
    let given_up = replaced(true).expect("somebody insists");
    assert_eq!(given_up.incarnation(TargetId(1)), 2);
    // The old disk is another target now.
    host.register = Some(given_up);
    host.acknowledged[1] = 0;
    assert_eq!(host.start(false), [true, false, true]);
}
