//! How the cluster was laid out when a node used its targets last: a start with another layout would look for chunks
//! where they are not, and is refused.
//!
//! A layout is changed with a later epoch, and keeps the number of groups then, so that every chunk stays in its
//! group. That each target keeps its seat is seen by its own label.

use alloc::format;
use alloc::string::String;

use slotcast_protocol::LayoutDigest;

/// What is compared of a cluster's layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Version of the cluster map; 0 of a store in one process.
    pub epoch: u32,
    /// Number of negotiating groups.
    pub groups: u32,
    /// Of all that decides where a chunk belongs.
    pub digest: LayoutDigest,
}

/// The layout with which a node has used its targets last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastLayout {
    /// Nobody has kept it.
    Unknown,
    /// This one.
    Used(Layout),
    /// An operator has said that the next start may have any.
    Any,
}

/// Why a node does not start with its layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutChange {
    /// What is different.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

impl LastLayout {
    /// Whether a node that has used its targets with this layout may use them with layout `now`.
    ///
    /// # Errors
    /// What is different, and what to do about it.
    pub fn may_become(&self, now: &Layout) -> Result<(), LayoutChange> {
        let LastLayout::Used(before) = self else { return Ok(()) };
        if before.digest == now.digest {
            return Ok(());
        }
        let Layout { epoch, groups, digest } = before;
        let accept = "`slotcast target accept-layout` begins with it all the same, and what is \
                      stored may not be found until it was moved";
        if now.groups != *groups {
            return Err(LayoutChange {
                message: format!(
                    "the cluster map has {} negotiating groups, and the targets of this node were \
                     used with {groups}: chunks would be looked for in other groups",
                    now.groups
                ),
                remedy: format!(
                    "put the nodes, targets and group_size back as they were in epoch {epoch}, and \
                     change them with `slotcast cluster`; {accept}"
                ),
            });
        }
        if now.epoch > *epoch {
            return Ok(());
        }
        Err(LayoutChange {
            message: format!(
                "the cluster map of epoch {} has layout {}, and the targets of this node were used \
                 with layout {digest} of epoch {epoch}",
                now.epoch, now.digest
            ),
            remedy: format!(
                "is it the newest map? If it was changed on purpose, write it with epoch = {} for \
                 all nodes; {accept}",
                epoch.saturating_add(1)
            ),
        })
    }

    /// What is kept when the targets are used with layout `now`.
    #[must_use]
    pub fn after(&self, now: &Layout) -> LastLayout {
        match self {
            LastLayout::Used(before) if before.digest == now.digest => {
                LastLayout::Used(Layout { epoch: now.epoch.max(before.epoch), ..*now })
            }
            _ => LastLayout::Used(*now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(epoch: u32, groups: u32, digest: u8) -> Layout {
        Layout { epoch, groups, digest: LayoutDigest([digest; 8]) }
    }

    #[test]
    fn another_layout_needs_a_later_epoch_and_as_many_groups() {
        let last = LastLayout::Used(layout(4, 2, 1));
        let may = |now: Layout| last.may_become(&now).is_ok();
        assert!(may(layout(4, 2, 1)) && may(layout(5, 2, 9)));
        // An epoch with nothing else than other rates may be taken back.
        assert!(may(layout(3, 2, 1)));
        assert!(!may(layout(4, 2, 9)), "one epoch has one layout");
        assert!(!may(layout(3, 2, 9)), "an earlier map");
        assert!(!may(layout(5, 3, 9)), "chunks are in other groups");
        let LayoutChange { message, remedy } =
            last.may_become(&layout(4, 2, 9)).expect_err("another one");
        assert!(message.contains("0909090909090909") && remedy.contains("epoch = 5"), "{remedy}");
        for last in [LastLayout::Unknown, LastLayout::Any] {
            assert_eq!(last.may_become(&layout(1, 7, 9)), Ok(()));
        }
    }

    #[test]
    fn the_latest_epoch_of_a_layout_is_kept() {
        let last = LastLayout::Used(layout(4, 2, 1));
        assert_eq!(last.after(&layout(3, 2, 1)), last);
        assert_eq!(last.after(&layout(6, 2, 1)), LastLayout::Used(layout(6, 2, 1)));
        assert_eq!(last.after(&layout(6, 2, 9)), LastLayout::Used(layout(6, 2, 9)));
        assert_eq!(LastLayout::Any.after(&layout(1, 7, 9)), LastLayout::Used(layout(1, 7, 9)));
    }
}
