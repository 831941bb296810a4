//! Small registers.

use alloc::vec::Vec;

use slotcast_protocol::TargetId;

use super::history::{Act, Wanted};
use super::{Explored, Faults};
use crate::Voter;

const PUT: fn(u8, char) -> Act = |number, letter| Act::Put(number, letter, Wanted::Always);
const CREATE: fn(u8, char) -> Act = |number, letter| Act::Put(number, letter, Wanted::Absent);

pub(super) fn voters(targets: &[u32]) -> Vec<Voter> {
    let voter = |n: &u32| Voter { target: TargetId(*n), store: u64::from(*n), joined: 1 };
    targets.iter().map(voter).collect()
}

/// Three voters, and what clients do.
fn make(scripts: &[&[Act]], change: fn(&mut Explored)) -> Explored {
    let scripts = scripts.iter().map(|script| script.to_vec()).collect();
    let voters = alloc::vec![voters(&[0, 1, 2])];
    let mut model = Explored { scripts, voters, faults: Faults::default(), mistake: None };
    change(&mut model);
    model
}

/// Two want to create the same name, and one of them asks again.
pub(super) fn creators() -> Explored {
    make(&[&[CREATE(1, 'a')], &[CREATE(2, 'b')]], |model| {
        model.faults = Faults { impatient: 1, retries: 1, ..Faults::default() };
    })
}

/// One puts while another one reads twice; questions come again.
pub(super) fn readers() -> Explored {
    make(&[&[PUT(1, 'a')], &[Act::Read, Act::Read]], |model| model.faults.repeats = true)
}

/// Two want to create the same name, and who is refused looks at it.
pub(super) fn refused() -> Explored {
    make(&[&[CREATE(1, 'a')], &[CREATE(2, 'b'), Act::Read]], |_| {})
}

/// One voter, and answers that are late.
pub(super) fn late() -> Explored {
    make(&[&[CREATE(1, 'a')], &[PUT(2, 'b'), Act::Read]], |model| {
        model.voters = alloc::vec![voters(&[0])];
        model.faults =
            Faults { impatient: 2, retries: 1, repeats: true, late: true, ..Faults::default() };
    })
}

/// What was there when a client looked is there again, and is something else. One voter is enough for that.
pub(super) fn again() -> Explored {
    let if_same = Act::Put(4, 'c', Wanted::Made(1));
    make(&[&[PUT(1, 'a'), if_same], &[PUT(2, 'b'), PUT(3, 'a'), Act::Read]], |model| {
        model.voters = alloc::vec![voters(&[0])];
        model.faults = Faults { impatient: 2, retries: 1, ..Faults::default() };
    })
}

/// A voter crashes.
pub(super) fn crash() -> Explored {
    make(&[&[PUT(1, 'a'), Act::Read]], |model| {
        model.faults = Faults { crashes: 1, impatient: 1, retries: 1, ..Faults::default() };
    })
}

/// A disk is wiped.
pub(super) fn wiped() -> Explored {
    make(&[&[PUT(1, 'a'), Act::Read]], |model| model.faults.wipes = 1)
}

/// The only voter is replaced by another one; a voter crashes, and both clients ask again.
pub(super) fn moved() -> Explored {
    make(&[&[PUT(1, 'a')], &[Act::Read]], |model| {
        model.voters = alloc::vec![voters(&[0]), voters(&[1])];
        model.faults = Faults { crashes: 1, impatient: 2, retries: 1, ..Faults::default() };
    })
}

/// The same with something that is put while registers are brought to the new voter.
pub(super) fn moved_later() -> Explored {
    make(&[&[PUT(1, 'a'), PUT(2, 'b'), Act::Read]], |model| {
        model.voters = alloc::vec![voters(&[0]), voters(&[1])];
        model.faults = Faults { impatient: 1, retries: 1, ..Faults::default() };
    })
}

/// The only voter is replaced while somebody reads; answers are late.
pub(super) fn moved_late() -> Explored {
    make(&[&[PUT(1, 'a'), Act::Read]], |model| {
        model.voters = alloc::vec![voters(&[0]), voters(&[1])];
        model.faults = Faults { impatient: 1, retries: 1, late: true, ..Faults::default() };
    })
}

/// The only voter is replaced, and comes back. Meanwhile the name is deleted and forgotten.
pub(super) fn moved_back() -> Explored {
    make(&[&[PUT(1, 'a'), Act::Delete(2), Act::Read]], |model| {
        model.voters = alloc::vec![voters(&[0]), voters(&[1]), voters(&[0])];
        model.faults = Faults { epochs: 1, forgets: 1, ..Faults::default() };
    })
}

/// One of three voters is replaced, a voter crashes, and two ask again: for a long evening.
pub(super) fn replaced() -> Explored {
    make(&[&[PUT(1, 'a')], &[Act::Read]], |model| {
        model.voters.push(voters(&[1, 2, 3]));
        model.faults = Faults { crashes: 1, impatient: 1, retries: 1, ..Faults::default() };
    })
}

/// A name is deleted and forgotten while something that was begun before is under way. One voter is enough for that.
pub(super) fn forgotten() -> Explored {
    let if_same = Act::Put(2, 'b', Wanted::Made(1));
    make(&[&[PUT(1, 'a'), if_same], &[Act::Delete(3), Act::Read]], |model| {
        model.voters = alloc::vec![voters(&[0])];
        model.faults = Faults { epochs: 1, forgets: 1, ..Faults::default() };
    })
}

/// A name is deleted, forgotten and made anew, while the one who made it first asks again.
pub(super) fn made_anew() -> Explored {
    make(&[&[PUT(1, 'a'), Act::Read], &[Act::Delete(2), PUT(3, 'b'), Act::Read]], |model| {
        model.voters = alloc::vec![voters(&[0])];
        model.faults =
            Faults { impatient: 1, retries: 1, epochs: 1, forgets: 1, ..Faults::default() };
    })
}

/// A name is deleted and forgotten, and two create it anew at the same time.
pub(super) fn created_anew() -> Explored {
    make(&[&[PUT(1, 'a'), Act::Delete(2), CREATE(3, 'b')], &[CREATE(4, 'c')]], |model| {
        model.voters = alloc::vec![voters(&[0])];
        model.faults = Faults { epochs: 1, forgets: 1, ..Faults::default() };
    })
}

/// Some voters have forgotten the name and some have not when it is made anew.
pub(super) fn half_forgotten() -> Explored {
    make(&[&[PUT(1, 'a'), Act::Delete(2), PUT(3, 'b'), Act::Read]], |model| {
        model.faults = Faults { epochs: 1, forgets: 1, ..Faults::default() };
    })
}

/// More than can be visited: five voters that are replaced and come back, and all that may go wrong with messages.
pub(super) fn large() -> Explored {
    let if_same = Act::Put(2, 'b', Wanted::Made(1));
    make(
        &[
            &[CREATE(1, 'a'), if_same, Act::Read, Act::Delete(3)],
            &[CREATE(4, 'c'), Act::Read, Act::Delete(5), CREATE(6, 'd')],
            &[Act::Read, PUT(7, 'e'), Act::Read],
        ],
        |model| {
            let (before, after) = (voters(&[0, 1, 2, 3, 4]), voters(&[3, 4, 5, 6, 7]));
            model.voters = alloc::vec![before.clone(), after, before];
            model.faults = Faults {
                crashes: 3,
                wipes: 0,
                impatient: 3,
                retries: 8,
                epochs: 3,
                forgets: 0,
                repeats: true,
                late: true,
            };
        },
    )
}
