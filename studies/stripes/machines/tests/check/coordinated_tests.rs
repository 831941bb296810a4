//! All states of small stripes in the coordinated mode.

use alloc::vec::Vec;

use slotcast_units::Span;

use super::coordinated::{Coordinated, Node};
use super::explore::{Explorable, Explored, Faults};
use super::history::Step::{self, Read, Write};
use super::history::{Unit, script};
use crate::mistake::Mistake;
use slotcast_stripe::Code;
use slotcast_stripe::coordinated::Message;

impl Explorable for Coordinated {
    fn is_late(_node: &Node, over: bool, _message: &Message<Unit>) -> bool {
        over
    }
}

/// Data units, parity units, and clients.
fn stripe(data: u32, parity: u32, clients: &[&[Step]], faults: Faults) -> Explored<Coordinated> {
    let code = Code::new(data, parity).expect("a code");
    let retry = Span::from_ms(1);
    let mode = Coordinated { code, retry, rebuild_after: None, mistake: Mistake::None };
    let scripts = (0..).zip(clients).map(|(id, steps)| script(id, steps)).collect::<Vec<_>>();
    Explored { mode, scripts, faults, prompt_disks: false }
}

const NONE: Faults = Faults { restarts: 0, losses: 0, deaths: 0, expiries: 0, hurries: 0 };
const RESTART: Faults = Faults { restarts: 1, ..NONE };
const LOSS: Faults = Faults { losses: 1, ..NONE };
const DEATH: Faults = Faults { deaths: 1, ..NONE };

#[test]
fn two_units() {
    let visit = stripe(2, 1, &[&[Write(0)], &[Write(1)]], Faults { hurries: 2, ..NONE }).visit();
    visit.assert_right("coordinated, two units, hurried timers");
}

#[test]
fn two_units_with_a_restart() {
    let visit = stripe(2, 1, &[&[Write(0)], &[Write(1)]], RESTART).visit();
    visit.assert_right("coordinated, two units, a restart");
}

#[test]
fn two_units_with_a_loss() {
    let visit = stripe(2, 1, &[&[Write(0)], &[Write(1)]], LOSS).visit();
    visit.assert_right("coordinated, two units, a loss");
}

#[test]
fn two_units_with_a_death() {
    let visit = stripe(2, 1, &[&[Write(0)], &[Write(1)]], DEATH).visit();
    visit.assert_right("coordinated, two units, a dead client");
}

#[test]
fn one_unit_with_a_restart() {
    let visit = stripe(2, 1, &[&[Write(0)], &[Write(0), Read(0)]], RESTART).visit();
    visit.assert_right("coordinated, one unit, a restart");
}

#[test]
fn one_unit_with_a_loss() {
    let visit = stripe(2, 1, &[&[Write(0)], &[Write(0), Read(0)]], LOSS).visit();
    visit.assert_right("coordinated, one unit, a loss");
}

#[test]
fn one_unit_with_a_death() {
    let visit = stripe(2, 1, &[&[Write(0)], &[Write(0), Read(0)]], DEATH).visit();
    visit.assert_right("coordinated, one unit, a dead client");
}

#[test]
fn a_read_from_the_other_units() {
    let faults = Faults { hurries: 1, ..NONE };
    let mut explored = stripe(2, 1, &[&[Write(0)], &[Read(0)]], faults);
    explored.mode.rebuild_after = Some(0);
    explored.visit().assert_right("coordinated, read from the other units");
}

#[test]
fn two_parity_units_with_a_loss() {
    let visit = stripe(2, 2, &[&[Write(0)]], LOSS).visit();
    visit.assert_right("coordinated, two parity units, a loss");
}

#[test]
fn restart_and_loss() {
    let visit = stripe(2, 1, &[&[Write(0)]], Faults { losses: 1, restarts: 1, ..NONE }).visit();
    visit.assert_right("coordinated, restart and loss");
}

/// Two losses make too many states to visit them all: some of them, those after the fewest steps first.
fn two_losses(most: usize) {
    let explored = stripe(2, 2, &[&[Write(0)]], Faults { losses: 2, ..NONE });
    let visit = explored.visit_up_to(most);
    visit.assert_no_violation("coordinated, two parity units, the first states with two losses");
}

#[test]
fn two_parity_units_with_two_losses() {
    two_losses(200_000);
}

#[test]
#[ignore = "takes minutes; docs/simulate/stripes.md has the command"]
fn long_two_parity_units_with_two_losses() {
    two_losses(10_000_000);
}

#[test]
fn two_units_with_two_restarts() {
    let visit = stripe(2, 1, &[&[Write(0)], &[Write(1)]], Faults { restarts: 2, ..NONE }).visit();
    visit.assert_right("coordinated, two units, two restarts");
}

#[test]
fn a_read_from_the_other_units_with_a_restart() {
    let faults = Faults { restarts: 1, hurries: 1, ..NONE };
    let mut explored = stripe(2, 1, &[&[Write(0)], &[Read(0)]], faults);
    explored.mode.rebuild_after = Some(0);
    explored.visit().assert_right("coordinated, read from the other units, a restart");
}

/// Visits with a mistake planted in the machines, and demands that it is found.
fn finds(mistake: Mistake, mut explored: Explored<Coordinated>) {
    explored.mode.mistake = mistake;
    let visit = explored.visit();
    assert!(visit.violation.is_some(), "{mistake:?} went unnoticed in {} states", visit.states);
    super::std::println!("{mistake:?}: found among {} states", visit.states);
}

#[test]
fn parity_written_before_the_data_is_durable_is_found() {
    finds(Mistake::ParityBeforeData, stripe(2, 1, &[&[Write(0)]], RESTART));
}

#[test]
fn a_commit_before_the_data_is_durable_is_found() {
    finds(Mistake::CommitBeforeDurable, stripe(2, 1, &[&[Write(0)]], RESTART));
}

#[test]
fn a_commit_before_the_parity_is_prepared_is_found() {
    finds(Mistake::CommitBeforePrepared, stripe(2, 1, &[&[Write(0)]], LOSS));
}

#[test]
fn a_write_made_twice_is_found() {
    finds(Mistake::ForgetRequests, stripe(2, 1, &[&[Write(0)], &[Write(0)]], NONE));
}

#[test]
fn a_promise_of_a_lost_server_that_still_counts_is_found() {
    finds(Mistake::HearTheDead, stripe(2, 1, &[&[Write(0)]], LOSS));
}

#[test]
fn an_update_dropped_by_an_old_message_is_found() {
    finds(Mistake::SettleAll, stripe(2, 1, &[&[Write(0), Write(0)]], LOSS));
}
