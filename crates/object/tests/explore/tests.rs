//! Small registers, visited to the end; and the same with each mistake, which must be found.

use alloc::vec::Vec;

use stateright::{Checker, HasDiscoveries, Model};

use super::models::{
    again, crash, created_anew, creators, forgotten, half_forgotten, large, late, made_anew, moved,
    moved_back, moved_late, moved_later, readers, refused, replaced, wiped,
};
use super::std::println;
use super::{Action, Explored};
use crate::register::mistake::Mistake;

/// Visits all states: nothing is wrong in any of them, and all that should happen does in some.
fn visit(model: Explored) {
    let checker = model.checker().threads(2).spawn_bfs().join();
    println!("{} states, {} unique", checker.state_count(), checker.unique_state_count());
    checker.assert_properties();
}

/// Demands that the mistake is found.
fn finds(model: &Explored, mistake: Mistake) {
    let model = Explored { mistake: Some(mistake), ..model.clone() };
    let wrong = ["linearizable"].into();
    let checker =
        model.checker().threads(2).finish_when(HasDiscoveries::AllOf(wrong)).spawn_bfs().join();
    println!("{mistake:?}: {} unique states", checker.unique_state_count());
    assert!(checker.discovery("linearizable").is_some(), "{mistake:?} is not found");
}

#[test]
fn registers_are_right_in_every_state() {
    let models = [creators(), readers(), refused(), late(), again(), wiped()];
    models.into_iter().for_each(visit);
}

#[test]
fn voters_are_replaced_in_every_state() {
    [moved_later(), moved_late()].into_iter().for_each(visit);
}

#[test]
fn names_are_forgotten_in_every_state() {
    [forgotten(), made_anew(), created_anew(), moved_back()].into_iter().for_each(visit);
}

#[test]
#[ignore = "takes long: cargo test -p slotcast-object --lib -- --ignored"]
fn one_is_replaced_in_every_state() {
    [moved(), replaced()].into_iter().for_each(visit);
}

#[test]
#[ignore = "takes long: cargo test -p slotcast-object --lib -- --ignored"]
fn three_forget_one_after_another_in_every_state() {
    visit(half_forgotten());
    finds(&half_forgotten(), Mistake::CountsBallotsAnew);
}

#[test]
fn mistakes_of_voters_are_found() {
    finds(&creators(), Mistake::PromisesNothing);
    finds(&creators(), Mistake::AcceptsBelowItsPromise);
    finds(&creators(), Mistake::ForgetsOldPromises);
    finds(&crash(), Mistake::AnswersBeforeItIsDurable);
    finds(&wiped(), Mistake::VotesOnWhenWiped);
}

#[test]
fn mistakes_of_proposers_are_found() {
    finds(&creators(), Mistake::TakesWhatItHearsFirst);
    finds(&creators(), Mistake::ForgetsRequests);
    finds(&readers(), Mistake::ReadsWithoutAgreement);
    finds(&refused(), Mistake::RefusesWithoutAgreement);
    finds(&again(), Mistake::NamesVersionsByContent);
}

#[test]
fn mistakes_in_a_change_of_voters_are_found() {
    finds(&moved(), Mistake::ForgetsItsVoters);
    finds(&moved(), Mistake::CountsTheNewSetAlone);
    finds(&moved(), Mistake::SettlesUnsynced);
    finds(&moved(), Mistake::SyncsWithoutFence);
    finds(&moved_later(), Mistake::SyncsOverLaterOnes);
    finds(&moved_late(), Mistake::MixesAttempts);
    finds(&moved_back(), Mistake::KeepsAnEarlierTerm);
}

#[test]
fn mistakes_in_forgetting_are_found() {
    finds(&forgotten(), Mistake::ForgetsTombstones);
    finds(&forgotten(), Mistake::BelievesLaterEpochs);
    finds(&created_anew(), Mistake::TidiesAtTheFloor);
    finds(&made_anew(), Mistake::MixesLives);
}

/// What became of a drawn history.
struct Drawn {
    /// All clients had all their answers, but for what is not known.
    is_over: bool,
    /// Voters were replaced, and others came back.
    is_changed: bool,
}

/// One history, drawn; an error says what clients were told that they should not be.
fn draw(model: &Explored, seed: u64) -> Result<Drawn, super::std::string::String> {
    let mut chance = slotcast_random::Streams::new(seed).stream("history", 0);
    let mut state = model.init_states().remove(0);
    for _ in 0..1500 {
        let mut actions = Vec::new();
        model.actions(&state, &mut actions);
        if actions.is_empty() || state.clients.iter().all(super::Client::is_over) {
            break;
        }
        // Most questions arrive, and most answers are heard.
        let is_heard = |action: &Action| matches!(action, Action::Deliver(_, true));
        if chance.chance(0.9) && actions.iter().any(is_heard) {
            actions.retain(is_heard);
        }
        let which = usize::try_from(chance.below(actions.len() as u64)).expect("few");
        state = model.next_state(&state, actions.swap_remove(which)).unwrap_or(state);
        if !state.is_linearizable {
            return Err(super::std::format!("seed {seed}: {:?}", state.history));
        }
    }
    let is_over = |client: &super::Client| client.is_over() || client.is_unknown();
    Ok(Drawn {
        is_over: state.clients.iter().all(is_over),
        is_changed: state.changes == 2 && !state.voters.is_joint(),
    })
}

#[test]
fn drawn_histories_of_large_registers_are_right() {
    let model = large();
    let drawn = |seed| draw(&model, seed).unwrap_or_else(|wrong| panic!("{wrong}"));
    let all: Vec<Drawn> = (0..600).map(drawn).collect();
    let over = all.iter().filter(|drawn| drawn.is_over).count();
    let changed = all.iter().filter(|drawn| drawn.is_changed).count();
    println!("{over} of {} ended, {changed} changed voters", all.len());
    assert!(over > 500 && changed > 200, "{over} ended, {changed} changed voters");
}
