//! Hosts the worker: tells it of time and of answers, and lets what it asks for be carried out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use slotcast_job::{Answer, Effect, Input, Note, Rules, TaskId, Worker, WorkerId};
use slotcast_units::Time;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::carry::Carrier;
use super::census::Known;
use super::sandbox::Sandbox;
use crate::objects::{Objects, new_key};

/// Objects that are under way at a time.
const ITEMS: usize = 64;

fn elapsed(since: Instant) -> Time {
    Time::from_ns(u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// Works on jobs until it is told to stop.
pub(super) async fn run(
    objects: Objects,
    (transforms, known): (u32, Arc<Known>),
    kick: Arc<Notify>,
    mut stop: watch::Receiver<bool>,
) {
    let (node, ..) = objects.parts();
    let Ok(network) = node.network().await else { return };
    let Ok(random) = new_key() else { return };
    #[expect(clippy::cast_possible_truncation, reason = "half of it")]
    let incarnation = random.0 as u64;
    let me = WorkerId { node: network.map_or(0, |network| network.node), incarnation };
    drop(node);
    let rules = Rules {
        items: ITEMS,
        processes: transforms as usize,
        transforms: transforms > 0,
        ..Rules::default()
    };
    let sandbox = if transforms > 0 { Sandbox::probe().await } else { Sandbox::default() };
    let carrier = Arc::new(Carrier::new(objects, sandbox, (transforms, known)));
    let mut worker = Worker::new(me, rules);
    let began = Instant::now();
    let mut asked: JoinSet<Answer> = JoinSet::new();
    let mut tasks: BTreeMap<tokio::task::Id, TaskId> = BTreeMap::new();
    let (mut effects, mut wake_at) = (Vec::new(), Time::ZERO);
    loop {
        let wait = wake_at.saturating_since(elapsed(began));
        let wait = std::time::Duration::from_nanos(wait.as_ns());
        let input = tokio::select! {
            // When they have ended they have let the node go.
            () = stopped(&mut stop) => return asked.shutdown().await,
            Some(done) = asked.join_next_with_id() => {
                let (id, answer) = match done {
                    Ok(done) => done,
                    // It has panicked.
                    Err(error) => {
                        tracing::error!(%error, "a part of a job was not carried out");
                        (error.id(), Answer::Failed(error.to_string()))
                    }
                };
                match tasks.remove(&id) {
                    Some(task) => Input::Answer(task, answer),
                    None => continue,
                }
            }
            () = kick.notified() => Input::Kick,
            () = tokio::time::sleep(wait) => Input::Wake,
        };
        worker.handle(elapsed(began), input, &mut effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::WakeAt(at) => wake_at = at,
                Effect::Note(note) => log(&note),
                Effect::Ask(task, ask) => {
                    let carrier = carrier.clone();
                    let begun = asked.spawn(async move { carrier.carry_out(ask).await });
                    tasks.insert(begun.id(), task);
                }
            }
        }
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // Nobody is left who could say so.
    let _ = stop.wait_for(|is_stopped| *is_stopped).await;
}

fn log(note: &Note) {
    match note {
        Note::Taken(job, unit) => tracing::debug!(%job, unit, "unit of a job taken"),
        Note::Fenced(job, unit) => {
            tracing::info!(%job, unit, "unit of a job is worked on by another node");
        }
        Note::Became(job, status) => tracing::info!(%job, %status, "job"),
    }
}
