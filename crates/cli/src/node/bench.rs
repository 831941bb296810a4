//! `slotcast bench`.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use slotcast_lab::{Estimate, InputError, LoadReport, Served};
use slotcast_node::http::{CHUNK_SIZES, PutAnswer};
use slotcast_units::{Size, Span};

use super::client::{Client, NodeOption};
use super::put::{put_path, replicas};
use crate::VERSION;
use crate::failure::{Failure, Outcome};
use crate::format::{align_right, estimate, table};
use crate::interrupt::{INTERRUPTED, stop_at_ctrl_c};
use crate::output::{Destination, print};
use crate::outputs::{Kind, Outputs};
use crate::progress::Bar;

/// Load a running node with puts or gets, and measure it as a simulation would
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast bench put                                 1 MiB chunks, 16 at a time, for ten seconds
  slotcast bench put --size 128KiB --concurrency 64 --duration 60s
  slotcast bench get --size 128KiB --json get.json
  slotcast compare simulated.json get.json           beside `slotcast sim --json simulated.json`

Every put has content of its own, which stays in the store: nothing is removed afterwards.
A get reads one of the chunks that were put for it before the measurement.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    operation: Operation,
}

#[derive(Debug, Subcommand)]
enum Operation {
    /// Store chunks of random content
    Put(Load),
    /// Read chunks back, chosen at random
    Get {
        #[command(flatten)]
        load: Load,

        /// Chunks to choose from; they are put first
        #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        chunks: u32,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Load {
    /// Size of a chunk, from 4KiB to 8MiB
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    pub(crate) size: Size,

    /// Requests under way at a time, each on a connection of its own
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) concurrency: u16,

    /// Time to measure, after the warm-up
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) duration: Span,

    /// Time to load the node before that
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub(crate) warmup: Span,

    /// Write the result as JSON, to stdout for `-` (docs/simulate/json.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// On how many targets each chunk is put; the cluster's number unless said
    #[arg(long, value_name = "N", value_parser = replicas())]
    pub(crate) replicas: Option<u8>,

    #[command(flatten)]
    pub(crate) node: NodeOption,
}

/// Random bytes, of which every chunk is a copy with a stamp of its own.
struct Contents {
    bytes: Vec<u8>,
    next: AtomicU64,
}

impl Contents {
    fn new(size: usize) -> Result<Contents, Failure> {
        let mut bytes = vec![0; size];
        getrandom::fill(&mut bytes).map_err(|error| {
            InputError::plain(format!("the system gives no random bytes: {error}"))
        })?;
        Ok(Contents { bytes, next: AtomicU64::new(0) })
    }

    /// Content that no other call gives.
    fn another(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let stamp = self.next.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        // The random bytes before it tell two benches apart.
        let place = bytes.len() - stamp.len();
        bytes[place..].copy_from_slice(&stamp);
        bytes
    }
}

fn put(client: &Client, url: &str, content: &[u8]) -> Result<String, Box<InputError>> {
    let text = client.checked(client.agent().put(url).send(content))?.body_mut().read_to_string();
    text.map_err(|error| error.to_string())
        .and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()))
        .map(|answer: PutAnswer| answer.address)
        .map_err(|error| InputError::plain(format!("the answer to a put: {error}")))
}

fn get(
    client: &Client,
    url: &str,
    size: usize,
    buffer: &mut Vec<u8>,
) -> Result<(), Box<InputError>> {
    buffer.clear();
    let mut answer = client.checked(client.agent().get(url).call())?;
    let read = answer.body_mut().as_reader().read_to_end(buffer);
    match read {
        Ok(length) if length == size => Ok(()),
        Ok(length) => Err(InputError::plain(format!("{url}: {length} bytes instead of {size}"))),
        Err(error) => Err(InputError::plain(format!("{url}: {error}"))),
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let (load, chunks) = match &arguments.operation {
        Operation::Put(load) => (load, None),
        Operation::Get { load, chunks } => (load, Some(*chunks)),
    };
    let json = Outputs::default().file("--json", load.json.as_deref(), Kind::Json)?;
    let stop = stop_at_ctrl_c()?;
    let report = run_load(load, chunks, &stop)?;
    if !json.as_ref().is_some_and(Destination::is_stdout) {
        print(&text(&report, load.size))?;
    }
    if let Some(json) = &json {
        json.write_json(&report)?;
    }
    let is_stopped = stop.load(Ordering::Relaxed);
    Ok(if is_stopped { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

/// Loads a node as `load` says: with puts, or with gets of `chunks` that are put first.
pub(crate) fn run_load(
    load: &Load,
    chunks: Option<u32>,
    stop: &AtomicBool,
) -> Result<LoadReport, Failure> {
    let size = load.size.as_bytes();
    let (least, most) = CHUNK_SIZES.into_inner();
    if !(least as u64..=most as u64).contains(&size) {
        let message = format!("--size: a chunk is from 4KiB to 8MiB, not {}", load.size);
        return Err(InputError::plain(message).into());
    }
    if load.duration < Span::from_ms(10) {
        let message =
            format!("--duration: {} is too short to measure; at least 10ms", load.duration);
        return Err(InputError::plain(message).into());
    }
    let size = usize::try_from(size).unwrap_or(most);
    let contents = Contents::new(size)?;
    let client = Client::new(&load.node)?;
    let put_url = client.url(&put_path(load.size.as_bytes(), load.replicas));

    let mut urls = Vec::new();
    let bar = Bar::new(u64::from(chunks.unwrap_or(0)));
    for _ in 0..chunks.unwrap_or(0) {
        let address = put(&client, &put_url, &contents.another())?;
        urls.push(client.url(&format!("/v1/content/{address}")));
        bar.advance(1);
    }
    bar.finish();

    let work = |client: &Client, n: u64, buffer: &mut Vec<u8>| match urls.len() {
        0 => put(client, &put_url, &contents.another()).map(drop),
        // A step that shares no factor with most counts goes over all of them in no order.
        count => {
            get(client, &urls[(n.wrapping_mul(0x9e37_79b9) % count as u64) as usize], size, buffer)
        }
    };
    let Found { served, failures, first_failure, measured } = measure(load, stop, &work);
    if let (true, Some(error)) = (served.is_empty(), first_failure) {
        return Err(error.into());
    }
    let mut configuration: BTreeMap<_, _> = [
        ("workload.chunk_size", load.size.to_string()),
        ("concurrency", load.concurrency.to_string()),
        ("duration", load.duration.to_string()),
        ("warmup", load.warmup.to_string()),
        ("workload.get_share", if chunks.is_some() { "100%" } else { "0%" }.into()),
    ]
    .into();
    if let Some(chunks) = chunks {
        configuration.insert("chunks", chunks.to_string());
    }
    if let Some(replicas) = load.replicas {
        configuration.insert("cluster.replicas", replicas.to_string());
    }
    let operation = if chunks.is_some() { "get" } else { "put" };
    Ok(LoadReport::new(VERSION, operation, configuration, &served, failures, measured))
}

/// Does one request with a client and a number of its own; the buffer is for what is read.
type Work<'a> = dyn Fn(&Client, u64, &mut Vec<u8>) -> Result<(), Box<InputError>> + Sync + 'a;

struct Found {
    served: Vec<Served>,
    failures: u64,
    first_failure: Option<Box<InputError>>,
    /// Less than asked for, if Ctrl-C came.
    measured: Duration,
}

fn measure(load: &Load, stop: &AtomicBool, work: &Work<'_>) -> Found {
    let (warmup, duration) = (time(load.warmup), time(load.duration));
    let start = Instant::now();
    let all = Mutex::new(Vec::new());
    let failed = Mutex::new((0, None));
    let next = AtomicU64::new(0);
    let is_over = || stop.load(Ordering::Relaxed) || start.elapsed() >= warmup + duration;
    let bar = Bar::new(u64::try_from((warmup + duration).as_millis()).unwrap_or(u64::MAX));
    thread::scope(|scope| {
        for _ in 0..load.concurrency {
            scope.spawn(|| {
                let Ok(client) = Client::new(&load.node) else { return };
                let mut own = Vec::new();
                let mut buffer = Vec::new();
                while !is_over() {
                    let begun = Instant::now();
                    let result = work(&client, next.fetch_add(1, Ordering::Relaxed), &mut buffer);
                    let (ended, latency) = (start.elapsed(), begun.elapsed());
                    match result {
                        Ok(()) if ended >= warmup => {
                            own.push(Served { at: ended - warmup, latency });
                        }
                        Ok(()) => {}
                        Err(error) => {
                            let mut failed = failed.lock().expect("no thread panics");
                            failed.0 += 1;
                            failed.1.get_or_insert(error);
                            drop(failed);
                            // Whoever cannot be reached is not asked a million times.
                            thread::sleep(Duration::from_millis(10));
                        }
                    }
                }
                all.lock().expect("no thread panics").append(&mut own);
            });
        }
        let mut told = 0;
        while !is_over() {
            thread::sleep(Duration::from_millis(50));
            let now = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
            bar.advance(now - told);
            told = now;
        }
    });
    let measured = start.elapsed().saturating_sub(warmup).min(duration);
    bar.finish();
    let mut served = all.into_inner().expect("no thread panics");
    served.retain(|one| one.at < measured);
    let (failures, first_failure) = failed.into_inner().expect("no thread panics");
    let measured = measured.max(Duration::from_millis(1));
    Found { served, failures, first_failure, measured }
}

fn time(span: Span) -> Duration {
    Duration::from_nanos(span.as_ns())
}

fn text(report: &LoadReport, size: Size) -> String {
    let mut table = table(&["metric", "value ± 95 % interval", "unit"]);
    let mut row = |name: &str, value: Estimate, unit: &str| {
        table.add_row([name, &estimate(value), unit]);
    };
    let rate = report.metrics.chunks_per_s;
    row("chunks_per_s", rate, "1/s");
    let bytes = |chunks: f64| chunks * size.as_bytes() as f64 / 1e6;
    let throughput = Estimate { value: bytes(rate.value), ci95: rate.ci95.map(bytes) };
    row("throughput", throughput, "MB/s");
    for (part, value) in report.metrics.latency_us.parts() {
        row(&format!("latency, {part}"), value, "us");
    }
    align_right(&mut table, 1);
    let counts: Vec<_> = report.counts.iter().map(|(name, n)| format!("{n} {name}")).collect();
    format!("{table}\n{} in {:.1} s\n", counts.join(", "), report.wall_time_s)
}
