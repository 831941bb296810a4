//! Mistakes that a test plants, to see that the exploration finds them.

/// A mistake in what keeps names.
#[cfg_attr(not(test), expect(dead_code, reason = "only tests plant them"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Mistake {
    /// A voter forgets what it has promised.
    PromisesNothing,
    /// A voter accepts what it has promised not to.
    AcceptsBelowItsPromise,
    /// A voter answers before its row is on stable storage, and loses it in a crash.
    AnswersBeforeItIsDurable,
    /// A voter that starts again goes back to older voters.
    ForgetsItsVoters,
    /// A voter whose disk was wiped votes on as if it were the same.
    VotesOnWhenWiped,
    /// A voter forgets a promise that is old.
    ForgetsOldPromises,
    /// A proposer takes what some voter holds, instead of what was accepted last.
    TakesWhatItHearsFirst,
    /// A read returns what was accepted last, whether a majority holds it or not.
    ReadsWithoutAgreement,
    /// A condition that does not hold is answered without fencing what was begun before.
    RefusesWithoutAgreement,
    /// A retry that finds nothing is answered while what an earlier attempt proposed may still take effect.
    RefusesBesideItsAttempt,
    /// What a retry finds done by its own request counts as done by somebody else.
    ForgetsRequests,
    /// A version is named by its content, so that a name comes back when the content does.
    NamesVersionsByContent,
    /// A majority of the new set is enough while both vote.
    CountsTheNewSetAlone,
    /// Registers are not brought to the new set before it votes alone.
    SettlesUnsynced,
    /// Registers are read for the new set from voters that still answer those who know the old set alone.
    SyncsWithoutFence,
    /// What is brought to a new voter replaces what that has accepted and promised meanwhile.
    SyncsOverLaterOnes,
    /// A tombstone is forgotten while proposals that were begun before it are still believed.
    ForgetsTombstones,
    /// A promise is given up that keeps away what began at the floor, and is believed.
    TidiesAtTheFloor,
    /// Ballots do not begin with the epoch: what comes after a name was forgotten may be below what was before.
    CountsBallotsAnew,
    /// A voter believes what began in an epoch that it does not know yet.
    BelievesLaterEpochs,
    /// An answer to an earlier attempt counts for the one under way.
    MixesAttempts,
    /// A voter that comes back keeps what it held when it left.
    KeepsAnEarlierTerm,
    /// A name that was forgotten and made anew is taken for the one that it was.
    MixesLives,
}
