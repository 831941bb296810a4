//! Mistakes that a fault simulation plants, to see that its checks find them.

/// A mistake in what joins the machines of a node. Production plants none.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// Nobody scans when a peer was down for too long.
    NoScanWhenPeerGone,
    /// Nobody scans when a peer is another incarnation than before.
    NoScanAfterRestart,
    /// Nobody scans when a node is taken out of the map.
    NoScanWhenRemoved,
    /// Nobody scans when there are more failure domains for replicas than before.
    NoScanWhenJoined,
    /// A member that is down counts as one that has the chunk.
    CountsSilent,
    /// A map of an earlier epoch is followed.
    FollowsStaleMap,
    /// A peer with another layout of the same epoch is believed.
    BelievesOtherLayout,
    /// Peers are spoken to in the newest version, whatever they speak.
    SpeaksNewestVersion,
    /// What a node holds is replaced although it may soon be back.
    ReplacesTooSoon,
    /// What was in order once is taken to be so, whatever the other members hold now.
    BelievesOldRanges,
    /// No surplus replica is ever removed.
    KeepsSurplus,
    /// A surplus replica is removed as soon as a scan has found it, without asking the others again.
    RemovesWithoutAsking,
    /// Members that do not answer are taken for holders of what is to be removed here.
    RemovesWhileSilent,
    /// A put of a chunk that is to be removed does not end that.
    RemovesDespitePut,
    /// A target that is about to remove a chunk says that it holds it, and takes no account of the order of holders.
    ReleasedCounts,
    /// Repair passes some chunks over.
    RepairForgets,
    /// Repair puts every chunk again on two targets.
    RepairKnowsOneNumber,
    /// Repair puts every chunk again as one that names want kept, and nobody else.
    RepairForgetsClaims,
    /// A node that drains says that it has handed over as soon as it knows of no chunk that lacks replicas.
    HandsOverEarly,
    /// A node that drains takes chunks all the same, and does not care for them.
    TakesPutsWhileDraining,
    /// A node that joins or drains never says how far it is.
    ProposesNothing,
    /// Requests under way count what an earlier incarnation of a peer has acknowledged.
    ForgetsRestarts,
    /// What a disk has lost is not recovered.
    LostNotRecovered,
    /// What a disk cannot read is not recovered.
    UnreadNotRecovered,
    /// A target that fails tells its own node only.
    FailsInSilence,
    /// A target whose disk does not write any more says that it holds what it held.
    CountsThoughFailed,
    /// Windows are translated to the other side of the sender's clock.
    WrongClock,
    /// A cancelled window stays reserved.
    IgnoresCancellation,
    /// Who puts a chunk that is being written is told that it is stored, before it is.
    FollowerToldEarly,
    /// Chunks whose name does not fit are stored under it.
    StoresDamaged,
    /// Chunks leave for other nodes when their windows are over.
    SendsLate,
    /// An incarnation gives its requests the numbers of those of the one before.
    ReusesNumbers,
    /// A name says where a chunk is before that is stored.
    NamesBeforeStored,
    /// New voters vote alone before all registers were brought to them.
    SettlesUnmoved,
    /// What is put, or found stored, counts as garbage all the same.
    ForgetsTouches,
    /// What uploads under way have stored is not touched again.
    ForgetsUploads,
    /// What lists list is not marked, and not touched.
    SkipsLists,
    /// Content that gets a further name is not touched before.
    CopiesUntouched,
    /// One voter is not asked what it names.
    MarksByMajority,
    /// Garbage is removed though nobody was asked what is named.
    SweepsUnmarked,
    /// A node that was started anew believes that it knows what was touched before.
    SweepsWithoutLog,
    /// Chunks are removed that were not put for names.
    SweepsBare,
    /// Voters believe changes whose chunks were put rounds ago.
    BelievesOldRounds,
    /// What is said to be held, so that others need not hold it, is not touched.
    HoldsUntouched,
    /// What a change relies on is read before voters have promised.
    ReadsGuardsBeforePromises,
    /// What a change relies on is read in its first attempt only.
    ReadsGuardsOnce,
    /// The listing of a bucket that is to be removed does not look at what voters have promised.
    ListsWithoutPromises,
    /// Deleted names are never forgotten.
    KeepsDeletedNames,
    /// Deleted names are forgotten that one voter holds so, whatever others hold.
    ForgetsWhatOneHolds,
    /// The answer to a request is given to the one before it.
    AnswersWrongRequest,
}
