//! All states of small stripes in the stripe-lock mode.

use alloc::vec::Vec;

use slotcast_units::Span;

use super::explore::{Explorable, Explored, Faults};
use super::history::Step::{self, Write};
use super::history::{Unit, script};
use super::locked::{Locked, Node};
use crate::mistake::Mistake;
use slotcast_stripe::Code;
use slotcast_stripe::locked::Message;

impl Explorable for Locked {
    fn is_late(node: &Node, over: bool, message: &Message<Unit>) -> bool {
        use Message::{Blank, Fenced, Granted, Released, Sealed, Stored, Unit};
        // Answers under a holding that is over: there would be none if it had not begun.
        match (node, message) {
            (Node::Client(client), Unit { echo, .. }) if *echo > u64::from(u32::MAX) => {
                client.reading() != Some(*echo)
            }
            (Node::Client(client), Blank { echo: token } | Stored { token } | Fenced { token }) => {
                client.token() != Some(*token)
            }
            // It still gives back what it is granted.
            (Node::Client(_), Granted { .. } | Released { .. }) => false,
            (Node::Client(_), _) => over,
            (
                Node::Lock(server),
                Unit { echo: token, .. } | Sealed { token, .. } | Stored { token },
            ) => server.recovering() != Some(*token),
            _ => false,
        }
    }
}

/// Two data units, a parity unit, and clients.
fn stripe(clients: &[&[Step]], faults: Faults) -> Explored<Locked> {
    let code = Code::new(2, 1).expect("a code");
    let (retry, lease) = (Span::from_ms(1), Span::from_ms(100));
    let mode = Locked { code, retry, lease, mistake: Mistake::None };
    let scripts = (0..).zip(clients).map(|(id, steps)| script(id, steps)).collect::<Vec<_>>();
    Explored { mode, scripts, faults, prompt_disks: true }
}

const NONE: Faults = Faults { restarts: 0, losses: 0, deaths: 0, expiries: 0, hurries: 0 };
const RESTART: Faults = Faults { restarts: 1, ..NONE };
const LOSS: Faults = Faults { losses: 1, ..NONE };
const DEATH: Faults = Faults { deaths: 1, ..NONE };
const EXPIRY: Faults = Faults { expiries: 1, ..NONE };

const TWO_UNITS: &[&[Step]] = &[&[Write(0)], &[Write(1)]];
const ONE_UNIT: &[&[Step]] = &[&[Write(0)], &[Write(0)]];

#[test]
fn two_units() {
    let visit = stripe(TWO_UNITS, Faults { hurries: 2, ..NONE }).visit();
    visit.assert_right("stripe lock, two units, hurried timers");
}

#[test]
fn two_units_with_a_restart() {
    stripe(TWO_UNITS, RESTART).visit().assert_right("stripe lock, two units, a restart");
}

#[test]
fn two_units_with_a_loss() {
    stripe(TWO_UNITS, LOSS).visit().assert_right("stripe lock, two units, a loss");
}

#[test]
fn two_units_with_a_death() {
    stripe(TWO_UNITS, DEATH).visit().assert_right("stripe lock, two units, a dead client");
}

#[test]
fn two_units_with_an_expiry() {
    stripe(TWO_UNITS, EXPIRY).visit().assert_right("stripe lock, two units, a lease too short");
}

#[test]
fn one_unit_with_a_restart() {
    stripe(ONE_UNIT, RESTART).visit().assert_right("stripe lock, one unit, a restart");
}

#[test]
fn one_unit_with_a_loss() {
    stripe(ONE_UNIT, LOSS).visit().assert_right("stripe lock, one unit, a loss");
}

#[test]
fn one_unit_with_a_death() {
    stripe(ONE_UNIT, DEATH).visit().assert_right("stripe lock, one unit, a dead client");
}

#[test]
fn one_unit_with_an_expiry() {
    stripe(ONE_UNIT, EXPIRY).visit().assert_right("stripe lock, one unit, a lease too short");
}

/// Visits with a mistake planted in the machines, and demands that it is found.
fn finds(mistake: Mistake, mut explored: Explored<Locked>) {
    explored.mode.mistake = mistake;
    let visit = explored.visit();
    assert!(visit.violation.is_some(), "{mistake:?} went unnoticed in {} states", visit.states);
    super::std::println!("{mistake:?}: found among {} states", visit.states);
}

#[test]
fn a_lock_released_early_is_found() {
    finds(Mistake::ReleaseEarly, stripe(TWO_UNITS, NONE));
}

#[test]
fn a_late_write_that_is_taken_is_found() {
    finds(Mistake::NoFence, stripe(TWO_UNITS, EXPIRY));
}

#[test]
fn a_skipped_recovery_is_found() {
    finds(Mistake::SkipRecovery, stripe(TWO_UNITS, DEATH));
}
