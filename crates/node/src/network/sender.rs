//! Sends chunks piece by piece, at the pace that the member says.

use std::sync::Arc;

use crossbeam_channel::{Receiver, RecvTimeoutError};
use slotcast_member::Pass;
use slotcast_schedule::TokenBucket;
use slotcast_transport::HEADER_LEN;
use slotcast_units::{Size, Span, Time};

use super::{Listener, Shared};

/// What the sender is told.
pub(super) enum ToSender {
    Pass(Box<Pass>),
    Stop,
}

/// A pass on its way.
struct Leaving {
    pass: Box<Pass>,
    /// How many of its pieces have left.
    sent: usize,
    due: Time,
}

/// The sending thread.
pub(super) struct Passes {
    shared: Arc<Shared>,
    inbox: Receiver<ToSender>,
    listener: Arc<dyn Listener>,
    leaving: Vec<Leaving>,
    buffer: Vec<u8>,
    /// How many pieces leave with one call of the system.
    at_a_time: usize,
    /// What chunks may take of the link, if that is limited.
    limit: Option<TokenBucket>,
}

/// The longest that one call of the system can send.
const BATCH: usize = 65_000;

/// How far a sender that is late may catch up at full speed.
const CATCH_UP: Span = Span::from_us(500);

impl Passes {
    pub(super) fn new(
        shared: Arc<Shared>,
        inbox: Receiver<ToSender>,
        listener: Arc<dyn Listener>,
        datagram: usize,
        limit: Option<TokenBucket>,
    ) -> Passes {
        let at_a_time = (BATCH / datagram).max(1);
        let (leaving, buffer) = (Vec::new(), Vec::with_capacity(BATCH));
        Passes { shared, inbox, listener, leaving, buffer, at_a_time, limit }
    }

    pub(super) fn run(mut self) {
        loop {
            let wake = self.send_due();
            let deadline = self.shared.clock.instant(wake);
            match self.inbox.recv_deadline(deadline) {
                Ok(ToSender::Pass(pass)) => {
                    let due = pass.start;
                    self.leaving.push(Leaving { pass, sent: 0, due });
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(ToSender::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Sends one batch of every pass that is due; says when the next one will be.
    fn send_due(&mut self) -> Time {
        // What is told comes at once; this bounds only how long nothing is looked at.
        let mut wake = self.shared.clock.now() + Span::from_secs(1);
        let mut i = 0;
        while i < self.leaving.len() {
            let now = self.shared.clock.now();
            let may_send = self.limit.map_or(now, |limit| limit.paid_at(now));
            if may_send > now {
                // Whoever is next takes its turn then: the others come after it.
                return wake.min(may_send);
            }
            if self.leaving[i].due > now {
                wake = wake.min(self.leaving[i].due);
                i += 1;
                continue;
            }
            // What is too late is of no use: with it those behind would be too late as well.
            let is_over = self.leaving[i].pass.give_up <= now;
            if !is_over {
                self.send_batch(now, i);
            }
            if is_over || self.leaving[i].sent == self.leaving[i].pass.pieces.len() {
                let over = self.leaving.swap_remove(i);
                self.listener.left(over.pass.transfer);
            } else {
                wake = wake.min(self.leaving[i].due);
                i += 1;
            }
        }
        wake
    }

    fn send_batch(&mut self, now: Time, i: usize) {
        let Leaving { pass, sent, due } = &mut self.leaving[i];
        let end = pass.pieces.len().min(*sent + self.at_a_time);
        self.buffer.clear();
        let mut segment = HEADER_LEN;
        let first = self.shared.number((end - *sent) as u64);
        let keyring = self.shared.keyring();
        for (sequence, n) in (first..).zip(*sent..end) {
            let datagram = pass.datagram(n, (now, sequence), pass.value(n));
            let length = keyring.write(&datagram, &mut self.buffer);
            segment = segment.max(length);
        }
        let datagrams = (end - *sent) as u64;
        self.shared.send(pass.to, &self.buffer, segment, datagrams);
        if let Some(limit) = &mut self.limit {
            limit.take(now, Size::from_bytes(self.buffer.len() as u64));
        }
        *due = (*due).max(now.saturating_sub(CATCH_UP)) + pass.piece_time * datagrams;
        *sent = end;
    }
}
