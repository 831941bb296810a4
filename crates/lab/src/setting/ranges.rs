//! Ranges that several settings of the cluster share.

use slotcast_units::{Share, Span};

use super::kind::{Kind, share};

pub(super) const NO_TIME: Span = Span::ZERO;
pub(super) const HOUR: Span = Span::from_secs(3600);
pub(super) const SECOND: Span = Span::from_secs(1);
pub(super) const ANY_PART: Kind = share(Share::ZERO, Share::ONE);
// Headers and control messages may take much of a link, but something must be left for payload.
pub(super) const MOST: Share = Share::from_percent(90);
