//! What is said of a bucket beside what its names need: settings that gateways put, read and follow.

use alloc::string::String;
use alloc::vec::Vec;

use minicbor::{Decode, Encode};

use crate::lifecycle::LifecycleRule;
use crate::lock::BucketLock;
use crate::notification::NotificationRule;

/// Settings of a bucket. A bucket that nobody has set anything of has the default.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Settings {
    /// Object lock, of a bucket that has it.
    #[n(0)]
    pub lock: Option<BucketLock>,
    /// Which pages of other sites may use it.
    #[n(1)]
    #[cbor(default)]
    pub cors: Vec<CorsRule>,
    /// What of it goes when.
    #[n(2)]
    #[cbor(default)]
    pub lifecycle: Vec<LifecycleRule>,
    /// Nobody says any more whom objects belong to. (They belong to the owner of the bucket all the same.)
    #[n(3)]
    #[cbor(default)]
    pub has_no_ownership: bool,
    /// What is closed to the public.
    #[n(4)]
    pub public_access: Option<PublicAccess>,
    /// What is put without saying otherwise is encrypted with a key of the server.
    #[n(5)]
    #[cbor(default)]
    pub encrypts: bool,
    /// Who is told of changes in it. Of a bucket of which nobody ever was there is none: one that has no rules any more may
    /// have messages that wait.
    #[n(6)]
    pub notifications: Option<Vec<NotificationRule>>,
}

impl Settings {
    /// No settings.
    pub const NONE: Settings = Settings {
        lock: None,
        cors: Vec::new(),
        lifecycle: Vec::new(),
        has_no_ownership: false,
        public_access: None,
        encrypts: false,
        notifications: None,
    };
}

/// What is closed to the public, whatever policies and lists of rights say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct PublicAccess {
    /// Nobody can put a list of rights that opens something.
    #[n(0)]
    pub blocks_acls: bool,
    /// No list of rights opens anything.
    #[n(1)]
    pub ignores_acls: bool,
    /// Nobody can put a policy that opens something.
    #[n(2)]
    pub blocks_policy: bool,
    /// A policy that opens something opens it to users only.
    #[n(3)]
    pub restricts: bool,
}

/// Which pages of other sites may use a bucket, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct CorsRule {
    /// What it is called.
    #[n(0)]
    pub id: Option<String>,
    /// Sites, each with at most one `*`.
    #[n(1)]
    pub origins: Vec<String>,
    /// Methods of HTTP.
    #[n(2)]
    pub methods: Vec<String>,
    /// Headers that requests may have, each with at most one `*`.
    #[n(3)]
    pub headers: Vec<String>,
    /// Headers of answers that pages may read.
    #[n(4)]
    pub exposed: Vec<String>,
    /// For how many seconds a browser may believe this.
    #[n(5)]
    pub max_age: Option<u32>,
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::code;
    use crate::object::Bucket;

    #[test]
    fn settings_are_read_as_they_are_written() {
        let cors = vec![CorsRule { origins: vec!["*".into()], ..CorsRule::default() }];
        let lock = Some(BucketLock::default());
        let settings = Settings { lock, cors, encrypts: true, ..Settings::default() };
        let bucket = Bucket { settings, ..Bucket::ROOT };
        assert_eq!(code::decode::<Bucket>(&code::encode(&bucket)), Some(bucket));
        assert_eq!(Settings::default(), Settings::NONE);
        // As they were written before there was encryption.
        let before = code::encode(&(None::<u8>, Vec::<u8>::new(), Vec::<u8>::new(), true));
        let expected = Settings { has_no_ownership: true, ..Settings::NONE };
        assert_eq!(code::decode::<Settings>(&before), Some(expected));
    }
}
