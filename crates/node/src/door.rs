//! Where connections come in, and what answers them.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};

use crate::tls::Tls;

/// What is answered without asking the router.
#[derive(Debug, Clone, Copy)]
pub struct Courtesy {
    /// What the audit log calls it.
    pub protocol: &'static str,
    /// Whether a path is a question how the node is. Those are answered while all places for requests are taken.
    pub is_question: fn(&str) -> bool,
    /// The answer where too many requests are under way.
    pub refusal: fn() -> Response,
    /// The whole answer to a client whose header does not end in time.
    pub late_header: &'static [u8],
}

/// What native HTTP answers.
pub(crate) const NATIVE: Courtesy =
    Courtesy { protocol: "http", is_question, refusal, late_header: LATE_HEADER };

fn is_question(path: &str) -> bool {
    let questions = ["/", "/v1/status", "/v1/events", "/metrics", "/healthz", "/readyz"];
    questions.contains(&path) || path.starts_with("/page/")
}

fn refusal() -> Response {
    let headers = [(header::RETRY_AFTER, "1"), (header::CONNECTION, "close")];
    let error = serde_json::json!({ "error": "too many requests are under way: ask again later" });
    (StatusCode::SERVICE_UNAVAILABLE, headers, axum::Json(error)).into_response()
}

/// What is said to a client whose header does not end.
const LATE_HEADER: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n\
    content-type: application/json\r\ncontent-length: 51\r\n\r\n\
    {\"error\":\"the request header did not end in time\"}\n";

/// A listener with what answers on its connections.
#[derive(Debug)]
pub(crate) struct Door {
    listener: TcpListener,
    desk: Desk,
}

/// What answers.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    pub(crate) router: TowerToHyperService<Router>,
    pub(crate) courtesy: Courtesy,
    /// With what connections are encrypted, if they are.
    pub(crate) tls: Option<Arc<Tls>>,
}

impl Door {
    pub(crate) fn new(listener: TcpListener, router: Router, courtesy: Courtesy) -> Door {
        Door {
            listener,
            desk: Desk { router: TowerToHyperService::new(router), courtesy, tls: None },
        }
    }

    /// The same with connections that are encrypted, where there is a certificate.
    pub(crate) fn with_tls(mut self, tls: Option<Arc<Tls>>) -> Door {
        self.desk.tls = tls;
        self
    }
}

/// What is said to a client that does not encrypt where that is asked for.
pub(crate) const NOT_ENCRYPTED: &[u8] = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\
    content-type: application/json\r\ncontent-length: 47\r\n\r\n\
    {\"error\":\"this port speaks TLS: use https://\"}\n";

/// The next connection at any of the doors. After `last`, which is the place of the door that had one last, the others are
/// looked at first.
pub(crate) fn poll_accept(
    doors: &[Door],
    last: &mut usize,
    context: &mut Context<'_>,
) -> Poll<io::Result<(TcpStream, Desk)>> {
    for step in 1..=doors.len() {
        let place = (*last + step) % doors.len();
        let door = &doors[place];
        if let Poll::Ready(accepted) = door.listener.poll_accept(context) {
            *last = place;
            return Poll::Ready(accepted.map(|(stream, _)| (stream, door.desk.clone())));
        }
    }
    Poll::Pending
}
