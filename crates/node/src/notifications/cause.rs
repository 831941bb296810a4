//! Why an object changes: what those are told who want to know of it.

use slotcast_object::notification::EventKind;

use crate::access::Caller;

/// Why an object changes.
#[derive(Debug, Clone)]
pub struct Cause {
    /// As what it is told.
    pub kind: EventKind,
    /// Who asks for it, where that is known.
    pub caller: Option<Caller>,
    /// The number of the request, where it has one.
    pub request: Option<String>,
}

impl From<EventKind> for Cause {
    fn from(kind: EventKind) -> Cause {
        Cause { kind, caller: None, request: None }
    }
}

impl Cause {
    pub(super) fn user(&self) -> String {
        self.caller.as_ref().map(|caller| caller.name().to_owned()).unwrap_or_default()
    }

    pub(super) fn address(&self) -> String {
        let address = |caller: &Caller| caller.peer().address.ip().to_string();
        self.caller.as_ref().map(address).unwrap_or_default()
    }
}
