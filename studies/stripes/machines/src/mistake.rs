/// Mistakes that tests plant in a machine, to see that the checkers find them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mistake {
    #[default]
    None,
    /// A parity server merges an update before it knows that the data is durable.
    ParityBeforeData,
    /// A data server commits before its own content is durable.
    CommitBeforeDurable,
    /// A data server commits before the parity servers have the update.
    CommitBeforePrepared,
    /// A data server does not look whether a write has been made before.
    ForgetRequests,
    /// A data server believes what a parity server said before it lost its content.
    HearTheDead,
    /// A parity server drops an update of the data server that tells it to settle.
    SettleAll,
    /// A client releases the lock before its writes are durable.
    ReleaseEarly,
    /// A server takes writes of holdings that are over.
    NoFence,
    /// The lock server gives the lock of a dead client to the next one as it is.
    SkipRecovery,
}
