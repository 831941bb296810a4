//! How the types of a configuration's fields become [`Value`]s and back.

use slotcast_sim::{
    Backpressure, Fidelity, Grant, IdleExtension, Load, Mix, ProtocolKind, ProxyChoice,
    SequenceChoice, TargetChoice, Ties,
};
use slotcast_tune::Method;
use slotcast_units::{Rate, Share, Size, Span};

use super::kind::{Value, Word, Words};
use crate::configuration::WarmupRule;

/// A type that a setting can have.
pub trait Field: Sized {
    /// As a value; none for an [`Option`] that is none.
    fn to_value(&self) -> Option<Value>;
    /// From a value of the same kind.
    fn from_value(value: Value) -> Self;
}

#[cold]
fn wrong_kind(value: Value, wanted: &str) -> ! {
    panic!("{value:?} was given to a setting that holds a {wanted}")
}

macro_rules! plain {
    ($($type:ty => $variant:ident),*) => { $(
        impl Field for $type {
            fn to_value(&self) -> Option<Value> {
                Some(Value::$variant(*self))
            }
            fn from_value(value: Value) -> Self {
                match value {
                    Value::$variant(inner) => inner,
                    other => wrong_kind(other, stringify!($variant)),
                }
            }
        }
    )* };
}
plain!(u64 => Count, Size => Size, Rate => Rate, Span => Span, Share => Share, bool => Switch, Mix => Mix);

macro_rules! narrow {
    ($($type:ty),*) => { $(
        impl Field for $type {
            fn to_value(&self) -> Option<Value> {
                Some(Value::Count(u64::from(*self)))
            }
            fn from_value(value: Value) -> Self {
                <$type>::try_from(u64::from_value(value)).expect("the schema's range fits the type")
            }
        }
    )* };
}
narrow!(u16, u32);

impl<T: Field> Field for Option<T> {
    fn to_value(&self) -> Option<Value> {
        self.as_ref().and_then(T::to_value)
    }
    fn from_value(value: Value) -> Self {
        Some(T::from_value(value))
    }
}

/// An enum written as one of a few words.
pub trait Choice: Sized + Copy + PartialEq + 'static {
    /// Every variant.
    const VARIANTS: &'static [Self];
    /// The word of each variant, in the same order.
    const WORDS: &'static [Word];
    /// The word of this variant.
    fn word(&self) -> &'static str;
}

impl<T: Choice> Field for T {
    fn to_value(&self) -> Option<Value> {
        Some(Value::Word(self.word()))
    }
    fn from_value(value: Value) -> Self {
        match value {
            Value::Word(word) => variant(word),
            other => wrong_kind(other, "choice"),
        }
    }
}

/// Some of an enum's variants, in the order of its words.
impl<T: Choice> Field for Vec<T> {
    fn to_value(&self) -> Option<Value> {
        let words =
            self.iter().try_fold(Words::none(T::WORDS), |words, one| words.with(one.word()));
        words.map(Value::Words)
    }
    fn from_value(value: Value) -> Self {
        match value {
            Value::Words(words) => words.iter().map(variant).collect(),
            other => wrong_kind(other, "list of choices"),
        }
    }
}

fn variant<T: Choice>(word: &str) -> T {
    let index = T::WORDS.iter().position(|known| known.word == word);
    T::VARIANTS[index.expect("a word from this choice's own list")]
}

/// Gives the variants of an enum their words, with what each stands for.
#[macro_export]
macro_rules! choice {
    ($type:ident { $($variant:ident = $word:literal, $doc:literal;)* }) => {
        impl $crate::setting::Choice for $type {
            const VARIANTS: &'static [$type] = &[$($type::$variant),*];
            const WORDS: &'static [$crate::setting::Word] =
                &[$($crate::setting::Word { word: $word, doc: $doc }),*];
            fn word(&self) -> &'static str {
                // A match, so that a new variant does not compile until it has a word.
                match self { $($type::$variant => $word),* }
            }
        }
    };
}

choice!(ProtocolKind {
    ReplicastM = "replicast-m", "one multicast transfer in a window common to all replicas";
    ReplicastH = "replicast-h", "unicast transfers in consecutive windows";
    UchCcp = "uch-ccp", "unicast at rates that the target grants";
    UchAimd = "uch-aimd", "unicast, additive increase and multiplicative decrease; only with run.fidelity frame";
    UchDctcp = "uch-dctcp", "unicast over TCP connections with DCTCP; only with run.fidelity frame";
    ReplicastProxy = "replicast-proxy", "one member of each group grants windows for all; then one multicast transfer";
});
choice!(Backpressure {
    KeepRoom = "keep-room", "as soon as the disk has room for one more chunk, those on their way counted";
    ArriveIntoRoom = "arrive-into-room", "so that the chunk arrives when there is room, as in the original after the paper";
    DrainFirst = "drain-first", "not before a full queue has drained, as in the original simulator";
});
choice!(IdleExtension {
    TwoTransfers = "two-transfers", "by the time of two transfers";
    TwoTrips = "two-trips", "by two trips through the core, as in the original after the paper";
});
choice!(Ties {
    ByName = "name", "the one that starts first; of those that start together, by the chunk's name";
    ByBacklog = "backlog", "the one whose disk is the least busy, as its bid says";
});
choice!(SequenceChoice {
    Paper = "paper", "more replicas are asked for near the end of the last window";
    Revised = "revised", "more replicas are asked for when the last window starts, as in the original after the paper";
});
choice!(ProxyChoice {
    EarliestWrite = "earliest-write", "those that would start to write the chunk earliest";
    LeastIdle = "least-idle", "of one member more, those whose links are idle for the shortest time before the common window";
});
choice!(TargetChoice {
    Random = "random", "distinct targets at random, none of them used for the previous chunk";
    Ring = "ring", "consistent hashing on a ring with virtual nodes";
});
choice!(Grant {
    Interleaved = "interleaved", "every flow gets an equal share at once";
    Serial = "serial", "one flow after another at the full rate";
});
choice!(Load {
    Closed = "closed", "the next request starts when one of the window ends";
    Open = "open", "requests arrive as a Poisson process";
});
choice!(Fidelity {
    Flow = "flow", "a transfer is one event, shared rates are recomputed when flows come and go";
    Frame = "frame", "every frame is an event, as in the paper";
});
choice!(Method {
    Networks = "networks", "several neural networks, each of which climbs from the others' best points";
    Random = "random", "points at random";
    LatinHypercube = "latin-hypercube", "points at random, one in each slice of each dimension";
    CmaEs = "cma-es", "a normal distribution that follows its better half";
    GaussianProcess = "gaussian-process", "a model of the function, and the point with the largest expected improvement";
});
choice!(WarmupRule {
    AsSet = "as-set", "run.warmup, checked against what MSER-5 finds";
    Found = "found", "pilot runs find it by MSER-5; as long as set is measured after it";
    AsPublished = "as-published", "run.warmup, because it was published so: no warning if it is short";
});
