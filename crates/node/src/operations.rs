//! Counts puts and gets of content over HTTP, of all doors, with how long they take: for people who look at the node.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::Method;
use serde::{Deserialize, Serialize};

/// What a request does with content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Put,
    Get,
}

impl Operation {
    /// Of a request for content or an object, at any door: `/v1/content`, `/v2/BUCKET/NAME`, or `/BUCKET/NAME` of S3. None of
    /// what is asked about buckets and about the node.
    pub(crate) fn of(method: &Method, path: &str) -> Option<Operation> {
        let operation = match *method {
            Method::PUT => Operation::Put,
            Method::GET => Operation::Get,
            _ => return None,
        };
        let names_content = match path.strip_prefix("/v1/") {
            Some(rest) => rest == "content" || rest.starts_with("content/"),
            None if path.starts_with("/page/") => false,
            None => {
                let place = path.strip_prefix("/v2").unwrap_or(path).trim_start_matches('/');
                place
                    .split_once('/')
                    .is_some_and(|(bucket, name)| !bucket.is_empty() && !name.is_empty())
            }
        };
        names_content.then_some(operation)
    }
}

/// Buckets of times: the first one ends at 50 microseconds, each next one at half as much again.
const BUCKETS: usize = 36;

/// Where a bucket ends, in seconds.
fn bound(bucket: usize) -> f64 {
    50e-6 * 1.5_f64.powi(i32::try_from(bucket).unwrap_or(i32::MAX))
}

#[derive(Debug)]
struct Counts {
    failed: AtomicU64,
    buckets: [AtomicU64; BUCKETS],
}

impl Default for Counts {
    fn default() -> Counts {
        Counts { failed: AtomicU64::new(0), buckets: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

/// Puts and gets that have ended.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    puts: Counts,
    gets: Counts,
}

/// Puts and gets over HTTP since the start of the node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RequestCounts {
    /// Where buckets of times end, in seconds; the last one has all that took longer, too.
    pub bounds: Vec<f64>,
    /// Puts of content and objects.
    pub put: OperationCounts,
    /// Gets of content and objects.
    pub get: OperationCounts,
}

/// Requests of one kind that have ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OperationCounts {
    /// Those that succeeded or were refused, by the time from the header to the last byte of the answer.
    pub buckets: Vec<u64>,
    /// Those of them that the node could not carry out (status 5xx), or whose client went before the answer.
    pub failed: u64,
}

impl Operations {
    fn counts(&self, operation: Operation) -> &Counts {
        match operation {
            Operation::Put => &self.puts,
            Operation::Get => &self.gets,
        }
    }

    /// One has ended with this status; 0 where the client has gone before.
    pub(crate) fn ended(&self, operation: Operation, status: u16, took: Duration) {
        let counts = self.counts(operation);
        let seconds = took.as_secs_f64();
        let bucket =
            (0..BUCKETS - 1).find(|bucket| seconds <= bound(*bucket)).unwrap_or(BUCKETS - 1);
        counts.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        if status == 0 || status >= 500 {
            counts.failed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// All that have ended.
    pub(crate) fn totals(&self) -> RequestCounts {
        let of = |operation| {
            let counts = self.counts(operation);
            OperationCounts {
                buckets: counts.buckets.iter().map(|n| n.load(Ordering::Relaxed)).collect(),
                failed: counts.failed.load(Ordering::Relaxed),
            }
        };
        let bounds = (0..BUCKETS).map(bound).collect();
        RequestCounts { bounds, put: of(Operation::Put), get: of(Operation::Get) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn puts_and_gets_of_content_are_counted_at_any_door() {
        let put = |path| Operation::of(&Method::PUT, path);
        for path in ["/v1/content", "/v2/photos/a/b.jpg", "/photos/a"] {
            assert_eq!(put(path), Some(Operation::Put), "{path}");
        }
        for path in
            ["/v2/photos", "/v2/", "/photos", "/photos/", "/", "/v1/collection", "/v1/contents"]
        {
            assert_eq!(put(path), None, "{path}");
        }
        assert_eq!(Operation::of(&Method::GET, "/v1/content/ab"), Some(Operation::Get));
        for path in ["/v1/status", "/v1/events", "/page/main.js", "/metrics", "/v2/photos"] {
            assert_eq!(Operation::of(&Method::GET, path), None, "{path}");
        }
        assert_eq!(Operation::of(&Method::DELETE, "/v2/photos/a"), None);
    }

    #[test]
    fn each_is_in_the_bucket_of_its_time() {
        let operations = Operations::default();
        operations.ended(Operation::Put, 200, Duration::from_micros(50));
        operations.ended(Operation::Put, 503, Duration::from_micros(60));
        operations.ended(Operation::Put, 0, Duration::from_secs(3600));
        let totals = operations.totals();
        assert_eq!(totals.put.buckets[..2], [1, 1]);
        assert_eq!(totals.put.buckets[BUCKETS - 1], 1);
        assert_eq!((totals.put.failed, totals.get.failed), (2, 0));
        assert!(totals.get.buckets.iter().all(|n| *n == 0));
        assert!(totals.bounds[BUCKETS - 1] > 60.0, "a minute is told from longer");
    }
}
