//! Who may do what: users, their keys and policies, the policies of buckets, and the root.
//!
//! ```text
//!   Authorization --> Access::authenticate --> Caller --> Access::allows(action, resource) --> yes or no
//! ```
//!
//! * The *root* may do everything. Its pair of keys comes from the environment or a file, never from the store.
//! * A *user* may do what its policies and those of buckets allow. Users are in registers that no client can name (`users`),
//!   their secret keys sealed (`sealing`). Every node of a cluster knows them.
//! * Somebody without credentials may do what the policy of a bucket allows to everybody.
//!
//! What was read of the registers is believed for [`LIFE`]: a key that is taken away, or a policy that is changed, counts for
//! no longer than that at any node. Where too few voters answer, nothing is believed that is older: such requests are refused.
//!
//! [`Demand`] says when native HTTP asks for credentials; S3 always does.

mod cache;
mod demand;
mod error;
mod guard;
mod keys;
mod master_keys;
mod needs;
mod record;
mod sealing;
pub(crate) mod secret_file;
mod users;
mod users_http;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, header};
use data_encoding::BASE64;
use slotcast_object::Name;
use slotcast_policy::{BUCKET_ARN, Context, Decision, Policy, Request, Who, decide};
use zeroize::Zeroizing;

use self::cache::Cache;
pub use self::demand::Demand;
use self::demand::Knowledge;
pub use self::error::AccessError;
pub(crate) use self::guard::{Guard, guard};
pub use self::keys::{Keys, KeysError, Secret};
pub use self::master_keys::{
    MAX_MASTER_KEYS, MasterKeyError, MasterKeyFile, MasterKeySource, MasterKeys,
};
pub use self::record::Attached;
pub(crate) use self::users_http::routes;
pub use self::users_http::{KeyAnswer, PairAnswer, UserAnswer, UsersAnswer};
use crate::node::Node;
use crate::objects::{self, FoundBucket, ObjectError};

/// How long what was read of users, keys and policies of buckets is believed.
pub const LIFE: Duration = Duration::from_secs(2);

/// Keys, and buckets, that are remembered.
const MAX_REMEMBERED: usize = 1024;

/// Where a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// The address of the other end.
    pub address: SocketAddr,
    /// Whether the connection is encrypted (TLS).
    pub is_encrypted: bool,
}

impl Peer {
    /// Of a request of which nothing is known.
    pub(crate) const UNKNOWN: Peer = Peer {
        address: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
        is_encrypted: false,
    };

    /// Whether it is this machine.
    pub fn is_loopback(self) -> bool {
        self.address.ip().to_canonical().is_loopback()
    }
}

/// How a node finds out who may do what.
#[derive(Debug)]
pub struct AccessConfig {
    /// The keys of the root, if there is one.
    pub root: Option<Keys>,
    /// What secret keys of users are sealed with, and keys of objects.
    pub master_key: Arc<MasterKeySource>,
    /// When native HTTP asks for credentials.
    pub demand: Demand,
    /// Whether everybody may read metrics and health, and not only this machine.
    pub open_metrics: bool,
}

impl AccessConfig {
    /// Everybody may do everything over native HTTP.
    pub fn open() -> AccessConfig {
        AccessConfig {
            root: None,
            master_key: Arc::new(MasterKeySource::None),
            demand: Demand::Never,
            open_metrics: false,
        }
    }
}

/// Who asks, and from where.
#[derive(Debug, Clone)]
pub struct Caller {
    who: Identity,
    peer: Peer,
}

#[derive(Debug, Clone)]
enum Identity {
    /// The root; or anybody, where nobody is asked for credentials.
    Everything {
        is_root: bool,
    },
    User(Arc<User>),
    Anonymous,
}

#[derive(Debug)]
struct User {
    name: String,
    policies: Vec<Policy>,
}

impl Caller {
    /// The name of the user, or `root`; `anonymous` of somebody without credentials.
    pub fn name(&self) -> &str {
        match &self.who {
            Identity::Everything { is_root: true } => "root",
            Identity::User(user) => &user.name,
            Identity::Everything { is_root: false } | Identity::Anonymous => "anonymous",
        }
    }

    /// Whether it has no credentials.
    pub fn is_anonymous(&self) -> bool {
        matches!(self.who, Identity::Anonymous)
    }

    /// Whether no policy is needed for it: it is the root, or nobody is asked for credentials.
    pub fn may_everything(&self) -> bool {
        matches!(self.who, Identity::Everything { .. })
    }

    /// Where it asks from.
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// Whether its own policies allow it to do this. Policies of buckets have a say, too: see [`Access::allows`].
    pub fn may(&self, action: &str, resource: &str) -> bool {
        self.decides(&[], (action, resource), None)
    }

    fn decides(
        &self,
        others: &[Arc<Policy>],
        (action, resource): (&str, &str),
        prefix: Option<&str>,
    ) -> bool {
        let (own, who) = match &self.who {
            Identity::Everything { .. } => return true,
            Identity::User(user) => (&user.policies[..], Who::User(&user.name)),
            Identity::Anonymous => (&[][..], Who::Anonymous),
        };
        let Peer { address, is_encrypted } = self.peer;
        let context = Context { source: Some(address.ip()), is_encrypted, prefix };
        let all = own.iter().chain(others.iter().map(|policy| &**policy));
        decide(all, &Request { who, action, resource, context }) == Decision::Allowed
    }
}

/// Why somebody is not who they say.
#[derive(Debug, thiserror::Error)]
pub enum Denied {
    /// The header is not understood.
    #[error("the header `authorization` is not `Basic` with an access key and a secret key")]
    Malformed,
    /// There is no such pair of keys.
    #[error("there is no such access key, or the secret key is another one")]
    Wrong,
    /// It could not be found out.
    #[error(transparent)]
    Failed(#[from] AccessError),
}

/// A key that counts.
#[derive(Debug, Clone)]
pub struct KnownKey {
    /// The secret key.
    pub secret: Secret,
    /// Whose it is.
    identity: Identity,
}

impl KnownKey {
    /// Whoever has proved that they have it.
    pub fn caller(&self, peer: Peer) -> Caller {
        Caller { who: self.identity.clone(), peer }
    }
}

/// Finds out who may do what. Clones are the same.
#[derive(Debug, Clone)]
pub struct Access {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    node: Arc<Node>,
    config: AccessConfig,
    keys: Cache<Option<KnownKey>>,
    buckets: Cache<Rule>,
    knowledge: Knowledge,
}

/// What the policy of a bucket is.
#[derive(Debug, Clone)]
pub enum Rule {
    /// There is none.
    None,
    /// This one.
    Policy(Arc<Policy>),
    /// It opens something to everybody, and the bucket is closed to whoever has no credentials.
    Restricted(Arc<Policy>),
    /// It cannot be read: so it is not known what it forbids.
    Unreadable,
}

impl Rule {
    /// Whether it and the policies of `caller` allow it to do this: see [`Access::allows`].
    pub fn allows(
        &self,
        caller: &Caller,
        (action, resource): (&str, &str),
        prefix: Option<&str>,
    ) -> bool {
        if caller.may_everything() {
            return true;
        }
        match self {
            Rule::None => caller.decides(&[], (action, resource), prefix),
            Rule::Restricted(_) if caller.is_anonymous() => false,
            Rule::Policy(policy) | Rule::Restricted(policy) => {
                caller.decides(std::slice::from_ref(policy), (action, resource), prefix)
            }
            Rule::Unreadable => false,
        }
    }

    /// Whether whoever has no credentials may do nothing at all.
    pub fn is_closed(&self) -> bool {
        !matches!(self, Rule::Policy(_))
    }
}

impl Access {
    pub(crate) fn new(node: Arc<Node>, config: AccessConfig) -> Access {
        let (keys, buckets) = (Cache::new(MAX_REMEMBERED), Cache::new(MAX_REMEMBERED));
        let knowledge = Knowledge::default();
        Access { inner: Arc::new(Inner { node, config, keys, buckets, knowledge }) }
    }

    /// Whether whoever runs the node serves everybody, and does not mind who listens (`--insecure`).
    pub fn is_insecure(&self) -> bool {
        self.inner.config.demand == Demand::Never
    }

    /// Somebody without credentials.
    pub fn anonymous(&self, peer: Peer) -> Caller {
        Caller { who: Identity::Anonymous, peer }
    }

    /// Whoever has this pair of keys.
    ///
    /// # Errors
    /// If there is no such pair, or that could not be found out.
    pub async fn verify(&self, access: &str, secret: &str, peer: Peer) -> Result<Caller, Denied> {
        let known = self.key(access).await?.ok_or(Denied::Wrong)?;
        match known.secret.is(secret) {
            true => Ok(known.caller(peer)),
            false => Err(Denied::Wrong),
        }
    }

    /// Who sends a request with these headers: whose keys `Authorization: Basic` has (RFC 7617), or somebody without
    /// credentials.
    ///
    /// # Errors
    /// If there is no such pair, or that could not be found out.
    pub async fn authenticate(&self, headers: &HeaderMap, peer: Peer) -> Result<Caller, Denied> {
        let Some(header) = headers.get(header::AUTHORIZATION) else {
            return Ok(self.anonymous(peer));
        };
        let (access, secret) = basic(header.as_bytes()).ok_or(Denied::Malformed)?;
        self.verify(&access, &secret, peer).await
    }

    /// A key, if it counts.
    ///
    /// # Errors
    /// If too few voters answer, or it cannot be opened.
    pub async fn key(&self, access: &str) -> Result<Option<KnownKey>, AccessError> {
        let Inner { node, config, keys, .. } = &*self.inner;
        if let Some(root) = config.root.as_ref().filter(|root| root.access() == access) {
            let identity = Identity::Everything { is_root: true };
            return Ok(Some(KnownKey { secret: root.secret().clone(), identity }));
        }
        if Name::new(access).is_err() {
            return Ok(None);
        }
        if let Some(known) = keys.get(access) {
            return Ok(known);
        }
        let begun = keys.begin();
        let found = match config.master_key.get(false)? {
            Some(master) => users::find_key(node, &master, access).await?,
            None => None,
        };
        let known = match found {
            Some((name, record, secret)) => {
                let user = User { name, policies: record.policies()? };
                Some(KnownKey { secret, identity: Identity::User(Arc::new(user)) })
            }
            None => None,
        };
        // Who tries keys drives nobody's out of memory.
        if known.is_some() {
            keys.put(access, known.clone(), begun);
        }
        Ok(known)
    }

    /// Whether the policies of `caller`, and that of the bucket that `resource` is of, allow it to do this; `prefix` is what
    /// the names begin with that it lists.
    ///
    /// # Errors
    /// If too few voters answer.
    pub async fn allows(
        &self,
        caller: &Caller,
        (action, resource): (&str, &str),
        prefix: Option<&str>,
    ) -> Result<bool, ObjectError> {
        if caller.may_everything() {
            return Ok(true);
        }
        let bucket = resource.strip_prefix(BUCKET_ARN).unwrap_or("");
        let (bucket, _) = bucket.split_once('/').unwrap_or((bucket, ""));
        Ok(self.rule_of(bucket).await?.allows(caller, (action, resource), prefix))
    }

    /// What is allowed in the bucket of this name: for requests that are about many objects of it.
    ///
    /// # Errors
    /// If too few voters answer.
    pub async fn rule_of(&self, bucket: &str) -> Result<Rule, ObjectError> {
        match Name::new(bucket) {
            Ok(bucket) => self.rule(&bucket).await,
            Err(_) => Ok(Rule::None),
        }
    }

    async fn rule(&self, bucket: &Name) -> Result<Rule, ObjectError> {
        let Inner { node, buckets, .. } = &*self.inner;
        if let Some(rule) = buckets.get(bucket.as_str()) {
            return Ok(rule);
        }
        let begun = buckets.begin();
        let rule = match objects::bucket(node, bucket).await {
            Ok(found) => match &found.bucket.policy {
                None => Rule::None,
                Some(text) => match Policy::of_bucket(text, bucket.as_str()) {
                    Ok(policy) if policy.is_public() && is_restricted(&found) => {
                        Rule::Restricted(Arc::new(policy))
                    }
                    Ok(policy) => Rule::Policy(Arc::new(policy)),
                    Err(error) => {
                        tracing::error!(%bucket, %error, "policy of a bucket unreadable: only root is let in");
                        Rule::Unreadable
                    }
                },
            },
            Err(ObjectError::NoBucket(_)) => return Ok(Rule::None),
            Err(error) => return Err(error),
        };
        buckets.put(bucket.as_str(), rule.clone(), begun);
        Ok(rule)
    }

    /// The policy of a bucket was changed here, or who may follow it: it counts here at once.
    pub fn policy_changed(&self, bucket: &Name) {
        self.inner.buckets.forget(bucket.as_str());
    }

    /// Something about users was changed here: it counts here at once.
    fn users_changed(&self) {
        self.inner.keys.clear();
        self.inner.knowledge.clear();
    }
}

/// Whether a bucket is closed to whoever has no credentials, whatever its policy opens.
fn is_restricted(found: &FoundBucket) -> bool {
    found.bucket.settings.public_access.is_some_and(|access| access.restricts)
}

/// The access key and the secret key of `Basic`.
fn basic(header: &[u8]) -> Option<(Zeroizing<String>, Zeroizing<String>)> {
    let (scheme, rest) = header.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    let bytes = Zeroizing::new(BASE64.decode(rest.trim_ascii()).ok()?);
    let text = str::from_utf8(&bytes).ok()?;
    let (access, secret) = text.split_once(':')?;
    Some((Zeroizing::new(access.to_owned()), Zeroizing::new(secret.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_read_as_they_are_written() {
        let read = |text: &str| {
            let header = format!("Basic {}", BASE64.encode(text.as_bytes()));
            basic(header.as_bytes()).map(|(access, secret)| format!("{} {}", *access, *secret))
        };
        assert_eq!(read("AKIA:a:b"), Some("AKIA a:b".into()));
        assert_eq!(read("AKIA"), None);
        let header = |text: &str| basic(text.as_bytes()).is_some();
        assert!(header("basic QTpC") && header("BASIC  QTpC "));
        for wrong in ["", "Basic", "Basic !", "Bearer QTpC", "AWS4-HMAC-SHA256 x", "Bäsic QTpC"] {
            assert!(!header(wrong), "{wrong}");
        }
    }
}
