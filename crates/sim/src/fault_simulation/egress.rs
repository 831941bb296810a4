//! Whether an initiator sends what it was granted: in its windows, and one thing at a time.

use std::collections::BTreeMap;

use slotcast_protocol::tape::InitiatorEntry;
use slotcast_protocol::{GroupId, InitiatorEffect, Message, RequestId, Window};
use slotcast_units::{Rate, Span, Time};

/// What one initiator has accepted and sent.
#[derive(Debug, Default)]
pub(super) struct Egress {
    granted: BTreeMap<(RequestId, u8), Window>,
    /// The transfers that are not over, with their ends.
    leaving: Vec<(RequestId, Window)>,
}

impl Egress {
    /// All is forgotten: the initiator has started anew.
    pub(super) fn clear(&mut self) {
        (self.granted, self.leaving) = (BTreeMap::new(), Vec::new());
    }

    /// The initiator did something. Says what should not have been.
    pub(super) fn did(&mut self, entry: &InitiatorEntry, rate: Rate) -> Option<String> {
        let mut found = None;
        for effect in &entry.did {
            match effect {
                InitiatorEffect::Multicast { message: Message::PutAccept(accept), .. } => {
                    let windows = accept.grants.iter();
                    let granted = windows.map(|g| ((accept.request, g.position), g.window));
                    self.granted.extend(granted);
                }
                InitiatorEffect::Transfer { request, size, group, to, start, .. } => {
                    let window = Window::new(*start, rate.time_for(*size));
                    found = found.or_else(|| self.outside(*request, *group, to.iter(), window));
                    found = found.or_else(|| self.beside(*request, window));
                    self.leaving.retain(|(_, other)| other.end > entry.now);
                    self.leaving.push((*request, window));
                }
                InitiatorEffect::PutDone { request, .. }
                | InitiatorEffect::Failed { request, .. } => {
                    self.granted.retain(|(of, _), _| of != request);
                }
                _ => {}
            }
        }
        found
    }

    /// Whether `start` is when a transfer of the request was to leave, or one of so many that follow it one after
    /// another.
    pub(super) fn is_planned(
        &self,
        request: RequestId,
        start: Time,
        length: Span,
        count: u64,
    ) -> bool {
        let mut of_request = self.leaving.iter().filter(|(of, _)| *of == request);
        of_request.any(|(_, window)| (0..count).any(|n| window.start + length * n == start))
    }

    fn outside(
        &self,
        request: RequestId,
        group: GroupId,
        to: impl Iterator<Item = u8>,
        window: Window,
    ) -> Option<String> {
        let mut windows = to.map(|position| (position, self.granted.get(&(request, position))));
        let (position, granted) = windows.find(|(_, granted)| {
            granted.is_none_or(|granted| granted.start > window.start || granted.end < window.end)
        })?;
        let granted = granted.map_or("nothing".into(), ToString::to_string);
        let group = group.0;
        Some(format!(
            "{request} is sent in {window} to {position} of group {group}, which granted {granted}"
        ))
    }

    /// A link sends one chunk at a time.
    fn beside(&self, request: RequestId, window: Window) -> Option<String> {
        let (other, at) = self.leaving.iter().find(|(_, other)| other.overlaps(&window))?;
        Some(format!("{request} is sent in {window}, and {other} in {at}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_protocol::tape::InitiatorHeard;
    use slotcast_protocol::{ChunkId, Delivery, Grant, Grants, InitiatorId, Members, PutAccept};
    use slotcast_units::Size;

    #[test]
    fn what_is_sent_outside_of_its_window_or_beside_another_is_found() {
        let at = |us: u64| Time::ZERO + Span::from_us(us);
        let request = |serial| RequestId { initiator: InitiatorId(1), serial };
        let window = |start, end| Window { start: at(start), end: at(end) };
        let rate = Rate::from_bytes_per_s(1_000_000);
        let put = |egress: &mut Egress, serial, granted, start| {
            let grants = Grants::from_iter([Grant { position: 2, window: granted }]);
            let (round, delivery) = (0, Delivery::Unicast);
            let accept = PutAccept { request: request(serial), round, delivery, grants };
            let (group, to) = (GroupId(0), Members::only(2));
            let message = Message::PutAccept(accept);
            let did = vec![
                InitiatorEffect::Multicast { group, to, message },
                InitiatorEffect::Transfer {
                    request: request(serial),
                    chunk: ChunkId([1; 32]),
                    size: Size::from_bytes(100),
                    group,
                    to,
                    start: at(start),
                },
            ];
            let entry = InitiatorEntry { now: at(1), heard: InitiatorHeard::Wake, did };
            egress.did(&entry, rate)
        };
        let mut egress = Egress::default();
        assert_eq!(put(&mut egress, 1, window(100, 210), 105), None);
        assert_eq!(put(&mut egress, 2, window(210, 320), 210), None);
        assert!(put(&mut egress, 3, window(309, 420), 309).is_some(), "beside the other");
        assert!(put(&mut egress, 4, window(500, 600), 501).is_some(), "its end is too late");
        assert!(put(&mut egress, 5, window(700, 900), 699).is_some(), "its start is too early");
    }
}
