//! UCH-AIMD: additive increase, multiplicative decrease (SURGE model m6).
//!
//! A sender adds one step to its rate for every frame and control message worth of bits that went
//! out without complaint, and halves it on a *ding*. A target looks at what arrived at most once in
//! a frame time and three trips: with a full disk queue it dings every sender that it saw, and
//! otherwise, if two or more frames came closer to each other than one frame time, one of them.
//!
//! Unlike UCH-CCP's senders, these can offer a port more than it carries: what does not fit waits in
//! the switch, which loses nothing.

use slotcast_engine::Agenda;
use slotcast_units::{Rate, Size, Time};

use super::flow::{Flow, FlowState};
use super::{Event, Rules, UnicastModel};

/// How many frames must come too close before a sender is dinged.
const TOO_CLOSE: usize = 2;

/// A sender with less than this many frames left is not worth a ding.
const SPARED_FRAMES: u64 = 3;

/// What a target has seen since it last looked.
#[derive(Debug, Default)]
pub(super) struct Congestion {
    arrivals: Vec<(Time, u32, u16)>,
    last_look: Time,
}

/// The rate of `flow` grows with what it sent.
pub(super) fn frame_sent(flow: &mut Flow, bits: u64, rules: &Rules) {
    flow.unpunished_bits += bits;
    let step_bits = rules.burst_bits;
    if flow.unpunished_bits >= step_bits {
        flow.unpunished_bits -= step_bits;
        let faster = Rate::from_bps(flow.rate().as_bps() + rules.aimd_step.as_bps());
        flow.set_rate(flow.boundary(), faster.min(rules.usable));
    }
}

impl UnicastModel {
    /// A frame arrived at a target.
    pub(super) fn watch_congestion(
        &mut self,
        now: Time,
        slot: u32,
        serial: u16,
        agenda: &mut Agenda<Event>,
    ) {
        let target = self.flows.get(slot).target;
        let frame_time = self.rules.usable.time_for(self.rules.frame);
        let disk_full = self.full_queue(now, target).is_some();
        let congestion = &mut self.targets[target as usize].congestion;
        congestion.arrivals.push((now, slot, serial));
        if now.saturating_since(congestion.last_look) <= frame_time + self.rules.trip * 3 {
            return;
        }
        congestion.last_look = now;
        let arrivals = std::mem::take(&mut congestion.arrivals);
        let close = arrivals
            .windows(2)
            .filter(|pair| pair[1].0.saturating_since(pair[0].0) < frame_time)
            .count();
        let mut dinged: Vec<u32> = Vec::new();
        if disk_full || close >= TOO_CLOSE {
            for &(_, slot, serial) in &arrivals {
                let flow = self.flows.get_mut(slot);
                let alive = flow.serial == serial && flow.state == FlowState::Sending;
                let few_left = flow.missing(now, self.rules.trip)
                    < Size::from_bytes(self.rules.frame.as_bytes() * SPARED_FRAMES);
                let just_dinged = now.saturating_since(flow.last_cut) < frame_time;
                if !alive || few_left || just_dinged || dinged.contains(&slot) {
                    continue;
                }
                flow.last_cut = now;
                dinged.push(slot);
                if !disk_full {
                    break;
                }
            }
        }
        let arrival = now + self.one_way();
        for &slot in &dinged {
            let serial = self.flows.get(slot).serial;
            if self.watch.is_some() {
                self.watch_to_initiator("ding", now, slot);
            }
            agenda.at(arrival, Event::Ding { flow: slot, serial });
        }
        // Give the buffer back, to be used again.
        let mut arrivals = arrivals;
        arrivals.clear();
        self.targets[target as usize].congestion.arrivals = arrivals;
    }

    /// A sender is told to slow down.
    pub(super) fn dinged(&mut self, now: Time, slot: u32, serial: u16) {
        let floor = self.rules.aimd_step;
        let flow = self.flows.get_mut(slot);
        if flow.serial != serial || flow.state != FlowState::Sending {
            return;
        }
        flow.unpunished_bits = 0;
        let half = Rate::from_bps(flow.rate().as_bps() / 2);
        flow.set_rate(now, half.max(floor));
    }
}
