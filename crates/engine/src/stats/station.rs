use std::collections::VecDeque;

use slotcast_units::{Span, Time};

use super::little::Little;
use super::queueing::Queueing;
use super::usage::{Resource, Usage};

/// One queue in front of one or more servers, first come, first served, with known service times.
///
/// A job's start and completion are known when it comes, so the station needs no events of its own. Its
/// credits hold the whole wait and the whole service of every job, also the part in the future; what
/// lies beyond `now` is taken off again when somebody asks. `now` never goes back from call to call.
#[derive(Debug, Clone)]
pub struct FifoStation {
    /// When each server has done all its work.
    free_at: Vec<Time>,
    /// The jobs that may not be finished, in the order in which they start.
    pending: VecDeque<Job>,
    credit: Credit,
    offered: Offered,
    /// The integral over time, beyond the last reset, of the jobs that were there then.
    carried_in: u128,
    since: Time,
    latest: Time,
}

#[derive(Debug, Clone, Copy)]
struct Job {
    start: Time,
    completion: Time,
}

/// The jobs that came, with the whole of their times in ns, also what is still to come.
#[derive(Debug, Clone, Copy, Default)]
struct Offered {
    jobs: u64,
    wait: u128,
    service: u128,
    service_squared: u128,
}

/// Integrals over time of the number of jobs, in ns, and the number of completions.
#[derive(Debug, Clone, Copy, Default)]
struct Credit {
    waiting: u128,
    in_service: u128,
    completions: u64,
}

impl Credit {
    fn in_system(&self) -> u128 {
        self.waiting + self.in_service
    }
}

impl Default for FifoStation {
    fn default() -> FifoStation {
        FifoStation::new()
    }
}

impl FifoStation {
    /// A station with one server, idle from time zero on.
    pub fn new() -> FifoStation {
        FifoStation::with_servers(1)
    }

    /// A station with `servers` equal servers, idle from time zero on.
    ///
    /// # Panics
    /// If there is no server.
    pub fn with_servers(servers: usize) -> FifoStation {
        assert!(servers > 0, "a station without servers never serves");
        FifoStation {
            free_at: vec![Time::ZERO; servers],
            pending: VecDeque::new(),
            credit: Credit::default(),
            offered: Offered::default(),
            carried_in: 0,
            since: Time::ZERO,
            latest: Time::ZERO,
        }
    }

    /// Takes a job that comes `now` and needs `service`, and returns when it is completed.
    ///
    /// Complexity: amortized O(number of servers).
    ///
    /// # Panics
    /// If the completion is beyond the end of the clock. In a build with assertions, if `now` goes back.
    pub fn serve(&mut self, now: Time, service: Span) -> Time {
        debug_assert!(now >= self.latest, "a station that goes back in time");
        self.latest = now;
        let free_at = self.free_at.iter_mut().min().expect("at least one server");
        let start = now.max(*free_at);
        let completion = start + service;
        *free_at = completion;

        while self.pending.front().is_some_and(|job| job.completion <= now) {
            self.pending.pop_front();
        }
        self.pending.push_back(Job { start, completion });
        let wait = u128::from((start - now).as_ns());
        let service = u128::from(service.as_ns());
        self.credit.waiting += wait;
        self.credit.in_service += service;
        self.credit.completions += 1;
        self.offered.jobs += 1;
        self.offered.wait += wait;
        self.offered.service += service;
        self.offered.service_squared =
            self.offered.service_squared.saturating_add(service * service);
        completion
    }

    /// How long a job that came `now` would wait.
    ///
    /// Complexity: O(number of servers).
    pub fn backlog(&self, now: Time) -> Span {
        self.free_at.iter().min().expect("at least one server").saturating_since(now)
    }

    /// Little's law between the last reset and `now`, over the jobs that came.
    ///
    /// Complexity: O(jobs that are waiting or in service).
    ///
    /// # Panics
    /// If `now` is before the last reset.
    pub fn little(&self, now: Time) -> Little {
        let signed = |ns: u128| i128::try_from(ns).expect("fewer than 2^127 ns");
        let beyond = self.beyond(now).in_system();
        Little {
            elapsed: now - self.since,
            members: self.offered.jobs,
            sojourns: self.offered.wait + self.offered.service,
            integral: self.credit.in_system() - beyond,
            edges: signed(self.carried_in) - signed(beyond),
        }
    }

    /// The waits of the jobs that came between the last reset and `now`, and what they would be in
    /// theory if jobs came at random.
    pub fn queueing(&self, now: Time) -> Queueing {
        let Offered { jobs, wait, service, service_squared } = self.offered;
        Queueing { elapsed: now - self.since, jobs, wait, service, service_squared }
    }

    /// The part of the credits that lies beyond `now`.
    fn beyond(&self, now: Time) -> Credit {
        let mut beyond = Credit::default();
        for job in self.pending.iter().filter(|job| job.completion > now) {
            beyond.waiting += u128::from(job.start.saturating_since(now).as_ns());
            beyond.in_service += u128::from((job.completion - job.start.max(now)).as_ns());
            beyond.completions += 1;
        }
        beyond
    }
}

impl Resource for FifoStation {
    /// The use between the last reset and `now`, exactly.
    ///
    /// Complexity: O(jobs that are waiting or in service).
    ///
    /// # Panics
    /// If `now` is before the last reset. In a build with assertions, if it is before the last job.
    fn usage(&self, now: Time) -> Usage {
        debug_assert!(now >= self.latest, "a station that goes back in time");
        let beyond = self.beyond(now);
        let elapsed = (now - self.since).as_ns();
        let per_time = |integral: u128| match elapsed {
            0 => 0.0,
            _ => integral as f64 / elapsed as f64,
        };
        let waiting = self.credit.waiting - beyond.waiting;
        let in_service = self.credit.in_service - beyond.in_service;
        let Offered { jobs, wait, .. } = self.offered;
        let mean_wait = wait.checked_div(u128::from(jobs)).unwrap_or(0);
        Usage {
            utilization: per_time(in_service) / self.free_at.len() as f64,
            mean_queue_length: per_time(waiting),
            mean_in_system: per_time(waiting + in_service),
            mean_wait: Span::from_ns(u64::try_from(mean_wait).expect("a mean of spans")),
            served: self.credit.completions - beyond.completions,
            offered: jobs,
        }
    }

    fn reset(&mut self, now: Time) {
        debug_assert!(now >= self.latest, "a station that goes back in time");
        self.credit = self.beyond(now);
        self.carried_in = self.credit.in_system();
        self.offered = Offered::default();
        self.since = now;
        self.latest = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    fn ns(ns: u64) -> Span {
        Span::from_ns(ns)
    }

    #[test]
    fn jobs_wait_for_those_before_them() {
        let mut station = FifoStation::new();
        assert_eq!(station.serve(at(10), ns(5)), at(15));
        assert_eq!(station.backlog(at(12)), ns(3));
        assert_eq!(station.serve(at(12), ns(4)), at(19));
        assert_eq!(station.serve(at(30), ns(1)), at(31));
        assert_eq!(station.backlog(at(40)), ns(0));
        let expected = Usage {
            utilization: 10.0 / 40.0,
            mean_queue_length: 3.0 / 40.0,
            mean_in_system: 13.0 / 40.0,
            mean_wait: ns(1),
            served: 3,
            offered: 3,
        };
        assert_eq!(station.usage(at(40)), expected);
    }

    #[test]
    fn what_is_still_to_come_does_not_count() {
        let mut station = FifoStation::new();
        station.serve(at(0), ns(100));
        station.serve(at(0), ns(100));
        let usage = station.usage(at(50));
        assert_eq!((usage.utilization, usage.mean_queue_length), (1.0, 1.0));
        assert_eq!((usage.served, usage.offered), (0, 2));
        assert_eq!(station.usage(at(100)).served, 1);
        assert_eq!(station.usage(at(400)).utilization, 0.5);
    }

    #[test]
    fn a_reset_keeps_the_jobs_that_are_there() {
        let mut station = FifoStation::new();
        station.serve(at(0), ns(100));
        station.serve(at(0), ns(100));
        station.reset(at(50));
        let usage = station.usage(at(250));
        assert_eq!(usage.utilization, 150.0 / 200.0);
        assert_eq!(usage.mean_queue_length, 50.0 / 200.0);
        assert_eq!((usage.served, usage.offered, usage.mean_wait), (2, 0, ns(0)));
    }

    #[test]
    fn an_unused_station_is_idle() {
        let usage = FifoStation::new().usage(Time::ZERO);
        assert_eq!((usage.utilization, usage.mean_in_system, usage.mean_wait), (0.0, 0.0, ns(0)));
    }

    /// How much of the time from `start` to `end` lies in the window.
    fn overlap(start: u64, end: u64, window: (u64, u64)) -> u64 {
        end.min(window.1).saturating_sub(start.max(window.0))
    }

    proptest! {
        #[test]
        fn the_credits_are_what_counting_gives(
            servers in 1..4usize,
            jobs in prop::collection::vec((0..50u64, 0..100u64), 1..60),
            reset_at in 0..60usize,
            rest in 0..200u64,
        ) {
            let mut station = FifoStation::with_servers(servers);
            let mut free_at = vec![0; servers];
            let (mut now, mut since) = (0, 0);
            let mut seen = Vec::new();
            for (i, (gap, service)) in jobs.iter().enumerate() {
                now += gap;
                if i == reset_at {
                    station.reset(at(now));
                    since = now;
                }
                free_at.sort_unstable();
                let start = now.max(free_at[0]);
                free_at[0] = start + service;
                prop_assert_eq!(station.serve(at(now), ns(*service)), at(start + service));
                seen.push((i, now, start, start + service));
            }
            let window = (since, now + rest);
            let waiting: u64 = seen.iter().map(|(_, come, start, _)| overlap(*come, *start, window)).sum();
            let busy: u64 = seen.iter().map(|(_, _, start, end)| overlap(*start, *end, window)).sum();
            let reset = if reset_at < jobs.len() { reset_at } else { 0 };
            let offered = || seen.iter().filter(|(i, ..)| *i >= reset);
            let served = seen.iter().filter(|(i, _, _, end)| {
                *end <= window.1 && (*end > since || *i >= reset)
            });
            let wait: u64 = offered().map(|(_, come, start, _)| start - come).sum();
            let usage = station.usage(at(window.1));
            let elapsed = window.1 - window.0;
            let per_time = |integral: u64| {
                if elapsed == 0 { 0.0 } else { integral as f64 / elapsed as f64 }
            };
            let little = station.little(at(window.1));
            let sojourns: u64 = offered().map(|(_, come, _, end)| end - come).sum();
            prop_assert_eq!((little.members, little.sojourns), (usage.offered, u128::from(sojourns)));
            prop_assert_eq!(little.integral, u128::from(waiting + busy));
            prop_assert_eq!(little.unaccounted(), 0);
            let queueing = station.queueing(at(window.1));
            let squares: u64 = offered().map(|(_, _, start, end)| (end - start).pow(2)).sum();
            prop_assert_eq!(queueing.wait, u128::from(wait));
            prop_assert_eq!(queueing.service_squared, u128::from(squares));
            prop_assert_eq!(usage, Usage {
                utilization: per_time(busy) / servers as f64,
                mean_queue_length: per_time(waiting),
                mean_in_system: per_time(waiting + busy),
                mean_wait: ns(wait / offered().count() as u64),
                served: served.count() as u64,
                offered: offered().count() as u64,
            });
        }
    }
}
