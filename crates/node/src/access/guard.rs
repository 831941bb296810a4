//! What every request of native HTTP passes first.

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::needs::{self, Need, Needs};
use super::{Access, Caller, Denied, Identity, Peer};
use crate::audit::{AuditSlot, Audited};
use crate::http::Problem;

/// Asks for credentials, and whether they are enough.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    pub(crate) access: Access,
}

/// Lets a request through if it may be answered. Whoever answers it finds the [`Caller`] among its extensions.
pub(crate) async fn guard(
    State(Guard { access }): State<Guard>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<Peer>().copied().unwrap_or(Peer::UNKNOWN);
    let needs = needs::of(request.method(), request.uri(), request.headers());
    let slot = request.extensions().get::<AuditSlot>().cloned().unwrap_or_default();
    let caller = match admitted(&access, request.headers(), (peer, needs), &slot).await {
        Ok(caller) => caller,
        Err(refusal) => return refusal,
    };
    request.extensions_mut().insert(caller);
    next.run(request).await
}

/// Who asks, if they may.
async fn admitted(
    access: &Access,
    headers: &axum::http::HeaderMap,
    (peer, needs): (Peer, Needs),
    slot: &AuditSlot,
) -> Result<Caller, Response> {
    let has_credentials = headers.contains_key(header::AUTHORIZATION);
    let all = match needs {
        Needs::Nothing => return Ok(access.anonymous(peer)),
        Needs::Health => {
            if !has_credentials && (peer.is_loopback() || access.inner.config.open_metrics) {
                return Ok(access.anonymous(peer));
            }
            vec![of_node("slotcast:GetMetrics")]
        }
        Needs::All(all) => all,
        Needs::Everything => Vec::new(),
    };
    let caller = match access.authenticate(headers, peer).await {
        Ok(caller) if has_credentials => caller,
        Ok(anonymous) => {
            // Questions how the node is are answered while voters are silent.
            let waits = !all.iter().all(|need| need.action == "slotcast:GetStatus");
            // Content by its address is there where too few voters answer, and in clusters that keep no names: those have
            // no users either. This machine is served then as before.
            let needs_names = all.is_empty()
                || all.iter().any(|need| {
                    let of_names = ["slotcast:ManageUsers", "slotcast:ManageJobs"];
                    need.action.starts_with("s3:") || of_names.contains(&need.action)
                });
            match access.is_open(waits, needs_names).await {
                Some(true) => Caller { who: Identity::Everything { is_root: false }, peer },
                Some(false) => anonymous,
                None if !needs_names => {
                    Caller { who: Identity::Everything { is_root: false }, peer }
                }
                None => {
                    let message = "whether there are users is not known: too few of those that keep them answer";
                    return Err(refusal(StatusCode::SERVICE_UNAVAILABLE, message.into()));
                }
            }
        }
        Err(Denied::Failed(error)) => return Err(Problem::from(error).into_response()),
        Err(error) => return Err(refusal(StatusCode::UNAUTHORIZED, error.to_string())),
    };
    if let Some(Need { action, resource, .. }) = all.first() {
        let (operation, resource) = ((*action).to_owned(), resource.clone());
        slot.say(Audited { user: caller.name().to_owned(), operation, resource });
    }
    if all.is_empty() {
        return match caller.may_everything() {
            true => Ok(caller),
            false => Err(forbidden(&caller, "do this", "this node")),
        };
    }
    for Need { action, resource, prefix } in &all {
        let allowed = access.allows(&caller, (action, resource), prefix.as_deref()).await;
        if !allowed.map_err(|error| Problem::from(error).into_response())? {
            return Err(forbidden(&caller, action, resource));
        }
    }
    Ok(caller)
}

fn of_node(action: &'static str) -> Need {
    let resource = format!("{}node", slotcast_policy::NODE_ARN);
    Need { action, resource, prefix: None }
}

fn forbidden(caller: &Caller, action: &str, resource: &str) -> Response {
    if caller.is_anonymous() {
        let message = "credentials are needed: an access key and a secret key, as user and password of HTTP Basic";
        return refusal(StatusCode::UNAUTHORIZED, message.into());
    }
    let message = format!("no policy allows {} to {action} with {resource}", caller.name());
    refusal(StatusCode::FORBIDDEN, message)
}

fn refusal(status: StatusCode, message: String) -> Response {
    let mut response = Problem(status, message).into_response();
    if status == StatusCode::UNAUTHORIZED {
        let how = HeaderValue::from_static("Basic realm=\"slotcast\", charset=\"UTF-8\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, how);
    }
    response
}
