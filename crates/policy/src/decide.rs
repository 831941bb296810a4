//! What policies decide about a request.

use core::net::IpAddr;

use crate::document::Effect;
use crate::policy::Policy;

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who<'a> {
    /// Somebody without credentials.
    Anonymous,
    /// The user of this name.
    User(&'a str),
}

/// What is known of a request beside who asks for what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Context<'a> {
    /// The address that it comes from.
    pub source: Option<IpAddr>,
    /// Whether it was encrypted on its way (TLS).
    pub is_encrypted: bool,
    /// What the names begin with that it lists.
    pub prefix: Option<&'a str>,
}

/// Somebody wants to do something with something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// Who.
    pub who: Who<'a>,
    /// What: one of [`ACTIONS`](crate::ACTIONS).
    pub action: &'a str,
    /// With what, as in `arn:aws:s3:::bucket/key`.
    pub resource: &'a str,
    /// Under which circumstances.
    pub context: Context<'a>,
}

/// What policies say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Some statement allows it, and none denies it.
    Allowed,
    /// Some statement denies it.
    Denied,
    /// No statement says anything of it: so it is not allowed.
    NotAllowed,
}

/// What all these policies together decide: one denial is enough to deny, one permission to allow, and what nobody mentions
/// is not allowed. Their order has no effect.
pub fn decide<'a>(
    policies: impl IntoIterator<Item = &'a Policy>,
    request: &Request<'_>,
) -> Decision {
    let mut decision = Decision::NotAllowed;
    for statement in policies.into_iter().flat_map(|policy| &policy.statements) {
        if !statement.counts(request) {
            continue;
        }
        match statement.effect {
            Effect::Deny => return Decision::Denied,
            Effect::Allow => decision = Decision::Allowed,
        }
    }
    decision
}
