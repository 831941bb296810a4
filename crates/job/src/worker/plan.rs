//! The plan: unit 0, which makes the others, so that they are there for everybody before it goes on.

use alloc::vec::Vec;

use slotcast_units::Time;

use super::{About, Answer, Ask, Effect, OfHeld, Place, Worker};
use crate::mistake::Mistake;
use crate::page::Page;
use crate::record::{Cursor, Range, UnitRecord};
use crate::template::Template;
use crate::text::{JobText, Selection};

/// Units that are made before the plan says so in its record.
const AT_A_TIME: u32 = 8;

/// The most names of a unit.
const MAX_UNIT: u32 = 4096;

/// How many names the unit of this number has: the first ones few, so that small jobs are spread.
pub(super) fn size_of(first: u32, unit: u32) -> u32 {
    let doublings = (unit / 16).min(16);
    (u64::from(first) << doublings).min(u64::from(MAX_UNIT)) as u32
}

impl Worker {
    /// Makes the next unit, or asks for what it needs to know.
    pub(super) fn plan(&mut self, now: Time, place: Place, effects: &mut Vec<Effect>) {
        let first = self.rules.first_unit;
        let Some(text) = self.jobs.get(&place.job).and_then(|job| job.text.clone()) else { return };
        let Some(held) = self.held_mut(place) else { return };
        let saved = (held.record.cursor.clone(), held.record.units);
        let (cursor, units) = held.planned.clone().unwrap_or_else(|| saved.clone());
        if cursor == Cursor::End || units >= saved.1 + AT_A_TIME {
            let mut record = UnitRecord { cursor, units, ..held.record.clone() };
            if record.cursor == Cursor::End {
                record.is_done = true;
                record.lease = None;
            }
            held.pending = Some(record);
            held.planned = None;
            return self.swap(now, place, effects);
        }
        let size = size_of(first, units + 1);
        match next_range(&text, &cursor, size) {
            Some((range, next)) => {
                self.create(place, (range, next), effects);
            }
            None => {
                held.is_paging = true;
                let ask = Ask::Page(place.job, Range::Plan, cursor, size);
                self.ask(About::OfHeld(place, OfHeld::Page), ask, effects);
            }
        }
    }

    /// The plan has seen which names come next.
    pub(super) fn planned_page(&mut self, place: Place, page: Page, effects: &mut Vec<Effect>) {
        let Some(held) = self.held_mut(place) else { return };
        held.is_paging = false;
        held.backoff = 0;
        let saved = (held.record.cursor.clone(), held.record.units);
        let (cursor, _) = held.planned.clone().unwrap_or(saved);
        let after = match cursor {
            Cursor::After(name) => Some(name),
            _ => None,
        };
        let upto = match &page.cursor {
            Cursor::After(name) => Some(name.clone()),
            // The last unit has no end: what is put after it is seen belongs to it.
            _ => None,
        };
        let range = Range::Names { after, upto };
        self.create(place, (range, page.cursor), effects);
    }

    fn create(&mut self, place: Place, (range, next): (Range, Cursor), effects: &mut Vec<Effect>) {
        let Some(held) = self.held_mut(place) else { return };
        let (_, units) = held.planned.clone().unwrap_or((Cursor::Start, held.record.units));
        let unit = units + 1;
        held.is_paging = true;
        let record = UnitRecord::new(range);
        // Where the plan goes on is in the record for the answer, and not in that of the unit.
        let kept = UnitRecord { cursor: next, units: unit, ..record.clone() };
        let about = About::OfHeld(place, OfHeld::Create(kept));
        self.ask(about, Ask::SwapUnit(place.job, unit, None, record), effects);
    }

    pub(super) fn created(
        &mut self,
        now: Time,
        place: Place,
        (kept, answer): (UnitRecord, Answer),
        effects: &mut Vec<Effect>,
    ) {
        let (rules, over) = (self.rules, self.makes(Mistake::PlansOver));
        let Some(held) = self.held_mut(place) else { return };
        held.is_paging = false;
        match answer {
            Answer::Swapped(_) => held.planned = Some((kept.cursor, kept.units)),
            Answer::Lost if over => held.planned = Some((kept.cursor, kept.units)),
            Answer::Lost => {
                // An earlier holder of the plan has made it, perhaps from another page: the plan goes on where that ends.
                held.is_paging = true;
                let ask = Ask::Unit(place.job, kept.units);
                self.ask(About::OfHeld(place, OfHeld::Found), ask, effects);
            }
            _ => held.back_off(now, &rules),
        }
    }

    pub(super) fn found(&mut self, now: Time, place: Place, answer: Answer) {
        let rules = self.rules;
        let text = self.jobs.get(&place.job).and_then(|job| job.text.clone());
        let Some(held) = self.held_mut(place) else { return };
        held.is_paging = false;
        let (_, units) = held.planned.clone().unwrap_or((Cursor::Start, held.record.units));
        let (Answer::Unit(Some((_, record))), Some(text)) = (answer, text) else {
            return held.back_off(now, &rules);
        };
        held.planned = Some((goes_on(&text, &record.range), units + 1));
    }
}

/// The range of the next unit where it need not be listed, and where the plan goes on after it.
fn next_range(text: &JobText, cursor: &Cursor, size: u32) -> Option<(Range, Cursor)> {
    let from = match cursor {
        Cursor::Count(count) => *count,
        _ => 0,
    };
    let (count, size) = match &text.select {
        Selection::All | Selection::Glob(_) => return None,
        Selection::Template(template) => {
            (Template::new(template).map_or(0, |of| of.count()), u64::from(size))
        }
        Selection::List(parts) => (u64::from(*parts), 1),
    };
    let end = from.saturating_add(size).min(count);
    let range = match &text.select {
        Selection::List(_) => Range::List(from as u32),
        _ => Range::Numbers { from, end },
    };
    Some((range.clone(), goes_on(text, &range)))
}

/// Where the plan goes on after a unit of this range.
fn goes_on(text: &JobText, range: &Range) -> Cursor {
    let counted = |end: u64, count: u64| match end >= count {
        true => Cursor::End,
        false => Cursor::Count(end),
    };
    match (range, &text.select) {
        (Range::Names { upto: Some(upto), .. }, _) => Cursor::After(upto.clone()),
        (Range::Numbers { end, .. }, Selection::Template(template)) => {
            counted(*end, Template::new(template).map_or(0, |of| of.count()))
        }
        (Range::List(part), Selection::List(parts)) => {
            counted(u64::from(*part) + 1, u64::from(*parts))
        }
        _ => Cursor::End,
    }
}

#[cfg(test)]
mod tests {
    use super::size_of;

    #[test]
    fn later_units_have_more_names_up_to_a_bound() {
        assert_eq!([1, 15, 16, 32, 10_000].map(|unit| size_of(32, unit)), [32, 32, 64, 128, 4096]);
        // A thousand names are spread over all nodes of a small cluster.
        let mut units = 0;
        let mut names = 0;
        while names < 999 {
            units += 1;
            names += size_of(32, units);
        }
        assert!((16..32).contains(&units), "{units}");
    }
}
