//! `slotcast job watch`: how far a job is, until it is over.

use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use slotcast_node::jobs::JobAnswer;
use slotcast_units::Span;

use super::client::Client;
use super::job::path_of;
use super::job_text;
use crate::failure::Outcome;
use crate::output::print;
use crate::progress::Bar;

/// How long a node may be away before watching it is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Exit status of a job that has not done what it should.
const FAILED: u8 = 1;

/// Asks until the job is over. That the node does not answer for a while is nothing wrong: the job goes on without it.
pub(super) fn watch(client: &Client, job: &str, refresh: Span, json: bool) -> Outcome {
    let bar = Bar::counting(1);
    let mut heard = Instant::now();
    let mut counted = (0, 0);
    let last = loop {
        let answer = match client.get_json::<JobAnswer>(&path_of(job)) {
            Ok(answer) => answer,
            Err(error) if heard.elapsed() > PATIENCE || error.to_string().contains("(404") => {
                bar.finish();
                return Err(error.into());
            }
            Err(error) => {
                bar.tell(format!("{error}"));
                bar.advance(0);
                sleep(Duration::from_nanos(refresh.as_ns()));
                continue;
            }
        };
        heard = Instant::now();
        if json {
            print(&format!("{}\n", serde_json::to_string(&answer).unwrap_or_default()))?;
        }
        if answer.is_over {
            break answer;
        }
        counted = drawn(&bar, &answer, counted);
        sleep(Duration::from_nanos(refresh.as_ns()));
    };
    bar.finish();
    if !json {
        print(&job_text::told(&last))?;
    }
    let is_well = matches!(&last.status[..], "verified" | "finished");
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// Draws how far it is: units of both stages, each a step.
fn drawn(bar: &Bar, job: &JobAnswer, (units, done): (u64, u64)) -> (u64, u64) {
    let stages = if job.text.check { 2 } else { 1 };
    let now = (u64::from(job.units) * stages, u64::from(job.units_worked + job.units_checked));
    bar.expect(now.0.saturating_sub(units));
    bar.tell(format!("{} {}, {}", job.kind, job.status, job_text::progress(job)));
    bar.advance(now.1.saturating_sub(done));
    now
}
