//! What clients see, and what a name that is kept in one place would have told them.

use stateright::semantics::{LinearizabilityTester, SequentialSpec};

/// A condition on the name, as a client states it: it knows versions by the operation that made them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Wanted {
    Always,
    Absent,
    /// The version that this operation made.
    Made(u8),
}

/// An operation of a client. The number tells it from all others, the letter is what it puts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Act {
    Put(u8, char, Wanted),
    Delete(u8),
    Read,
}

/// What a client is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Told {
    Done,
    /// There is nothing to delete.
    Nothing,
    /// The condition does not hold; the name names this.
    Failed(Option<char>),
    Holds(Option<char>),
}

/// A name that is kept in one place: which operation made its latest version, and what that is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Name(Option<(u8, char)>);

impl SequentialSpec for Name {
    type Op = Act;
    type Ret = Told;

    fn invoke(&mut self, act: &Act) -> Told {
        let letter = self.0.map(|(_, letter)| letter);
        match *act {
            Act::Put(number, put, wanted) => {
                let holds = match wanted {
                    Wanted::Always => true,
                    Wanted::Absent => self.0.is_none(),
                    Wanted::Made(by) => self.0.is_some_and(|(made, _)| made == by),
                };
                if !holds {
                    return Told::Failed(letter);
                }
                self.0 = Some((number, put));
                Told::Done
            }
            Act::Delete(_) => match self.0.take() {
                Some(_) => Told::Done,
                None => Told::Nothing,
            },
            Act::Read => Told::Holds(letter),
        }
    }
}

/// What all clients were told so far.
pub(super) type History = LinearizabilityTester<u8, Name>;
