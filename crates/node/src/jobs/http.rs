//! Jobs over HTTP.
//!
//! | request | answer |
//! |---|---|
//! | `GET /v1/jobs` | `{"jobs": […]}` |
//! | `POST /v1/jobs` | starts one: `{"kind": "copy", "from": {"bucket", "prefix"}, "to": {…}}`; with `"id"` only once |
//! | `GET /v1/jobs/JOB` | how it stands |
//! | `PATCH /v1/jobs/JOB` | `{"order": "pause"}`, `"resume"` or `"abort"` |
//! | `DELETE /v1/jobs/JOB` | forgets it, if it is over |
//! | `GET /v1/jobs/JOB/log` | the objects with which it has failed, and why |

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Extension, Json, Router};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use slotcast_job::{Existing, JobId, JobText, Kind, Order, Place, Selection};
use slotcast_policy::NODE_ARN;

use super::{JobAnswer, JobError, JobLogAnswer, JobsAnswer};
use crate::access::Caller;
use crate::http::{App, Problem};
use crate::objects::{new_key, now_ms};

/// The most bytes of what starts a job: a list of names is in it.
const MAX_BODY: usize = 64 << 20;

impl From<JobError> for Problem {
    fn from(error: JobError) -> Problem {
        let status = match error {
            JobError::Names(error) => return error.into(),
            JobError::NoJob(_) => StatusCode::NOT_FOUND,
            JobError::Text(_) | JobError::Name(_) => StatusCode::BAD_REQUEST,
            JobError::Over(..)
            | JobError::NotOver(..)
            | JobError::Exists(_)
            | JobError::NoTransforms => StatusCode::CONFLICT,
            JobError::Contended(_) => StatusCode::SERVICE_UNAVAILABLE,
            JobError::Unreadable(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem(status, error.to_string())
    }
}

/// A job that is to be started.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewJob {
    /// Its number, so that it is started once however often this is sent.
    id: Option<String>,
    kind: Kind,
    from: Place,
    to: Option<Place>,
    #[serde(default)]
    select: Selection,
    /// The names, of a list.
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    existing: Existing,
    #[serde(default = "yes")]
    check: bool,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobPatch {
    order: Order,
}

async fn said<T: DeserializeOwned>(body: Body) -> Result<T, Problem> {
    let wrong = |error: String| Problem(StatusCode::BAD_REQUEST, format!("the job: {error}"));
    let bytes = axum::body::to_bytes(body, MAX_BODY).await;
    let bytes = bytes.map_err(|error| wrong(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))
}

fn id(text: &str) -> Result<JobId, Problem> {
    let message = || format!("`{text}` is no job: those are 16 hexadecimal digits");
    JobId::read(text).ok_or_else(|| Problem(StatusCode::BAD_REQUEST, message()))
}

async fn list(State(App { jobs, .. }): State<App>) -> Result<Json<JobsAnswer>, Problem> {
    let all = jobs.all().await?;
    Ok(Json(JobsAnswer { jobs: all.iter().map(JobAnswer::from).collect() }))
}

async fn begin(
    State(App { jobs, .. }): State<App>,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Result<(StatusCode, Json<JobAnswer>), Problem> {
    let NewJob { id: wanted, kind, from, to, select, names, existing, check } = said(body).await?;
    let is_allowed = caller.may("slotcast:RunTransforms", &format!("{NODE_ARN}job/"));
    if matches!(kind, Kind::Transform(_)) && !is_allowed {
        let message = format!("no policy allows {} to slotcast:RunTransforms", caller.name());
        return Err(Problem(StatusCode::FORBIDDEN, message));
    }
    let job = match wanted {
        Some(text) => id(&text)?,
        #[expect(clippy::cast_possible_truncation, reason = "some random bits of it")]
        None => JobId::new(now_ms(), new_key()?.0 as u64),
    };
    let by = caller.name().to_owned();
    let text = JobText { kind, from, select, to, existing, check, started: now_ms(), by };
    let job = jobs.begin(job, text, &names).await?;
    let whole = jobs.whole(job).await?;
    Ok((StatusCode::CREATED, Json(JobAnswer::from(&whole))))
}

async fn show(
    State(App { jobs, .. }): State<App>,
    Path(job): Path<String>,
) -> Result<Json<JobAnswer>, Problem> {
    Ok(Json(JobAnswer::from(&jobs.whole(id(&job)?).await?)))
}

async fn order(
    State(App { jobs, .. }): State<App>,
    Path(job): Path<String>,
    body: Body,
) -> Result<Json<JobAnswer>, Problem> {
    let (job, JobPatch { order }) = (id(&job)?, said(body).await?);
    jobs.order(job, order).await?;
    Ok(Json(JobAnswer::from(&jobs.whole(job).await?)))
}

async fn remove(
    State(App { jobs, .. }): State<App>,
    Path(job): Path<String>,
) -> Result<Json<serde_json::Value>, Problem> {
    jobs.remove(id(&job)?).await?;
    Ok(Json(serde_json::json!({ "deleted": true })))
}

async fn log(
    State(App { jobs, .. }): State<App>,
    Path(job): Path<String>,
) -> Result<Json<JobLogAnswer>, Problem> {
    Ok(Json(JobLogAnswer::from(&jobs.whole(id(&job)?).await?)))
}

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/jobs", get(list).post(begin))
        .route("/v1/jobs/{job}", get(show).patch(order).delete(remove))
        .route("/v1/jobs/{job}/log", get(log))
}
