//! What a name costs: puts and gets of objects by name, in turns with puts and gets of bare chunks of the same size, on a
//! whole cluster in one process (nine targets, three replicas).
//!
//! ```sh
//! cargo run --release -p slotcast-node --example name_limit -- [FOLDER [TURNS]]
//! ```
//!
//! Of each pair of turns the ratio of their rates counts, since a shared machine is faster in one minute than in the
//! next; the median of all is printed with its quartiles, and the processor time of either.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures wall time")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use slotcast_node::{
    Encrypt, FoundBucket, Incoming, Limits, NewBucket, Node, NodeConfig, Objects, PutObject,
    new_key,
};
use slotcast_object::notification::EventKind;
use slotcast_object::{Body, Condition, Name, Object, Versioning};
use slotcast_protocol::ChunkId;
use slotcast_store::Content;
use tokio::runtime::Runtime;

/// How long a turn puts.
const TURN: Duration = Duration::from_millis(700);

/// Objects that are there for gets, each as a chunk and under a name.
const THERE: usize = 256;

struct Bench {
    node: Arc<Node>,
    objects: Objects,
    bucket: Name,
    size: usize,
    at_a_time: usize,
    /// What there is for gets of bare chunks.
    chunks: Vec<ChunkId>,
}

/// Requests, and what they took.
#[derive(Clone, Copy)]
struct Rate {
    count: usize,
    time: Duration,
    processor: Duration,
}

impl Rate {
    fn per_s(self) -> f64 {
        self.count as f64 / self.time.as_secs_f64()
    }

    fn processor_ms(self) -> f64 {
        self.processor.as_secs_f64() * 1e3 / self.count as f64
    }
}

/// Processor time of this process so far, in steps of 10 ms.
fn processor() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields = stat.rsplit(") ").next().expect("fields").split(' ');
    // utime and stime are the 14th and 15th; the name and what is before it are not counted here.
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

impl Bench {
    fn content(&self, n: usize, kind: u8) -> Bytes {
        let mut bytes = vec![kind; self.size];
        bytes[..8].copy_from_slice(&(n as u64).to_le_bytes());
        Bytes::from(bytes)
    }

    fn name(n: usize) -> Name {
        Name::new(format!("a folder/object {n}")).expect("a name")
    }

    async fn put_bare(&self, n: usize) {
        let put = self.node.put(Content::of(self.content(n, 1)));
        put.await.expect("an answer").expect("stored");
    }

    async fn bucket(&self) -> FoundBucket {
        self.objects.believed(&self.bucket).await.expect("it is there")
    }

    async fn put_named(&self, n: usize) {
        let put = PutObject {
            key: new_key().expect("random bytes"),
            condition: Condition::Always,
            object: Object::default(),
            seal: None,
            encrypt: Encrypt::AsBucket,
            cause: EventKind::CreatedPut.into(),
        };
        let content = stream::iter([Ok::<Bytes, String>(self.content(n, 2))]);
        let incoming = Incoming { length: Some(self.size as u64), buffered: 0 };
        let (bucket, name) = (self.bucket().await, Bench::name(n));
        self.objects.put((&bucket, &name), put, incoming, content).await.expect("stored");
    }

    async fn get_bare(&self, n: usize) {
        let got =
            self.node.get(self.chunks[n % THERE]).await.expect("an answer").expect("it is there");
        assert_eq!(got.bytes().len(), self.size);
    }

    async fn get_named(&self, n: usize) {
        let (bucket, name) = (self.bucket().await, Bench::name(n % THERE));
        let (record, _) = self.objects.record(&bucket, &name).await.expect("voters answer");
        let head = record.as_ref().and_then(|record| record.head()?.object.as_ref()?.object());
        let object = head.expect("it is there");
        let all = 0..object.size;
        let mut content =
            Box::pin(self.objects.read(object, None, all).await.expect("it is there"));
        let piece = content.next().await.expect("content").expect("it is read");
        assert_eq!(piece.len(), self.size);
        if self.size > slotcast_object::MAX_INLINE {
            assert!(matches!(object.body, Body::Chunk(_)));
        }
    }

    /// As many requests as one turn takes.
    fn turn<F: Future<Output = ()>>(
        &self,
        runtime: &Runtime,
        next: &mut usize,
        request: impl Fn(usize) -> F,
    ) -> Rate {
        let (start, used) = (Instant::now(), processor());
        let first = *next;
        let numbers = std::iter::from_fn(|| {
            let goes_on = start.elapsed() < TURN;
            goes_on.then(|| {
                *next += 1;
                *next - 1
            })
        });
        runtime.block_on(stream::iter(numbers).for_each_concurrent(self.at_a_time, request));
        Rate { count: *next - first, time: start.elapsed(), processor: processor() - used }
    }
}

fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[(values.len() - 1) * quarter / 4])
}

fn say(what: &str, bench: &Bench, pairs: &[(Rate, Rate)]) {
    let of = |value: &dyn Fn(&(Rate, Rate)) -> f64| quartiles(pairs.iter().map(value).collect());
    let [low, ratio, high] = of(&|(bare, named)| named.per_s() / bare.per_s());
    let [_, bare, _] = of(&|(bare, _)| bare.per_s());
    let [_, bare_ms, _] = of(&|(bare, _)| bare.processor_ms());
    let [_, named_ms, _] = of(&|(_, named)| named.processor_ms());
    println!(
        "{what} {:>3} KiB, {:>2} at a time: {ratio:.2} ({low:.2} to {high:.2}) of {bare:.0}/s; \
         processor {named_ms:.3} ms instead of {bare_ms:.3} ms",
        bench.size >> 10,
        bench.at_a_time
    );
}

fn measure(base: &Path, runtime: &Runtime, (size, at_a_time): (usize, usize), turns: usize) {
    let base = base.join(format!("{size}-{at_a_time}"));
    let config = NodeConfig {
        register: Some(base.join("targets.toml")),
        folders: (0..9).map(|n| base.join(format!("target-{n}"))).collect(),
        group_size: 9,
        replicas: 3,
        segment_size: 64 << 20,
        limits: Limits::default(),
    };
    std::fs::create_dir_all(&base).expect("a folder");
    let node = Arc::new(Node::start(&config).expect("it starts"));
    let objects = Objects::new(node.clone());
    let bucket = Name::new("bucket").expect("a name");
    let mut bench = Bench { node, objects, bucket, size, at_a_time, chunks: Vec::new() };
    runtime.block_on(async {
        let key = new_key().expect("random bytes");
        let wanted = NewBucket::from(Versioning::Off);
        bench.objects.make_bucket(&bench.bucket, key, wanted).await.expect("a bucket");
        for n in 0..THERE {
            bench.put_bare(n).await;
            bench.put_named(n).await;
            bench.chunks.push(Content::of(bench.content(n, 1)).chunk());
        }
    });
    let (mut bare, mut named) = (THERE, THERE);
    let puts: Vec<_> = (0..turns)
        .map(|_| {
            let first = bench.turn(runtime, &mut bare, |n| bench.put_bare(n));
            (first, bench.turn(runtime, &mut named, |n| bench.put_named(n)))
        })
        .collect();
    say("put", &bench, &puts);
    let gets: Vec<_> = (0..turns)
        .map(|_| {
            let first = bench.turn(runtime, &mut bare, |n| bench.get_bare(n));
            (first, bench.turn(runtime, &mut named, |n| bench.get_named(n)))
        })
        .collect();
    say("get", &bench, &gets);
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let base = arguments.next();
    let base = base.map_or_else(|| tempfile::tempdir().expect("a folder").keep(), PathBuf::from);
    let turns = arguments.next().map_or(9, |text| text.parse().expect("a number of turns"));
    let base = base.join("name-limit");
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().expect("a thread");
    for load in [(128 << 10, 1), (128 << 10, 16), (4 << 10, 1), (4 << 10, 64)] {
        measure(&base, &runtime, load, turns);
    }
    std::fs::remove_dir_all(base).expect("it was there");
}
