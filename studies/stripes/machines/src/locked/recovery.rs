use alloc::vec::Vec;

use crate::code::Code;
use crate::content::Content;
use crate::lineage::{Lineage, Vector, same_stamps};
use crate::locked::message::Message;
use crate::locked::{Effect, send};
use crate::machine::Peer;

/// The lock server makes a stripe consistent that may not be: after a lease ended, after a server lost
/// its content, and after a restart of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Recovery<C> {
    code: Code,
    /// The holding that it works under.
    pub(super) token: u64,
    step: Step<C>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Step<C> {
    /// What each server has said that it has; data units first. Inside, `None` for nothing.
    Sealing(Vec<Option<Option<Vector>>>),
    /// What to rebuild, and the contents that it takes, as they come.
    Reading(Plan, Vec<(u8, Option<C>)>),
    /// What is being written: place, header, content, and whether it is durable.
    Writing(Vec<(u8, Vector, C, bool)>),
}

/// The units to rebuild, and the vector that the stripe is to have.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Plan {
    vector: Vector,
    rebuilt: Vec<u8>,
}

/// How a recovery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    UnderWay,
    /// Parity fits the data.
    Consistent,
    /// Data units are gone for good.
    Lost,
}

impl<C: Content> Recovery<C> {
    pub(super) fn new(code: Code, token: u64) -> Recovery<C> {
        let places = usize::from(code.data() + code.parity());
        Recovery { code, token, step: Step::Sealing(alloc::vec![None; places]) }
    }

    /// Asks, for the first time or again, for what is missing.
    pub(super) fn ask(&self, effects: &mut Vec<Effect<C>>) {
        let token = self.token;
        match &self.step {
            Step::Sealing(answers) => {
                for (place, answer) in (0..).zip(answers) {
                    if answer.is_none() {
                        send(effects, self.peer(place), Message::Seal { token });
                    }
                }
            }
            Step::Reading(_, pieces) => {
                for (place, content) in pieces {
                    if content.is_none() {
                        let message = Message::Read { echo: token, have: None };
                        send(effects, self.peer(*place), message);
                    }
                }
            }
            Step::Writing(writes) => {
                for (place, header, content, durable) in writes {
                    if !durable {
                        let (header, content) = (header.clone(), content.clone());
                        let message = Message::Write { token, header, content };
                        send(effects, self.peer(*place), message);
                    }
                }
            }
        }
    }

    /// Whether it counts on what the server at `place` said: on its content, or on its promise to take
    /// no older write. A server that loses its disk loses both.
    pub(super) fn counts_on(&self, place: u8) -> bool {
        match &self.step {
            Step::Sealing(answers) => answers[usize::from(place)].is_some(),
            Step::Reading(..) | Step::Writing(_) => true,
        }
    }

    fn peer(&self, place: u8) -> Peer {
        place.checked_sub(self.code.data()).map_or(Peer::Data(place), Peer::Parity)
    }

    /// The place of a server: data units first, then parity units.
    pub(super) fn place(code: Code, peer: Peer) -> Option<u8> {
        match peer {
            Peer::Data(unit) if unit < code.data() => Some(unit),
            Peer::Parity(parity) if parity < code.parity() => Some(code.data() + parity),
            _ => None,
        }
    }

    /// A server is sealed, and has this.
    pub(super) fn sealed(
        &mut self,
        place: u8,
        header: Option<Vector>,
        effects: &mut Vec<Effect<C>>,
    ) -> Progress {
        let Step::Sealing(answers) = &mut self.step else { return Progress::UnderWay };
        answers[usize::from(place)] = Some(header);
        let Some(headers) = answers.iter().cloned().collect::<Option<Vec<_>>>() else {
            return Progress::UnderWay;
        };
        let Some((plan, pieces)) = plan(self.code, &headers) else { return Progress::Lost };
        if plan.rebuilt.is_empty() {
            return Progress::Consistent;
        }
        let pieces = pieces.into_iter().map(|place| (place, None)).collect();
        self.step = Step::Reading(plan, pieces);
        self.ask(effects);
        Progress::UnderWay
    }

    /// The content of a sealed server.
    pub(super) fn read(&mut self, place: u8, content: C, effects: &mut Vec<Effect<C>>) {
        let Step::Reading(plan, pieces) = &mut self.step else { return };
        if let Some((_, piece)) = pieces.iter_mut().find(|(other, _)| *other == place) {
            *piece = Some(content);
        }
        let known = pieces.iter().map(|(place, content)| Some((*place, content.as_ref()?)));
        let Some(known) = known.collect::<Option<Vec<_>>>() else { return };
        let rebuilt = plan.rebuilt.iter().map(|&place| {
            let header = match plan.vector.get(usize::from(place)) {
                Some(lineage) => alloc::vec![lineage.clone()],
                None => plan.vector.clone(),
            };
            Some((place, header, self.code.recover(place, &known)?, false))
        });
        if let Some(writes) = rebuilt.collect() {
            self.step = Step::Writing(writes);
            self.ask(effects);
        }
    }

    /// A rebuilt unit is durable.
    pub(super) fn stored(&mut self, place: u8) -> Progress {
        let Step::Writing(writes) = &mut self.step else { return Progress::UnderWay };
        for (_, _, _, durable) in writes.iter_mut().filter(|(other, ..)| *other == place) {
            *durable = true;
        }
        match writes.iter().all(|(_, _, _, durable)| *durable) {
            true => Progress::Consistent,
            false => Progress::UnderWay,
        }
    }
}

/// What to rebuild and from which places, if the stripe can be saved.
///
/// With all data units there, parity that does not fit is computed anew. Otherwise the missing data
/// units come from parity that fits the others: a parity unit that a client had begun to change does
/// not, and so a lost server and a client that died in an update may be one failure too many.
fn plan(code: Code, headers: &[Option<Vector>]) -> Option<(Plan, Vec<u8>)> {
    let (data, parity) = headers.split_at(usize::from(code.data()));
    let lineages: Vec<Option<&Lineage>> =
        data.iter().map(|header| header.as_ref().and_then(|header| header.first())).collect();
    let fits = |vector: &Vector| {
        let mut pairs = lineages.iter().zip(vector);
        pairs.all(|(lineage, included)| lineage.is_none_or(|l| l.stamp == included.stamp))
    };
    let complete: Option<Vector> = lineages.iter().map(|lineage| lineage.cloned()).collect();
    let candidates = complete.into_iter().chain(parity.iter().flatten().cloned());
    candidates.filter(fits).find_map(|vector| {
        let sound = |place: &u8| match &headers[usize::from(*place)] {
            None => false,
            Some(header) => *place < code.data() || same_stamps(header, &vector),
        };
        let (sound, rebuilt): (Vec<u8>, Vec<u8>) =
            (0..code.data() + code.parity()).partition(sound);
        let enough = sound.len() >= usize::from(code.data());
        let pieces = sound.into_iter().take(usize::from(code.data())).collect();
        enough.then_some((Plan { vector, rebuilt }, pieces))
    })
}
