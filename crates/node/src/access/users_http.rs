//! Users over HTTP.
//!
//! | request | answer |
//! |---|---|
//! | `GET /v1/users` | `{"users": […]}` |
//! | `PUT /v1/users/NAME` | adds one: `{"policies": [{"policy": "readonly"}]}`; shows its secret key, once |
//! | `GET /v1/users/NAME` | what is known of it |
//! | `PATCH /v1/users/NAME` | `{"status": "suspended"}`, `{"policies": […]}` |
//! | `DELETE /v1/users/NAME` | removes it with its keys |
//! | `POST /v1/users/NAME/keys` | gives it a further key; shows its secret key, once |
//! | `DELETE /v1/users/NAME/keys/ACCESS` | takes a key away |

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::AccessError;
use super::keys::Keys as Pair;
use super::master_keys::MasterKeys;
use super::record::{Attached, UserRecord};
use super::{Access, users};
use crate::http::{App, Problem};

/// The most bytes of what is said of a user.
const MAX_BODY: usize = 256 << 10;

/// A user, for programs.
#[derive(Debug, Serialize, Deserialize)]
pub struct UserAnswer {
    /// Its name.
    pub user: String,
    /// `active`, or `suspended`: then its keys do not count.
    pub status: String,
    /// When it was added, in milliseconds since 1970.
    pub created: u64,
    /// Its keys, without what is secret of them.
    pub keys: Vec<KeyAnswer>,
    /// Its policies.
    pub policies: Vec<Attached>,
    /// A key that was just made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_key: Option<PairAnswer>,
}

/// A key, for programs.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeyAnswer {
    /// The access key.
    pub access_key: String,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
}

/// A key that was just made.
#[derive(Serialize, Deserialize)]
pub struct PairAnswer {
    /// The access key.
    pub access_key: String,
    /// The secret key, which is never shown again.
    pub secret_key: String,
}

impl std::fmt::Debug for PairAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PairAnswer").field("access_key", &self.access_key).finish_non_exhaustive()
    }
}

impl From<&Pair> for PairAnswer {
    fn from(pair: &Pair) -> PairAnswer {
        let (access, secret) = (pair.access(), pair.secret().expose());
        PairAnswer { access_key: access.into(), secret_key: secret.into() }
    }
}

impl UserAnswer {
    fn of(user: String, record: UserRecord, new_key: Option<PairAnswer>) -> UserAnswer {
        let UserRecord { created, is_active, keys, policies } = record;
        let status = if is_active { "active" } else { "suspended" }.into();
        let key = |key: super::record::KeyOfUser| KeyAnswer {
            access_key: key.access,
            created: key.created,
        };
        let keys = keys.into_iter().map(key).collect();
        UserAnswer { user, status, created, keys, policies, new_key }
    }
}

/// All users, for programs.
#[derive(Debug, Serialize, Deserialize)]
pub struct UsersAnswer {
    /// In the order of their names.
    pub users: Vec<UserAnswer>,
}

impl From<AccessError> for Problem {
    fn from(error: AccessError) -> Problem {
        let status = match error {
            AccessError::Names(error) => return error.into(),
            AccessError::NoName(_)
            | AccessError::Long(..)
            | AccessError::Policy(..)
            | AccessError::NoPolicy(_) => StatusCode::BAD_REQUEST,
            AccessError::NoUser(_) | AccessError::NoKey(..) => StatusCode::NOT_FOUND,
            AccessError::Exists(_)
            | AccessError::TooManyKeys(_)
            | AccessError::NobodyLeft
            | AccessError::NoMasterKey => StatusCode::CONFLICT,
            AccessError::OtherMasterKey(..)
            | AccessError::MasterKey(_)
            | AccessError::Damaged(_)
            | AccessError::System(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem(status, error.to_string())
    }
}

async fn said<T: DeserializeOwned>(body: Body) -> Result<T, Problem> {
    let wrong = |error: String| Problem(StatusCode::BAD_REQUEST, format!("the user: {error}"));
    let bytes = axum::body::to_bytes(body, MAX_BODY).await;
    let bytes = bytes.map_err(|error| wrong(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))
}

impl Access {
    fn master(&self) -> Result<MasterKeys, AccessError> {
        self.inner.config.master_key.get(true)?.ok_or(AccessError::NoMasterKey)
    }
}

async fn list(State(App { node, .. }): State<App>) -> Result<Json<UsersAnswer>, Problem> {
    let all = users::all(&node).await?;
    let answer = |(name, record)| UserAnswer::of(name, record, None);
    Ok(Json(UsersAnswer { users: all.into_iter().map(answer).collect() }))
}

async fn show(
    State(App { node, .. }): State<App>,
    Path(name): Path<String>,
) -> Result<Json<UserAnswer>, Problem> {
    let user = users::user(&node, &name).await?;
    Ok(Json(UserAnswer::of(name, user, None)))
}

/// A user that is to be added.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewUser {
    #[serde(default)]
    policies: Vec<Attached>,
}

async fn add(
    State(App { node, access, .. }): State<App>,
    Path(name): Path<String>,
    body: Body,
) -> Result<(StatusCode, Json<UserAnswer>), Problem> {
    let NewUser { policies } = said(body).await?;
    let has_root = access.inner.config.root.is_some();
    let master = access.master()?;
    let added = users::add(&node, &master, (&name, policies), has_root).await;
    access.users_changed();
    let (user, keys) = added?;
    let answer = UserAnswer::of(name, user, Some(PairAnswer::from(&keys)));
    Ok((StatusCode::CREATED, Json(answer)))
}

/// A change of a user.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UserPatch {
    status: Option<Status>,
    policies: Option<Vec<Attached>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Active,
    Suspended,
}

async fn change(
    State(App { node, access, .. }): State<App>,
    Path(name): Path<String>,
    body: Body,
) -> Result<Json<UserAnswer>, Problem> {
    let UserPatch { status, policies } = said(body).await?;
    policies.iter().flatten().try_for_each(|policy| policy.read().map(drop))?;
    let changed = users::change(&node, &name, |user| {
        if let Some(status) = status {
            user.is_active = status == Status::Active;
        }
        if let Some(policies) = &policies {
            user.policies.clone_from(policies);
        }
        Ok(())
    });
    let changed = changed.await;
    access.users_changed();
    Ok(Json(UserAnswer::of(name, changed?, None)))
}

async fn remove(
    State(App { node, access, .. }): State<App>,
    Path(name): Path<String>,
) -> Result<Json<serde_json::Value>, Problem> {
    let removed = users::remove(&node, &name).await;
    access.users_changed();
    removed?;
    Ok(Json(serde_json::json!({ "deleted": true })))
}

async fn add_key(
    State(App { node, access, .. }): State<App>,
    Path(name): Path<String>,
) -> Result<(StatusCode, Json<PairAnswer>), Problem> {
    let master = access.master()?;
    let keys = users::add_key(&node, &master, &name).await?;
    Ok((StatusCode::CREATED, Json(PairAnswer::from(&keys))))
}

async fn remove_key(
    State(App { node, access, .. }): State<App>,
    Path((name, key)): Path<(String, String)>,
) -> Result<Json<serde_json::Value>, Problem> {
    let removed = users::remove_key(&node, &name, &key).await;
    access.users_changed();
    removed?;
    Ok(Json(serde_json::json!({ "deleted": true })))
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/users", get(list))
        .route("/v1/users/{name}", get(show).put(add).patch(change).delete(remove))
        .route("/v1/users/{name}/keys", post(add_key))
        .route("/v1/users/{name}/keys/{key}", delete(remove_key))
}
