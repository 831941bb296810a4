//! What clients may take of a node over HTTP.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::Args;
use slotcast_node::{BODY_MEMORY, BODY_SIZES, CACHE_MEMORY, HEADER_SIZES, Limits, MIN_TIMEOUT};
use slotcast_units::{Size, Span};

/// Limits of HTTP.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits of HTTP")]
pub(crate) struct HttpOptions {
    /// HTTP connections that may be open at a time [default: what the limit of open files leaves, at most 4096]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), conflicts_with = "config")]
    connections: Option<u32>,

    /// Close an HTTP connection on which no request comes for so long [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = timeout, conflicts_with = "config")]
    idle_timeout: Option<Span>,

    /// Close one whose request header has begun and takes longer than this (408) [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = timeout, conflicts_with = "config")]
    header_timeout: Option<Span>,

    /// Break off a put of which nothing comes for so long (408), and a get that is not read [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = timeout, conflicts_with = "config")]
    body_timeout: Option<Span>,

    /// Refuse longer request headers (431) [default: 32KiB]
    #[arg(long, value_name = "SIZE", value_parser = size(HEADER_SIZES), conflicts_with = "config")]
    header_size: Option<Size>,

    /// Refuse to store more than this in one put (413) [default: 5TiB]
    #[arg(long, value_name = "SIZE", value_parser = size(BODY_SIZES), conflicts_with = "config")]
    body_size: Option<Size>,

    /// Memory for the bodies of all requests and answers; without some a request waits [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = size(BODY_MEMORY), conflicts_with = "config")]
    body_memory: Option<Size>,

    /// Requests that may wait for memory; others are answered 503 [default: 1024]
    #[arg(long, value_name = "N", conflicts_with = "config")]
    waiting: Option<u32>,

    /// Memory for chunks that were written or read of late, so that gets of them read no disk; 0 for none [default: 128MiB]
    #[arg(long, value_name = "SIZE", value_parser = size(CACHE_MEMORY), conflicts_with = "config")]
    cache_memory: Option<Size>,

    /// A name by which browsers may reach the node, besides its addresses, localhost, names without a dot and that of
    /// this machine; may be given several times
    #[arg(long = "host-name", value_name = "NAME")]
    host_names: Vec<String>,
}

impl HttpOptions {
    /// By which names browsers may reach the node, besides those that everybody has.
    pub(crate) fn host_names(&self) -> &[String] {
        &self.host_names
    }

    /// These limits, and `limits` for all else.
    pub(crate) fn limits(&self, limits: Limits) -> Limits {
        Limits {
            connections: self.connections,
            idle_timeout: self.idle_timeout,
            header_timeout: self.header_timeout,
            body_timeout: self.body_timeout,
            header_size: self.header_size,
            body_size: self.body_size,
            body_memory: self.body_memory,
            waiting: self.waiting,
            cache_memory: self.cache_memory,
            ..limits
        }
    }
}

fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("{error}"))
}

pub(super) fn timeout(text: &str) -> Result<Span, String> {
    let span: Span = parsed(text)?;
    match span >= MIN_TIMEOUT {
        true => Ok(span),
        false => Err(format!("at least {MIN_TIMEOUT}")),
    }
}

fn size(allowed: RangeInclusive<Size>) -> impl Fn(&str) -> Result<Size, String> + Clone {
    move |text| {
        let size: Size = parsed(text)?;
        match allowed.contains(&size) {
            true => Ok(size),
            false => Err(format!("from {} to {}", allowed.start(), allowed.end())),
        }
    }
}
