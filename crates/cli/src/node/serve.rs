//! `slotcast serve`.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use slotcast_lab::InputError;
use slotcast_node::cluster::NodeFile;
use slotcast_node::http::Front;
use slotcast_node::{Limits, MIN_RATE, Node, StartError, http};
use slotcast_units::{Rate, Span};

use super::http_options::{HttpOptions, timeout};
use super::log::LogOptions;
use super::s3_options::S3Options;
use super::security_options::{Places, SecurityOptions, scheme};
use crate::VERSION;
use crate::failure::{Failure, Outcome};

/// Start a store: a whole cluster in this process, on folders of this machine
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  slotcast serve                               nine targets under ./slotcast-data
  slotcast serve --data /mnt/disk --targets 12
  slotcast serve --config node.toml            one node of a cluster of several processes or hosts
  slotcast serve --s3 127.0.0.1:9001           S3 at another port than 9000

Then, from another terminal:
  slotcast put FILE                            prints the address of what it stored
  slotcast get ADDRESS -o FILE
  curl -T FILE http://127.0.0.1:7480/v1/content

Ctrl-C stops it; everything that was acknowledged is on stable storage.")]
pub(crate) struct Arguments {
    /// Be one node of a cluster, as this file says; see docs/operate/cluster.md
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "targets", "replicas", "listen", "disk_rate", "link_rate"])]
    config: Option<PathBuf>,

    /// Where the targets keep their chunks: one folder each is made in it
    #[arg(long, value_name = "FOLDER", default_value = DATA)]
    data: PathBuf,

    /// Number of targets of a new store, 9 unless given; it stays, as chunks are placed by it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    targets: Option<u32>,

    /// Replicas of every chunk
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=8))]
    replicas: u8,

    /// Where to listen
    #[arg(long, value_name = "ADDRESS:PORT", default_value = super::client::DEFAULT_NODE)]
    listen: SocketAddr,

    /// Let the disk of each target be no faster than this, as in 400MB/s
    #[arg(long, value_name = "RATE", value_parser = limit)]
    disk_rate: Option<Rate>,

    /// Let the link of each target and of the initiator be no faster than this, as in 10Gbps
    #[arg(long, value_name = "RATE", value_parser = limit)]
    link_rate: Option<Rate>,

    /// Collect garbage so often, as in 15min; see `slotcast gc` [default: 900s]
    #[arg(long, value_name = "TIME", value_parser = timeout, conflicts_with = "config")]
    collect_every: Option<Span>,

    /// Carry out commands of jobs, so many at a time; none unless given. They may do what the user of this process may: see
    /// docs/operate/jobs.md
    #[arg(long, value_name = "N", default_value_t = 0, env = "SLOTCAST_TRANSFORMS", value_parser = clap::value_parser!(u32).range(0..=1024))]
    transforms: u32,

    /// Let a day of the lifecycle of objects be so long, to try its rules without waiting [default: 24h]
    #[arg(long, value_name = "TIME", value_parser = timeout, conflicts_with = "config")]
    lifecycle_day: Option<Span>,

    #[command(flatten)]
    s3: S3Options,

    #[command(flatten)]
    security: SecurityOptions,

    #[command(flatten)]
    http: HttpOptions,

    #[command(flatten)]
    log: LogOptions,
}

fn limit(text: &str) -> Result<Rate, String> {
    let rate: Rate = text.parse().map_err(|error| format!("{error}"))?;
    match rate >= MIN_RATE {
        true => Ok(rate),
        false => Err(format!("at least {MIN_RATE}")),
    }
}

/// Where the targets keep their chunks unless something else is said.
pub(super) const DATA: &str = "slotcast-data";

/// Segments of the folders: small enough for a laptop, where every target reserves two.
pub(super) const SEGMENT_SIZE: u64 = 64 << 20;

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let log = arguments.log.start();
    let _log = log.map_err(|error| Failure::Output("the log".into(), error))?;
    match &arguments.config {
        Some(path) => join(path, arguments),
        None => alone(arguments),
    }
}

fn listen_at(address: SocketAddr, option: &str) -> Result<TcpListener, Box<InputError>> {
    TcpListener::bind(address).map_err(|error| {
        let help = match error.kind() {
            io::ErrorKind::AddrInUse => {
                Some(format!("does another one run? give {option} another port"))
            }
            _ => None,
        };
        InputError::plain(format!("cannot listen on {address}: {error}")).with_help(help)
    })
}

/// One node of a cluster.
fn join(path: &Path, arguments: &Arguments) -> Outcome {
    let file = NodeFile::read(path).map_err(super::cluster::wrong_file)?;
    if let Some(warning) = &file.warning {
        eprintln!("Warning: {warning}");
    }
    let listener = listen_at(file.http, "http")?;
    let address = listener.local_addr().unwrap_or(file.http);
    let places =
        Places { http: (address, "http"), data: None, folder: path.parent().unwrap_or(path) };
    let (front, about) = arguments.security.front(&arguments.s3, listener, &places)?;
    let front = Front { transforms: arguments.transforms, ..front };
    tracing::info!(
        version = VERSION,
        config = %path.display(),
        name = file.name,
        node = file.node,
        nodes = file.map.nodes.len(),
        epoch = file.map.epoch,
        targets = file.targets.len(),
        replicas = file.map.replicas,
        datagrams = %file.listen,
        http = %file.http,
        "starting"
    );
    let node = Node::join(&file, SEGMENT_SIZE).map_err(|error| not_started(&error))?;
    let node = node.reached_by(arguments.http.host_names());
    let scheme = scheme(front.tls.as_ref());
    let told = || {
        // Nobody may be listening to this, and that is no reason to stop.
        let _ = writeln!(
            io::stdout(),
            "{}: node {} of {} in epoch {}, {} targets, datagrams at {}, {scheme}://{address}\n\n\
             \x20 slotcast status --node {address}    how it is, and whom it hears\n\
             \x20 {scheme}://{address}/                   the same in a browser, and more\n{about}\n\
             Ctrl-C stops it.",
            file.name,
            file.node,
            file.map.nodes.len(),
            file.map.epoch,
            file.targets.len(),
            file.listen,
        );
    };
    served(address, http::serve(node, front, told))
}

/// Exit status of a node that cannot go on: whoever looks after it starts it anew.
const PANICKED: u8 = 3;

/// How a node ended.
fn served(address: SocketAddr, result: Result<(), http::ServeError>) -> Outcome {
    match result {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(http::ServeError::System(error)) => {
            Err(InputError::plain(format!("http://{address} cannot be served: {error}")).into())
        }
        Err(error @ http::ServeError::Panicked) => {
            eprintln!("Error: {error}");
            Ok(ExitCode::from(PANICKED))
        }
    }
}

/// Why the node did not start, with what helps.
fn not_started(error: &StartError) -> Box<InputError> {
    let help = match error {
        StartError::Register(error) => return super::target::wrong_register(error),
        StartError::OpenFiles(too_few) => Some(too_few.remedy()),
        StartError::Network(_, error) => match error.kind() {
            io::ErrorKind::AddrInUse => Some("does this node run already?".into()),
            io::ErrorKind::AddrNotAvailable => Some(
                "it is no address of this host: is `node` right? Where addresses are translated, \
                 set `listen`"
                    .into(),
            ),
            _ => None,
        },
        _ => None,
    };
    InputError::plain(error.to_string()).with_help(help)
}

/// A whole cluster in this process.
fn alone(arguments: &Arguments) -> Outcome {
    let Arguments { data, targets, replicas, listen, .. } = arguments;
    let rates = Limits {
        disk_rate: arguments.disk_rate,
        link_rate: arguments.link_rate,
        collect_every: arguments.collect_every,
        lifecycle_day: arguments.lifecycle_day,
        ..Limits::default()
    };
    let limits = arguments.http.limits(rates);
    let config = super::target::store_in(data, *targets, *replicas, limits)?;
    let targets = config.folders.len();
    if usize::from(*replicas) > targets {
        let message = format!("{replicas} replicas need as many targets, and there are {targets}");
        let help = Some("give --targets or --replicas another number".into());
        return Err(InputError::plain(message).with_help(help).into());
    }
    let listener = listen_at(*listen, "--listen")?;
    let address = listener.local_addr().unwrap_or(*listen);
    let places = Places { http: (address, "--listen"), data: Some(data), folder: data };
    let (front, about) = arguments.security.front(&arguments.s3, listener, &places)?;
    let front = Front { transforms: arguments.transforms, ..front };
    tracing::info!(
        version = VERSION,
        data = %data.display(),
        targets,
        replicas,
        http = %listen,
        "starting"
    );
    let node = Node::start(&config).map_err(|error| not_started(&error))?;
    let node = node.reached_by(arguments.http.host_names());
    let scheme = scheme(front.tls.as_ref());
    let told = || {
        // Nobody may be listening to this, and that is no reason to stop.
        let _ = writeln!(
            io::stdout(),
            "{targets} targets under {}, {replicas} replicas, at {scheme}://{address}\n\n\
             \x20 slotcast put FILE         stores a file and prints its address\n\
             \x20 slotcast get ADDRESS      writes it to standard output\n\
             \x20 slotcast status           how the targets are\n\
             \x20 {scheme}://{address}/    the same in a browser, and more\n{about}\n\
             Ctrl-C stops it.",
            data.display(),
        );
    };
    served(address, http::serve(node, front, told))
}
