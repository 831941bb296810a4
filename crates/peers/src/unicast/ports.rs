//! The ports of initiators and targets, and the rules that hold for all.

use slotcast_units::{Rate, Size, Span, Time};

use super::aimd::Congestion;
use super::bucket::Bucket;

#[derive(Debug)]
pub(super) struct InitiatorPort {
    pub(super) egress: Bucket,
    pub(super) next_serial: u32,
    /// Gets that arrive here.
    pub(super) incoming: Vec<u32>,
}

#[derive(Debug)]
pub(super) struct TargetPort {
    pub(super) ingress: Bucket,
    /// Puts that have asked and not ended, in order of arrival. With serial grants the first one
    /// has the link.
    pub(super) flows: Vec<u32>,
    /// Gets that leave here.
    pub(super) outgoing: Vec<u32>,
    pub(super) disk_rate: Rate,
    /// UCH-AIMD: until when the switch sends what it has for this target.
    pub(super) busy_until: Time,
    pub(super) congestion: Congestion,
}

impl TargetPort {
    /// A frame that leaves its sender at `now` joins the switch's queue for this target, which holds
    /// any number of frames and sends them at the rate of the link.
    /// Gives the time at which it begins to arrive.
    pub(super) fn queue_frame(&mut self, now: Time, rate: Rate, bits: u64, rules: &Rules) -> Time {
        let complete = now + rate.time_for_bits(bits) + rules.trip;
        let sent_in = rules.usable.time_for_bits(bits);
        let undisturbed = complete.saturating_sub(sent_in);
        let begin = self.busy_until.max(undisturbed);
        self.busy_until = begin + sent_in;
        begin
    }
}

/// What the settings say, in the form that handlers need.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) aimd: bool,
    pub(super) serial_grants: bool,
    pub(super) frame_by_frame: bool,
    pub(super) free_last_frame: bool,
    pub(super) replicas: usize,
    pub(super) usable: Rate,
    pub(super) aimd_step: Rate,
    pub(super) control: Span,
    pub(super) control_bits: u64,
    /// What a port passes on at once: one frame and one control message.
    pub(super) burst_bits: u64,
    pub(super) trip: Span,
    pub(super) frame: Size,
    pub(super) queue_limit: u64,
    /// Time of a disk for each request, beyond that of its bytes.
    pub(super) access: Span,
}
