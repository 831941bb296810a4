//! Which members take a chunk, and when.
//!
//! Source: SURGE's group proxy (model "ma"): the members that would start to write the chunk
//! earliest, all in the same window. With [`ProxyChoice::LeastIdle`] the one among them whose link
//! would have to wait longest for the others may be replaced by the next best.

use alloc::vec::Vec;

use slotcast_units::{Size, Span, Time};

use super::member::Member;
use crate::group::Members;
use crate::ids::{ChunkId, finish};
use crate::message::Taken;
use crate::timing::Timing;
use crate::window::Window;

/// How a proxy chooses members for a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProxyChoice {
    /// Those that would start to write it earliest.
    #[default]
    EarliestWrite,
    /// Of one member more than wanted, the set whose links are idle for the shortest time together
    /// before the common window.
    LeastIdle,
}

/// What to look for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) now: Time,
    /// How many members.
    pub(super) replicas: usize,
    /// Members that are not to be chosen.
    pub(super) skip: Members,
    pub(super) chunk: ChunkId,
    pub(super) size: Size,
    /// Nothing can be sent before.
    pub(super) from: Time,
    /// When the initiator's link is taken.
    pub(super) taken: Taken,
    /// Width of the window.
    pub(super) width: Span,
    /// Windows that start later than this from now are none.
    pub(super) horizon: Span,
}

/// One member that could take the chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scored {
    position: u8,
    domain: u32,
    /// When it would start to write.
    writes: Time,
    /// When its window would begin if no other member were chosen.
    begins: Time,
    tie: u64,
}

/// Space to choose in, kept from one request to the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    scored: Vec<Scored>,
    picked: Vec<Scored>,
}

/// Finds members in different failure domains, as many as there are up to the wanted number, and a
/// window in which all of them and the initiator's link are free. None if nobody is.
///
/// O(m · (n + m)) for m members with n grants each.
pub(super) fn choose(
    members: &[Member],
    wanted: &Wanted,
    timing: &Timing,
    choice: ProxyChoice,
    scratch: &mut Scratch,
) -> Option<(Window, Members)> {
    let Scratch { scored, picked } = scratch;
    let transfer = timing.transfer(wanted.size);
    let latest = wanted.now.saturating_add(wanted.horizon);
    let tie = wanted.chunk.mix(3);

    scored.clear();
    for (member, position) in members.iter().zip(0u8..) {
        if wanted.skip.contains(position) || !member.has_room() {
            continue;
        }
        let disk_free = member.disk_free(wanted.now, timing, wanted.horizon);
        let delay = member.disk_delay(wanted.now, disk_free, wanted.size, transfer);
        let from = wanted.from.max(wanted.now.saturating_add(delay));
        let begins = first_common(&[member].into_iter(), from, wanted, transfer);
        if begins <= latest {
            let writes = disk_free.max(begins + transfer + timing.trip);
            let tie = finish(tie ^ u64::from(position));
            scored.push(Scored { position, domain: member.domain, writes, begins, tie });
        }
    }
    scored.sort_unstable_by_key(|s| (s.writes, s.begins, s.tie, s.position));

    let most = match choice {
        ProxyChoice::EarliestWrite => wanted.replicas,
        ProxyChoice::LeastIdle => wanted.replicas + 1,
    };
    picked.clear();
    for member in scored.iter() {
        if picked.len() < most && picked.iter().all(|p| p.domain != member.domain) {
            picked.push(*member);
        }
    }
    let common = |picked: &[Scored]| {
        let from = picked.iter().map(|p| p.begins).fold(wanted.from, Time::max);
        let picked = picked.iter().map(|p| &members[usize::from(p.position)]);
        first_common(&picked, from, wanted, transfer)
    };
    if picked.len() > wanted.replicas {
        leave_one_out(picked, common);
    }
    let start = common(picked);
    if picked.is_empty() || start > latest {
        return None;
    }
    let mut chosen = Members::NONE;
    picked.iter().for_each(|p| chosen.insert(p.position));
    Some((Window::new(start, wanted.width), chosen))
}

/// Takes out the one without whom the links of the others are idle for the shortest time; the last,
/// which would write latest, if that is the same.
fn leave_one_out(picked: &mut Vec<Scored>, common: impl Fn(&[Scored]) -> Time) {
    let last = picked.len() - 1;
    let mut best = (Span::MAX, last);
    for out in (0..=last).rev() {
        picked.swap(out, last);
        let rest = &picked[..last];
        let start = common(rest);
        let idle = rest.iter().fold(Span::ZERO, |sum, member| {
            Span::from_ns(sum.as_ns().saturating_add(start.saturating_since(member.begins).as_ns()))
        });
        picked.swap(out, last);
        if idle < best.0 {
            best = (idle, out);
        }
    }
    picked.remove(best.1);
}

/// The first time from `from` on at which all of `members` and the initiator's link are free.
fn first_common<'a>(
    members: &(impl Iterator<Item = &'a Member> + Clone),
    from: Time,
    wanted: &Wanted,
    transfer: Span,
) -> Time {
    let mut start = from;
    loop {
        let link_free = wanted.taken.free_from(start, transfer);
        let free =
            members.clone().fold(link_free, |start, member| member.hole(start, wanted.width));
        // Nobody had to wait for anybody: this is the time.
        if free == start {
            return start;
        }
        start = free;
    }
}
