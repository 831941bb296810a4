//! Whether a chunk is held here, without a window.

use alloc::vec::Vec;

use super::{Holdings, Target, TargetEffect};
use crate::message::{FindAnswer, FindReply, FindRequest, Message};

impl Target {
    pub(super) fn find_request(
        &mut self,
        m: &FindRequest,
        holdings: &impl Holdings,
        effects: &mut Vec<TargetEffect>,
    ) {
        if m.group != self.config.group {
            self.rejected += 1;
            return;
        }
        let replicas = || holdings.replicas_of(&m.chunk);
        let held = holdings.size_of(&m.chunk);
        let held = held.map(|size| (size, replicas())).filter(|(_, replicas)| *replicas > 0);
        let held = held.map(|(size, replicas)| FindAnswer::Held { size, replicas });
        let answer = held.unwrap_or(FindAnswer::NotHeld);
        let reply = FindReply { request: m.request, position: self.config.position, answer };
        let message = Message::FindReply(reply);
        effects.push(TargetEffect::Send { to: m.request.initiator, message });
    }
}
