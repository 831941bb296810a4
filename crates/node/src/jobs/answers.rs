//! Jobs as programs are told of them.

use serde::{Deserialize, Serialize};
use slotcast_job::{Counts, Failure, JobText, Stage, Totals};

use super::Whole;

/// A job, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobAnswer {
    /// Its number.
    pub job: String,
    /// `copy`, `delete`, `verify` or `transform`.
    pub kind: String,
    /// `running`, `paused`, `finished`, `verified`, `failed` or `aborted`.
    pub status: String,
    /// Whether nothing becomes of it any more.
    pub is_over: bool,
    /// `work`, or `check`: what is done with its units.
    pub stage: String,
    /// Why it has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it is to do.
    pub text: JobText,
    /// Whether all of its units are known.
    pub is_planned: bool,
    /// Units so far.
    pub units: u32,
    /// Units whose work is over.
    pub units_worked: u32,
    /// Units that are compared.
    pub units_checked: u32,
    /// The nodes that work on it.
    pub nodes: Vec<u32>,
    /// What was counted while it was worked on.
    pub work: CountsAnswer,
    /// What was counted while it was compared.
    pub check: CountsAnswer,
}

/// What was counted, for programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountsAnswer {
    /// Objects that are selected, counted at the source.
    pub objects: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Outputs, counted where they are; or what was deleted or read.
    pub outputs: u64,
    /// Bytes of outputs.
    pub output_bytes: u64,
    /// Objects that were there already, and stay.
    pub kept: u64,
    /// Objects with which it has failed.
    pub failed: u64,
}

/// All jobs, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobsAnswer {
    /// In the order of their beginning.
    pub jobs: Vec<JobAnswer>,
}

/// What has failed in a job, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobLogAnswer {
    /// Its number.
    pub job: String,
    /// Objects with which something has failed.
    pub failures: Vec<FailureAnswer>,
    /// Further ones of which only the number is kept.
    pub more: u64,
}

/// An object with which something has failed, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureAnswer {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
    /// How often it was tried.
    pub attempts: u32,
    /// Where it was tried last.
    pub node: u32,
    /// `work`, or `check`: what was tried.
    pub stage: String,
}

fn stage(stage: Stage) -> String {
    match stage {
        Stage::Work => "work".into(),
        Stage::Check => "check".into(),
    }
}

impl From<Counts> for CountsAnswer {
    fn from(counts: Counts) -> CountsAnswer {
        let Counts { objects, bytes, outputs, output_bytes, kept, failed, .. } = counts;
        CountsAnswer { objects, bytes, outputs, output_bytes, kept, failed }
    }
}

impl From<&Whole> for JobAnswer {
    fn from(whole: &Whole) -> JobAnswer {
        let Whole { id, text, state, units } = whole;
        let mut totals = Totals::default();
        units.iter().for_each(|(number, unit)| totals.add(*number, unit));
        let holders = units.iter().filter_map(|(_, unit)| Some(unit.lease.as_ref()?.worker.node));
        let mut nodes: Vec<u32> = holders.collect();
        nodes.sort_unstable();
        nodes.dedup();
        JobAnswer {
            job: id.to_string(),
            kind: text.kind.name().into(),
            status: state.status.to_string(),
            is_over: state.is_over(text.check),
            stage: stage(state.stage),
            reason: state.reason.clone(),
            text: text.clone(),
            is_planned: totals.is_planned,
            units: totals.units,
            units_worked: totals.worked,
            units_checked: totals.checked,
            nodes,
            work: totals.work.into(),
            check: totals.check.into(),
        }
    }
}

impl From<&Whole> for JobLogAnswer {
    fn from(whole: &Whole) -> JobLogAnswer {
        let all = whole.units.iter().flat_map(|(_, unit)| &unit.failures);
        // What has failed in work is counted once more when it is compared.
        let answer = |of: &Failure| FailureAnswer {
            name: of.name.clone(),
            reason: of.reason.clone(),
            attempts: of.attempts,
            node: of.node,
            stage: stage(of.stage),
        };
        let in_stage = |wanted: Stage| all.clone().filter(move |of| of.stage == wanted);
        let worked: std::collections::BTreeSet<&str> =
            in_stage(Stage::Work).map(|of| &of.name[..]).collect();
        let checked = in_stage(Stage::Check).filter(|of| !worked.contains(&of.name[..]));
        let failures: Vec<_> = in_stage(Stage::Work).chain(checked).map(answer).collect();
        let failed: u64 = whole.units.iter().map(|(_, unit)| unit.work.failed).sum();
        let kept = failures.iter().filter(|of| of.stage == "work").count() as u64;
        JobLogAnswer { job: whole.id.to_string(), failures, more: failed.saturating_sub(kept) }
    }
}
