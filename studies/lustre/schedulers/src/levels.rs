//! Priorities.

use alloc::boxed::Box;
use alloc::vec::Vec;

use slotcast_units::Time;

use crate::request::Request;
use crate::scheduler::Scheduler;

/// How levels of priority share the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LevelRule {
    /// A level is served only while all above it are empty: the lower ones may starve.
    Strict,
    /// In a round each level gets up to this many requests, from the highest level down; published
    /// runs take 10 to 1. Levels beyond the list get one.
    Quantum(Vec<u32>),
}

/// Classes as levels of priority, class 0 the highest, each with its own order inside; classes beyond
/// the last level belong to it.
///
/// Beyond the inner schedulers O(number of levels).
#[derive(Debug)]
pub struct Levels {
    rule: LevelRule,
    levels: Vec<Box<dyn Scheduler>>,
    /// What each level may still be given in this round.
    budgets: Vec<u32>,
}

impl Levels {
    /// From the highest level down.
    ///
    /// # Panics
    /// Without a level.
    pub fn new(rule: LevelRule, levels: Vec<Box<dyn Scheduler>>) -> Levels {
        assert!(!levels.is_empty(), "priorities need at least one level");
        let mut made = Levels { rule, levels, budgets: Vec::new() };
        made.refill();
        made
    }

    fn refill(&mut self) {
        let quantum = |level: usize| match &self.rule {
            LevelRule::Strict => u32::MAX,
            LevelRule::Quantum(quanta) => quanta.get(level).map_or(1, |quantum| (*quantum).max(1)),
        };
        self.budgets = (0..self.levels.len()).map(quantum).collect();
    }

    fn level(&mut self, request: &Request) -> &mut dyn Scheduler {
        let last = self.levels.len() - 1;
        &mut *self.levels[usize::from(request.class.0).min(last)]
    }

    /// From the highest level that has budget and a request that may start.
    fn take_in_budget(&mut self, now: Time) -> Option<Request> {
        for (level, budget) in self.levels.iter_mut().zip(&mut self.budgets) {
            if *budget == 0 {
                continue;
            }
            if let Some(request) = level.take(now) {
                if self.rule != LevelRule::Strict {
                    *budget -= 1;
                }
                return Some(request);
            }
        }
        None
    }
}

impl Scheduler for Levels {
    fn add(&mut self, now: Time, request: Request) {
        self.level(&request).add(now, request);
    }

    fn take(&mut self, now: Time) -> Option<Request> {
        if let Some(request) = self.take_in_budget(now) {
            return Some(request);
        }
        if self.is_empty() {
            return None;
        }
        self.refill();
        self.take_in_budget(now)
    }

    fn remove(&mut self, request: &Request) -> bool {
        self.level(request).remove(request)
    }

    fn finished(&mut self, now: Time, request: &Request) {
        self.level(request).finished(now, request);
    }

    fn wake_at(&self, now: Time) -> Option<Time> {
        self.levels.iter().filter_map(|level| level.wake_at(now)).min()
    }

    fn len(&self) -> usize {
        self.levels.iter().map(|level| level.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fcfs::Fcfs;
    use crate::request::ClassId;
    use crate::testing::{order, write};
    use alloc::vec;

    fn levels(rule: LevelRule) -> Levels {
        let fcfs = || Box::new(Fcfs::default()) as Box<dyn Scheduler>;
        let mut levels = Levels::new(rule, vec![fcfs(), fcfs()]);
        for id in 1..=3 {
            levels.add(Time::ZERO, Request { class: ClassId(1), ..write(id, 1, 0) });
        }
        for id in 11..=15 {
            levels.add(Time::ZERO, Request { class: ClassId(0), ..write(id, 1, 0) });
        }
        levels
    }

    #[test]
    fn strict_levels_come_one_after_another() {
        let mut levels = levels(LevelRule::Strict);
        assert_eq!(order(&mut levels), vec![11, 12, 13, 14, 15, 1, 2, 3]);
    }

    #[test]
    fn quanta_share_by_count() {
        let mut levels = levels(LevelRule::Quantum(vec![2, 1]));
        assert_eq!(order(&mut levels), vec![11, 12, 1, 13, 14, 2, 15, 3]);
    }

    #[test]
    fn a_class_beyond_the_last_level_belongs_to_it() {
        let mut levels = levels(LevelRule::Strict);
        levels.add(Time::ZERO, Request { class: ClassId(9), ..write(20, 1, 0) });
        assert_eq!(order(&mut levels).last(), Some(&20));
    }
}
