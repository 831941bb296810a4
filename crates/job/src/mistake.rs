//! Mistakes that a simulation plants, to see that its checks find them.

/// A mistake of a worker. Production plants none.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mistake {
    /// A unit is taken although its holder's record has changed a moment ago.
    IgnoresLeases,
    /// Nobody says that it still works on its unit.
    NeverBeats,
    /// Who holds no unit any more goes on with it, whatever token its record has.
    IgnoresTokens,
    /// A page counts as done before it is.
    AdvancesEarly,
    /// What a page has come to is counted again when the unit is taken.
    CountsTwice,
    /// Outputs are put whatever is there.
    PutsAlways,
    /// Each attempt to make an output has another key.
    KeysAreNew,
    /// Outputs are made without a look whether they are.
    NeverLooks,
    /// The job counts as verified as soon as all work is done.
    VerifiesUnseen,
    /// What is compared is taken to be there.
    ChecksNothing,
    /// What has failed is counted as done.
    SwallowsFailures,
    /// What has failed is never tried again.
    NeverRetries,
    /// A failure ends its unit.
    FailureEndsUnit,
    /// All units count as done when those are that this worker knows.
    ForgetsUnits,
    /// A job is worked on though it is paused or aborted.
    IgnoresOrders,
    /// The plan goes on from its own page where a unit is there already.
    PlansOver,
}
