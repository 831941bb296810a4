//! How many chunks each disk has to do, as a counter of its own.

use std::collections::VecDeque;

use serde_json::Value;
use slotcast_units::Time;

use super::json::Events;
use super::span::TraceSpan;

/// The queue of one disk.
#[derive(Debug, Clone)]
pub(super) struct DiskQueue {
    /// Of its target.
    pid: u32,
    name: String,
    /// When each chunk will be done, in order.
    ends: VecDeque<Time>,
    /// What was counted last.
    counted: usize,
    is_shown: bool,
}

impl DiskQueue {
    /// For the disk `number` of the target that is process `pid`.
    pub(super) fn new(pid: u32, number: u32) -> DiskQueue {
        let name = match number {
            0 => "disk queue".to_string(),
            _ => format!("disk queue {}", number + 1),
        };
        DiskQueue { pid, name, ends: VecDeque::new(), counted: 0, is_shown: false }
    }

    /// A chunk that comes `now` will be done at `end`.
    pub(super) fn push(&mut self, now: Time, end: Time, span: TraceSpan, events: &mut Events<'_>) {
        self.advance(now, span, events);
        while self.ends.front().is_some_and(|&end| end <= now) {
            self.ends.pop_front();
        }
        self.ends.push_back(end);
        self.count(now, span, events);
    }

    /// Counts what was done before `now`.
    pub(super) fn advance(&mut self, now: Time, span: TraceSpan, events: &mut Events<'_>) {
        while let Some(&end) = self.ends.front().filter(|&&end| end < now) {
            self.ends.pop_front();
            self.count(end, span, events);
        }
    }

    /// Writes the length of the queue from `at` on, and with the first change within the span what it
    /// was before.
    fn count(&mut self, at: Time, span: TraceSpan, events: &mut Events<'_>) {
        let before = std::mem::replace(&mut self.counted, self.ends.len());
        if at < span.from || at >= span.to {
            return;
        }
        let mut write = |at, chunks: usize| {
            events.counter(self.pid, &self.name, at, &[("chunks", Value::from(chunks))]);
        };
        if !std::mem::replace(&mut self.is_shown, true) && at > span.from {
            write(span.from, before);
        }
        write(at, self.counted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_and_departures_are_counted_in_order() {
        let mut out = Vec::new();
        let mut events = Events::open(&mut out, &Value::Null);
        let span = TraceSpan { from: Time::from_ns(12_000), to: Time::from_ns(60_000) };
        let mut queue = DiskQueue::new(7, 1);
        let us = |us: u64| Time::from_ns(us * 1000);
        for (now, end) in [(0, 10), (5, 20), (11, 30), (30, 40), (35, 50), (70, 80)] {
            queue.push(us(now), us(end), span, &mut events);
        }
        queue.advance(us(100), span, &mut events);
        events.close().unwrap();
        let json: Value = serde_json::from_slice(&out).unwrap();
        let counted: Vec<(f64, u64)> = json["traceEvents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| (e["ts"].as_f64().unwrap(), e["args"]["chunks"].as_u64().unwrap()))
            .collect();
        assert_eq!(json["traceEvents"][0]["name"], "disk queue 2");
        let expected = [(12.0, 2), (20.0, 1), (30.0, 1), (35.0, 2), (40.0, 1), (50.0, 0)];
        assert_eq!(counted, expected);
    }
}
