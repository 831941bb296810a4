//! Jobs by status, from the answers that the worker of this node gets while it looks for work.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use slotcast_job::{Answer, Ask, JobId, Status};

/// How many jobs have each status; `unknown` where it was not read yet or cannot be.
pub(crate) type Census = BTreeMap<&'static str, u64>;

const STATUSES: [Status; 6] = [
    Status::Running,
    Status::Paused,
    Status::Finished,
    Status::Verified,
    Status::Failed,
    Status::Aborted,
];

const UNKNOWN: &str = "unknown";

/// What the worker was told last of each job.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// None while it is not known which jobs there are.
    jobs: Mutex<Option<BTreeMap<JobId, Option<Status>>>>,
}

/// A request of the worker whose answer tells of jobs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Asked {
    Jobs,
    State(JobId),
    Swap(JobId, Status),
}

impl Asked {
    /// None if the answer tells nothing of the status of a job.
    pub(super) fn of(ask: &Ask) -> Option<Asked> {
        match ask {
            Ask::Jobs => Some(Asked::Jobs),
            Ask::State(job) => Some(Asked::State(*job)),
            Ask::SwapState(job, _, state) => Some(Asked::Swap(*job, state.status)),
            _ => None,
        }
    }
}

impl Known {
    pub(super) fn heard(&self, asked: Asked, answer: &Answer) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        match (asked, answer) {
            (Asked::Jobs, Answer::Jobs(ids)) => {
                let before = jobs.take().unwrap_or_default();
                let known = |id: &JobId| (*id, before.get(id).copied().flatten());
                *jobs = Some(ids.iter().map(known).collect());
            }
            // Too few voters answer: a number from before would be a claim.
            (Asked::Jobs, _) => *jobs = None,
            (Asked::State(job), Answer::State(Some((_, state)))) => {
                note(jobs.as_mut(), job, state.status);
            }
            (Asked::Swap(job, status), Answer::Swapped(_)) => note(jobs.as_mut(), job, status),
            _ => {}
        }
    }

    pub(super) fn census(&self) -> Option<Census> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let jobs = jobs.as_ref()?;
        let mut census: Census = STATUSES.iter().map(|status| (status.name(), 0)).collect();
        census.insert(UNKNOWN, 0);
        for status in jobs.values() {
            *census.entry(status.map_or(UNKNOWN, Status::name)).or_default() += 1;
        }
        Some(census)
    }
}

fn note(jobs: Option<&mut BTreeMap<JobId, Option<Status>>>, job: JobId, status: Status) {
    if let Some(known) = jobs.and_then(|jobs| jobs.get_mut(&job)) {
        *known = Some(status);
    }
}

#[cfg(test)]
mod tests {
    use slotcast_job::StateRecord;
    use slotcast_object::VersionId;

    use super::*;

    fn count(known: &Known, status: &str) -> Option<u64> {
        known.census().map(|census| census[status])
    }

    #[test]
    fn jobs_are_counted_as_the_worker_was_told() {
        let (known, [a, b]) = (Known::default(), [JobId(1), JobId(2)]);
        let version = VersionId { change: 1, salt: 2 };
        assert_eq!(known.census(), None);
        known.heard(Asked::Jobs, &Answer::Jobs(vec![a, b]));
        assert_eq!((count(&known, "unknown"), count(&known, "running")), (Some(2), Some(0)));
        let failed = StateRecord { status: Status::Failed, ..StateRecord::new() };
        known.heard(Asked::State(a), &Answer::State(Some((version, failed))));
        known.heard(Asked::Swap(b, Status::Finished), &Answer::Lost);
        assert_eq!((count(&known, "unknown"), count(&known, "failed")), (Some(1), Some(1)));
        known.heard(Asked::Swap(b, Status::Finished), &Answer::Swapped(version));
        // One that is removed is not counted, and none while nobody says which there are.
        known.heard(Asked::Jobs, &Answer::Jobs(vec![b]));
        assert_eq!((count(&known, "finished"), count(&known, "failed")), (Some(1), Some(0)));
        known.heard(Asked::Jobs, &Answer::Failed("too few voters".into()));
        assert_eq!(known.census(), None);
    }
}
