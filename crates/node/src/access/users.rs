//! Users and their keys, in registers that no client can name.

use bytes::Bytes;
use slotcast_object::{
    Body, BucketId, Condition, Entry, From, Key, ListRequest, MAX_PAGE, Name, NameFailure, Object,
    Operation, Outcome, Permit, Request, VersionId, Versioning,
};

use super::error::AccessError;
use super::keys::{Keys, Secret};
use super::master_keys::MasterKeys;
use super::record::{Attached, KeyOfUser, KeyRecord, MAX_KEYS, UserRecord, check_name};
use super::sealing::Whose;
use crate::cluster::MapSource;
use crate::node::Node;
use crate::objects::{self, ObjectError, new_key, now_ms};

type Result<T> = std::result::Result<T, AccessError>;

/// How often a change of a user is tried while others change it.
const MAX_ATTEMPTS: u32 = 32;

/// Users are few: one slot keeps them all, and one all keys.
const SLOTS: u32 = 1;

fn register(bucket: BucketId, name: &str) -> Result<Key> {
    let name = Name::new(name).map_err(ObjectError::NoName)?;
    Ok(Key::of(bucket, SLOTS, name))
}

/// What a register says, with the version of it.
async fn said(node: &Node, key: Key) -> Result<Option<(VersionId, Bytes)>> {
    let name = key.name.to_string();
    let record = objects::read(node, key).await?;
    let Some(version) = record.as_ref().and_then(|record| record.head()) else { return Ok(None) };
    match version.object.as_ref().and_then(Entry::object).map(|object| &object.body) {
        Some(Body::Inline(bytes, _)) => Ok(Some((version.id, bytes.clone()))),
        _ => Err(AccessError::Damaged(name)),
    }
}

/// Lets a register say something, or nothing any more, if the condition holds. False if it does not.
async fn say(node: &Node, key: Key, text: Option<Vec<u8>>, condition: Condition) -> Result<bool> {
    let operation = match text {
        Some(text) => {
            let (size, body) = (text.len() as u64, Body::inline(text.into()));
            let object = Object { size, body, modified: now_ms(), ..Object::default() };
            Operation::Put(Entry::Object(object))
        }
        None => Operation::Delete(now_ms()),
    };
    let (versioning, permit) = (Versioning::Off, Permit::default());
    let request = Request { key: new_key()?, operation, condition, versioning, permit };
    match objects::update(node, (key, request, None)).await? {
        Outcome::ConditionFailed(_) => Ok(false),
        _ => Ok(true),
    }
}

/// Names of users: a page of them, and where it goes on.
async fn page(node: &Node, from: From, limit: u32) -> Result<(Vec<String>, Option<From>)> {
    let request = ListRequest {
        bucket: BucketId::users(),
        slots: SLOTS,
        prefix: String::new(),
        delimiter: None,
        from,
        limit,
        versions: false,
        fences: false,
    };
    let listed = objects::list(node, request).await?;
    Ok((listed.names.into_iter().map(|listed| listed.name.to_string()).collect(), listed.next))
}

/// Whether names can never be kept: who votes about them stands in the cluster map, and nodes cannot write into a file.
async fn keeps_no_names(node: &Node) -> bool {
    let is_in_file = matches!(node.map_source(), Some(MapSource::File(_)));
    let map = node.map().await.ok().flatten();
    is_in_file && map.is_some_and(|map| map.voters.is_empty())
}

/// Whether there is any user.
pub(super) async fn any(node: &Node) -> Result<bool> {
    if keeps_no_names(node).await {
        return Ok(false);
    }
    let mut from = Some(From::Start);
    while let Some(begin) = from {
        let (names, next) = page(node, begin, 1).await?;
        if !names.is_empty() {
            return Ok(true);
        }
        from = next;
    }
    Ok(false)
}

/// All users, in the order of their names.
pub(super) async fn all(node: &Node) -> Result<Vec<(String, UserRecord)>> {
    let (mut users, mut from) = (Vec::new(), Some(From::Start));
    while let Some(begin) = from {
        let (names, next) = page(node, begin, MAX_PAGE).await?;
        for name in names {
            // It may have been removed meanwhile.
            if let Some((_, user)) = find(node, &name).await? {
                users.push((name, user));
            }
        }
        from = next;
    }
    Ok(users)
}

async fn find(node: &Node, name: &str) -> Result<Option<(VersionId, UserRecord)>> {
    let Some((version, text)) = said(node, register(BucketId::users(), name)?).await? else {
        return Ok(None);
    };
    let user = serde_json::from_slice(&text).map_err(|_| AccessError::Damaged(name.to_owned()))?;
    Ok(Some((version, user)))
}

/// The user of this name.
pub(super) async fn user(node: &Node, name: &str) -> Result<UserRecord> {
    let found = find(node, name).await?;
    found.map(|(_, user)| user).ok_or_else(|| AccessError::NoUser(name.to_owned()))
}

/// Changes what is kept of a user. Of several who do so at the same time each change takes effect, one after another.
pub(super) async fn change(
    node: &Node,
    name: &str,
    change: impl Fn(&mut UserRecord) -> Result<()>,
) -> Result<UserRecord> {
    for _ in 0..MAX_ATTEMPTS {
        let found = find(node, name).await?;
        let (version, mut user) = found.ok_or_else(|| AccessError::NoUser(name.to_owned()))?;
        change(&mut user)?;
        let key = register(BucketId::users(), name)?;
        if say(node, key, Some(user.write(name)?), Condition::Is(version)).await? {
            return Ok(user);
        }
    }
    Err(ObjectError::Names(NameFailure::Unavailable).into())
}

/// Puts a new key into its register. It counts as soon as its user names it.
async fn new_pair(node: &Node, master: &MasterKeys, user: &str) -> Result<(Keys, KeyOfUser)> {
    let keys = Keys::random()?;
    let access = keys.access();
    let sealed = master.seal(keys.secret(), &Whose { user, access })?;
    let record = KeyRecord { user: user.to_owned(), sealed };
    let text = serde_json::to_vec(&record).map_err(|_| AccessError::Damaged(access.to_owned()))?;
    let key = register(BucketId::access_keys(), access)?;
    match say(node, key, Some(text), Condition::Absent).await? {
        true => {
            let of_user = KeyOfUser { access: access.to_owned(), created: now_ms() };
            Ok((keys, of_user))
        }
        // Of 96 random bits nobody else has the same.
        false => Err(AccessError::Damaged(access.to_owned())),
    }
}

/// A key that no user names any more. If this fails it takes some room, and that is all.
async fn forget(node: &Node, access: &str) {
    if let Ok(key) = register(BucketId::access_keys(), access) {
        let _ = say(node, key, None, Condition::Always).await;
    }
}

/// Adds a user with one key. Whoever adds the first one where there is no `root` must be able to add others.
pub(super) async fn add(
    node: &Node,
    master: &MasterKeys,
    (name, policies): (&str, Vec<Attached>),
    has_root: bool,
) -> Result<(UserRecord, Keys)> {
    check_name(name)?;
    let mut user = UserRecord { created: now_ms(), is_active: true, keys: Vec::new(), policies };
    user.policies()?;
    user.write(name)?;
    if !has_root && !user.is_admin() && !any(node).await? {
        return Err(AccessError::NobodyLeft);
    }
    if find(node, name).await?.is_some() {
        return Err(AccessError::Exists(name.to_owned()));
    }
    let (keys, of_user) = new_pair(node, master, name).await?;
    user.keys.push(of_user);
    let key = register(BucketId::users(), name)?;
    if say(node, key, Some(user.write(name)?), Condition::Absent).await? {
        return Ok((user, keys));
    }
    forget(node, keys.access()).await;
    Err(AccessError::Exists(name.to_owned()))
}

/// Removes a user, and all of its keys.
pub(super) async fn remove(node: &Node, name: &str) -> Result<()> {
    for _ in 0..MAX_ATTEMPTS {
        let found = find(node, name).await?;
        let (version, user) = found.ok_or_else(|| AccessError::NoUser(name.to_owned()))?;
        let key = register(BucketId::users(), name)?;
        if say(node, key, None, Condition::Is(version)).await? {
            for key in &user.keys {
                forget(node, &key.access).await;
            }
            return Ok(());
        }
    }
    Err(ObjectError::Names(NameFailure::Unavailable).into())
}

/// Gives a user a further key.
pub(super) async fn add_key(node: &Node, master: &MasterKeys, name: &str) -> Result<Keys> {
    let too_many = || AccessError::TooManyKeys(name.to_owned());
    if user(node, name).await?.keys.len() >= MAX_KEYS {
        return Err(too_many());
    }
    let (keys, of_user) = new_pair(node, master, name).await?;
    let added = change(node, name, |user| {
        if user.keys.len() >= MAX_KEYS {
            return Err(too_many());
        }
        user.keys.push(of_user.clone());
        Ok(())
    });
    let added = added.await;
    if added.is_err() {
        forget(node, keys.access()).await;
    }
    added.map(|_| keys)
}

/// Takes a key from a user.
pub(super) async fn remove_key(node: &Node, name: &str, access: &str) -> Result<()> {
    let removed = change(node, name, |user| {
        let before = user.keys.len();
        user.keys.retain(|key| key.access != access);
        match user.keys.len() < before {
            true => Ok(()),
            false => Err(AccessError::NoKey(name.to_owned(), access.to_owned())),
        }
    });
    removed.await?;
    forget(node, access).await;
    Ok(())
}

/// Whose key this is, with its secret; none if it does not count.
pub(super) async fn find_key(
    node: &Node,
    master: &MasterKeys,
    access: &str,
) -> Result<Option<(String, UserRecord, Secret)>> {
    let key = register(BucketId::access_keys(), access)?;
    let Some((_, text)) = said(node, key).await? else { return Ok(None) };
    let damaged = || AccessError::Damaged(access.to_owned());
    let KeyRecord { user: name, sealed } = serde_json::from_slice(&text).map_err(|_| damaged())?;
    let Some((_, user)) = find(node, &name).await? else { return Ok(None) };
    if !user.is_active || !user.keys.iter().any(|key| key.access == access) {
        return Ok(None);
    }
    let opened = master.open(&sealed, &Whose { user: &name, access });
    let other = || AccessError::OtherMasterKey(name.clone(), access.to_owned());
    let secret = opened.ok_or_else(other)?;
    Ok(Some((name, user, secret)))
}
