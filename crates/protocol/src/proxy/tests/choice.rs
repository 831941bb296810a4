//! Whom a proxy chooses, compared with a search through all times.

use alloc::vec::Vec;

use proptest::prelude::*;
use slotcast_units::Rate;

use super::super::choose::{Wanted, choose};
use super::*;

/// What a member needs to take the chunk, for comparison.
fn alone(member: &Member, wanted: &Wanted, timing: &Timing) -> (Time, Time) {
    let transfer = timing.transfer(wanted.size);
    let free = member.disk_free(wanted.now, timing, wanted.horizon);
    let delay = member.disk_delay(wanted.now, free, wanted.size, transfer);
    let from = wanted.from.max(wanted.now + delay);
    let begins = (from.as_ns()..)
        .map(Time::from_ns)
        .find(|&start| {
            wanted.taken.free_from(start, transfer) == start
                && member.hole(start, wanted.width) == start
        })
        .unwrap();
    (free.max(begins + transfer + timing.trip), begins)
}

/// A byte takes a nanosecond on link and disk.
fn byte_a_nanosecond() -> Timing {
    Timing {
        control: Span::from_ns(1),
        trip: Span::from_ns(2),
        data_rate: Rate::from_bps(8_000_000_000),
        frame: Size::from_bytes(3),
    }
}

/// Members that have granted windows of some width after some gap, and whose disks are busy until then.
fn members_with(
    config: &ProxyConfig,
    grants: &[Vec<(u64, u64)>],
    disks: &[u64],
    rate: Rate,
) -> Vec<Member> {
    let request = |serial| (RequestId { initiator: InitiatorId(1), serial }, 0);
    let mut members: Vec<Member> =
        config.domains.iter().map(|&domain| Member::new(domain, config)).collect();
    for ((member, grants), (&done, position)) in
        members.iter_mut().zip(grants).zip(disks.iter().zip(0u8..))
    {
        let said = ProxyReport {
            disk_done: Time::from_ns(done),
            disk_rate: rate,
            ..report(position, Occasion::Asked, Term::NONE)
        };
        member.reported(Time::ZERO, &said, Term::NONE, config.calendar.horizon);
        for (&(gap, width), serial) in grants.iter().zip(0..) {
            let width = Span::from_ns(width);
            let start = member.hole(Time::from_ns(gap), width);
            let payload = Size::from_bytes(width.as_ns());
            member.grant(Time::ZERO, request(serial), Window::new(start, width), payload);
        }
    }
    members
}

fn are_apart(members: &[Member], set: &[usize]) -> bool {
    let mut domains: Vec<u32> = set.iter().map(|&i| members[i].domain).collect();
    domains.sort_unstable();
    domains.dedup();
    domains.len() == set.len()
}

/// The first time at which all of `set` and the initiator are free.
fn first_common(members: &[Member], wanted: &Wanted, timing: &Timing, set: &[usize]) -> Time {
    let is_common = |start: &Time| {
        wanted.taken.free_from(*start, timing.transfer(wanted.size)) == *start
            && set.iter().all(|&i| {
                *start >= alone(&members[i], wanted, timing).1
                    && members[i].hole(*start, wanted.width) == *start
            })
    };
    (9..).map(Time::from_ns).find(is_common).unwrap()
}

/// How long the members of `set` wait, all together, from when each could begin to when all can.
fn idle(members: &[Member], wanted: &Wanted, timing: &Timing, set: &[usize]) -> u64 {
    let start = first_common(members, wanted, timing, set);
    set.iter().map(|&i| (start - alone(&members[i], wanted, timing).1).as_ns()).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// The members chosen are those that would write first, and the window is the first that suits
    /// all of them and the initiator; with the second objective, no other set of the same members and
    /// the next one waits less.
    #[test]
    fn the_earliest_writers_get_the_first_common_window(
        grants in prop::collection::vec(prop::collection::vec((0u64..400, 1u64..80), 0..5), 4..9),
        disks in prop::collection::vec(0u64..900, 9),
        taken in prop::collection::vec((0u64..500, 1u64..200), 0..4),
        replicas in 1usize..4,
        limit in 50u64..1000,
        three_machines: bool,
        least_idle: bool,
        skip in 0u64..512,
        name: u8,
    ) {
        let choice =
            if least_idle { ProxyChoice::LeastIdle } else { ProxyChoice::EarliestWrite };
        let timing = byte_a_nanosecond();
        let rate = timing.data_rate;
        let domains: Vec<u32> =
            (0..grants.len() as u32).map(|i| if three_machines { i / 2 } else { i }).collect();
        let disk = DiskForecast::new(rate, Size::from_bytes(limit), Backpressure::KeepRoom);
        let config = ProxyConfig { domains, timing, disk, ..config(choice) };
        let members = members_with(&config, &grants, &disks, rate);
        let size = Size::from_bytes(40);
        let wanted = Wanted {
            now: Time::ZERO,
            replicas,
            skip: Members::from_bits(skip),
            chunk: ChunkId([name; 32]),
            size,
            from: Time::from_ns(9),
            taken: taken
                .iter()
                .map(|&(start, width)| Window::new(Time::from_ns(start), Span::from_ns(width)))
                .collect(),
            width: timing.transfer(size) + timing.frame_time(),
            horizon: config.calendar.horizon,
        };
        let found = choose(&members, &wanted, &timing, choice, &mut Scratch::default());

        let mut able: Vec<usize> =
            (0..members.len()).filter(|&i| !wanted.skip.contains(i as u8)).collect();
        able.sort_by_key(|&i| alone(&members[i], &wanted, &timing));
        let Some((window, chosen)) = found else {
            prop_assert!(able.is_empty());
            return Ok(());
        };
        let chosen: Vec<usize> = chosen.iter().map(usize::from).collect();
        let apart = |set: &[usize]| are_apart(&members, set);
        prop_assert!(apart(&chosen) && chosen.iter().all(|i| able.contains(i)));

        let first_common = |set: &[usize]| first_common(&members, &wanted, &timing, set);
        prop_assert_eq!(window, Window::new(first_common(&chosen), wanted.width));

        // Whoever is left out would write no sooner, unless it shares a domain with a chosen one, or
        // the second objective left it out.
        let writes = |i: usize| alone(&members[i], &wanted, &timing).0;
        let last = chosen.iter().map(|&i| writes(i)).max().unwrap();
        let clashes = |i: usize| chosen.iter().any(|&c| members[c].domain == members[i].domain);
        let passed_over = able.iter().filter(|&&i| !clashes(i) && writes(i) < last);
        let mut passed_over: Vec<u32> = passed_over.map(|&i| members[i].domain).collect();
        passed_over.sort_unstable();
        passed_over.dedup();
        prop_assert!(passed_over.len() <= usize::from(least_idle), "{passed_over:?}");
        if chosen.len() < replicas {
            prop_assert!(able.iter().all(|&i| clashes(i)), "everybody who could be taken is");
        }
        if least_idle && !three_machines {
            let idle = |set: &[usize]| idle(&members, &wanted, &timing, set);
            // Exchanging a chosen one for a member that writes no later gains nothing.
            for &other in able.iter().filter(|i| !chosen.contains(i) && writes(**i) < last) {
                for out in 0..chosen.len() {
                    let mut set = chosen.clone();
                    set[out] = other;
                    if apart(&set) {
                        prop_assert!(idle(&chosen) <= idle(&set), "{chosen:?} {set:?}");
                    }
                }
            }
        }
    }
}
