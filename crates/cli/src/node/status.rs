//! `slotcast status`.

use std::fmt::Write;
use std::process::ExitCode;

use clap::Args;
use slotcast_node::status::{NetworkStatus, NodeStatus, NotificationStatus};
use slotcast_units::{Size, Span};

use super::client::{Client, NodeOption};
use super::top::measured;
use crate::failure::Outcome;
use crate::format::{align_right, table};
use crate::output::print;

/// Show how the targets of a node are
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// As JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    node: NodeOption,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let status: NodeStatus = Client::new(&arguments.node)?.get_json("/v1/status")?;
    if arguments.json {
        let text = serde_json::to_string_pretty(&status).unwrap_or_default();
        print(&format!("{text}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = table(&[
        "target",
        "state",
        "chunks",
        "content",
        "to compact",
        "lost",
        "disk MB/s",
        "link MB/s",
        "folder",
    ]);
    for target in &status.targets {
        let state = match &target.reason {
            Some(reason) => format!("{}: {reason}", target.state),
            None => target.state.clone(),
        };
        table.add_row([
            target.target.to_string(),
            state,
            target.chunks.to_string(),
            Size::from_bytes(target.content_bytes).to_string(),
            Size::from_bytes(target.void_bytes).to_string(),
            target.lost_chunks.to_string(),
            measured(target.disk_rate_bytes_per_s),
            measured(target.link_rate_bytes_per_s),
            target.folder.clone(),
        ]);
    }
    align_right(&mut table, 2);
    print(&format!("{table}\n"))?;
    for target in &status.targets {
        if let (Some(expected), Some(remedy)) = (&target.expected, &target.remedy) {
            let number = target.target;
            print(&format!("target {number}: expected {expected}\n  {remedy}\n"))?;
        }
    }
    print(&format!("{}\n{}\n", repair(&status), cluster(&status)))?;
    if let Some(notifications) = &status.notifications {
        print(&format!("{}\n", told(notifications)))?;
    }
    if let Some(network) = &status.network {
        print(&format!("\n{}\n", peers(network)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// How whoever wants to know is told what happens to objects.
fn told(notifications: &NotificationStatus) -> String {
    let mut text = format!("notifications: {} wait", notifications.waiting);
    if notifications.refused > 0 {
        let _ = write!(text, ", {} changes were told to nobody", notifications.refused);
    }
    for of in &notifications.webhooks {
        let name = &of.webhook;
        let _ = write!(text, "; {name} took {}", of.delivered);
        if of.failed_attempts > 0 {
            let _ = write!(text, ", {} attempts failed", of.failed_attempts);
        }
        if of.given_up > 0 {
            let _ = write!(text, ", {} were given up", of.given_up);
        }
        if of.oldest_seconds > 0 {
            let _ = write!(text, ", the oldest waits for {} s", of.oldest_seconds);
        }
    }
    text
}

/// What is known of the whole cluster.
fn cluster(status: &NodeStatus) -> String {
    match status.under_replicated_chunks {
        Some(chunks) => format!("cluster: {chunks} chunks have too few replicas"),
        None => {
            "cluster: it is not known how many chunks have too few replicas: a target has still \
                 to look, does not serve, or is not heard"
                .into()
        }
    }
}

/// What repair has found and done, and how long it will go on.
fn repair(status: &NodeStatus) -> String {
    let repairs = || status.targets.iter().map(|target| &target.repair);
    let lacking: u64 = repairs().map(|repair| repair.under_replicated_chunks).sum();
    let healed: u64 = repairs().map(|repair| repair.healed_chunks).sum();
    let mut text = format!(
        "repair: {lacking} chunks known to have too few replicas, {healed} healed since the start"
    );
    let scans: Vec<_> = repairs().filter_map(|repair| repair.scan.as_ref()).collect();
    if !scans.is_empty() {
        let rate: f64 = scans.iter().map(|scan| scan.healed_per_second).sum();
        let slowest = scans.iter().filter_map(|scan| scan.remaining_seconds).reduce(f64::max);
        let left = slowest.map_or("an unknown time".into(), |seconds| format!("{seconds:.0} s"));
        text.push_str(&format!(
            "; {} of {} targets scan their chunks, {rate:.1} chunks healed per second, about \
             {left} left",
            scans.len(),
            status.targets.len(),
        ));
    }
    let scrubs: Vec<_> = repairs().filter_map(|repair| repair.scrub.as_ref()).collect();
    if !scrubs.is_empty() {
        let slowest = scrubs.iter().filter_map(|scrub| scrub.remaining_seconds).reduce(f64::max);
        let left = slowest.map_or("an unknown time".into(), |seconds| format!("{seconds:.0} s"));
        text.push_str(&format!(
            "; {} of {} targets read their chunks to find rot, about {left} left",
            scrubs.len(),
            status.targets.len(),
        ));
    }
    text
}

/// The other nodes of the cluster, and why datagrams were dropped.
fn peers(network: &NetworkStatus) -> String {
    let mut table = table(&["node", "state", "clock ahead", "by multicast", "address"]);
    for peer in &network.peers {
        let clock = match (peer.clock_ahead_ns, peer.clock_doubt_ns) {
            (Some(ahead), Some(doubt)) => {
                let (sign, span) = (if ahead < 0 { "-" } else { "" }, ahead.unsigned_abs());
                format!("{sign}{} ± {}", Span::from_ns(span), Span::from_ns(doubt))
            }
            _ => "-".into(),
        };
        let multicast = match peer.multicast_groups {
            0 => "no".into(),
            groups => format!("{groups} groups"),
        };
        table.add_row([
            peer.node.to_string(),
            if peer.refused.is_some() { "refused".into() } else { peer.state.clone() },
            clock,
            multicast,
            peer.address.clone(),
        ]);
    }
    let refused: Vec<_> = network
        .refused
        .iter()
        .filter(|(_, n)| **n > 0)
        .map(|(why, n)| format!("{why} {n}"))
        .collect();
    let map = &network.map;
    let mut head = format!("this is node {} in epoch {}", network.node, network.epoch);
    match (map.state.as_str(), map.may_be_stopped) {
        ("" | "active", _) => {}
        (state, true) => head.push_str(&format!(", {state}: may be stopped")),
        (state, false) => head.push_str(&format!(", {state}")),
    }
    if let Some(problem) = &map.problem {
        head.push_str(&format!("\ncluster map: {problem}"));
    }
    if !refused.is_empty() {
        head.push_str(&format!("; datagrams dropped: {}", refused.join(", ")));
    }
    if let [first, others @ ..] = &network.keys[..]
        && !others.is_empty()
    {
        let others = others.iter().map(|key| format!("key {} heard {}", key.number, key.heard));
        let others = others.collect::<Vec<_>>().join(", ");
        head.push_str(&format!("\nsends with key {}; believed, too: {others}", first.number));
    }
    let not_believed = network.peers.iter().filter_map(|peer| {
        let (reason, remedy) = (peer.reason.as_ref()?, peer.remedy.as_ref()?);
        Some(format!("\nnode {} is not believed: {reason}\n  {remedy}", peer.node))
    });
    format!("{head}\n{table}{}", not_believed.collect::<String>())
}
