//! What no single setting shows: whether the parts of a scenario fit together.

use slotcast_engine::ScenarioError;
use slotcast_protocol::{GroupMap, LayoutError, MAX_REPLICAS};
use slotcast_scenario::{ProtocolKind, Scenario};
use slotcast_units::{Share, Size, Span};

use crate::replicast::control_size_problem;

/// Most disks behind the link of one target.
const MAX_DISKS: u32 = 1000;

/// Most chunks of one object.
const MAX_PARTS: u64 = 65_536;

/// The negotiating groups of `scenario`.
pub(crate) fn groups(scenario: &Scenario) -> Result<GroupMap, ScenarioError> {
    let c = &scenario.cluster;
    GroupMap::new(c.targets, c.group_size, c.targets_per_domain).map_err(|error| {
        let key = match error {
            LayoutError::TooFewTargets { .. } => "cluster.targets",
            LayoutError::GroupSize(_) => "cluster.group_size",
            LayoutError::EmptyDomain => "cluster.targets_per_domain",
            // Of layouts in which it is said who sits where.
            LayoutError::TwoSeats(_) | LayoutError::NoSeat(_) | LayoutError::NoSeats => {
                "cluster.targets"
            }
        };
        ScenarioError { key, problem: error.to_string() }
    })
}

/// Finds the first reason for which `scenario` cannot be run.
///
/// # Errors
/// Names the setting, what is wrong with it and what would be right.
pub fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    check_sizes(scenario)?;
    match scenario.protocol.kind {
        ProtocolKind::ReplicastM | ProtocolKind::ReplicastH | ProtocolKind::ReplicastProxy => {
            check_groups(scenario)?;
            check_replicast(scenario)?;
        }
        _ => slotcast_peers::check(scenario)?,
    }
    check_run(scenario)?;
    check_faults(scenario)
}

fn wrong(key: &'static str, problem: impl Into<String>) -> Result<(), ScenarioError> {
    Err(ScenarioError { key, problem: problem.into() })
}

fn positive(key: &'static str, is_positive: bool) -> Result<(), ScenarioError> {
    if is_positive { Ok(()) } else { wrong(key, "must be more than zero") }
}

/// Numbers of things, and how large they are.
fn check_sizes(scenario: &Scenario) -> Result<(), ScenarioError> {
    let Scenario { cluster, network, disk, workload, run, .. } = scenario;
    positive("cluster.initiators", cluster.initiators > 0)?;
    positive("cluster.targets", cluster.targets > 0)?;
    positive("cluster.replicas", cluster.replicas > 0)?;
    positive("cluster.targets_per_domain", cluster.targets_per_domain > 0)?;
    positive("network.link_rate", network.usable_rate().as_bps() > 0)?;
    positive("network.frame", network.frame > Size::ZERO)?;
    positive("disk.rate", disk.rate.as_bps() > 0)?;
    positive("workload.chunk_size", workload.chunk_size > Size::ZERO)?;
    positive("workload.window", workload.window > 0)?;
    positive("run.length", run.length > Span::ZERO)?;

    if !(1..=MAX_DISKS).contains(&disk.per_target) {
        return wrong("disk.per_target", format!("must be from 1 to {MAX_DISKS}"));
    }
    if cluster.replicas as usize > MAX_REPLICAS {
        let problem = format!("{} replicas; at most {MAX_REPLICAS}", cluster.replicas);
        return wrong("cluster.replicas", problem);
    }
    let domains = cluster.targets.div_ceil(cluster.targets_per_domain);
    if domains < cluster.replicas {
        let problem = format!(
            "{} replicas need as many failure domains; {} targets in domains of {} make {domains}",
            cluster.replicas, cluster.targets, cluster.targets_per_domain
        );
        return wrong("cluster.replicas", problem);
    }
    if workload.chunk_size > Size::from_mib(64) {
        return wrong("workload.chunk_size", "a chunk is at most 64MiB");
    }
    if workload.mix.largest() / workload.chunk_size >= MAX_PARTS {
        let problem = format!(
            "an object of {} has more than {MAX_PARTS} chunks of {}; use larger chunks",
            workload.mix.largest(),
            workload.chunk_size
        );
        return wrong("workload.mix", problem);
    }
    Ok(())
}

/// Whether every negotiating group has room for all replicas.
fn check_groups(scenario: &Scenario) -> Result<(), ScenarioError> {
    let cluster = &scenario.cluster;
    let groups = groups(scenario)?;
    for group in 0..groups.groups() {
        let mut domains: Vec<u32> = groups
            .members(slotcast_protocol::GroupId(group))
            .iter()
            .map(|&t| groups.domain(t))
            .collect();
        domains.sort_unstable();
        domains.dedup();
        if domains.len() < cluster.replicas as usize {
            let problem = format!(
                "group {group} spans {} failure domains, too few for {} replicas; \
                 use larger groups or smaller domains",
                domains.len(),
                cluster.replicas
            );
            return wrong("cluster.group_size", problem);
        }
    }
    Ok(())
}

/// What is set for Replicast.
fn check_replicast(scenario: &Scenario) -> Result<(), ScenarioError> {
    let Scenario { network, disk, replicast, workload, .. } = scenario;
    if replicast.control_share >= Share::ONE
        || network.usable_rate().share(replicast.control_share).as_bps() == 0
    {
        let problem = "must leave room for control messages and for payload";
        return wrong("replicast.control_share", problem);
    }
    if let Some(problem) = control_size_problem(replicast.control_size) {
        return wrong("replicast.control_size", problem);
    }
    if replicast.bid_multiplier != Share::ZERO && replicast.bid_multiplier < Share::ONE {
        let problem = "a window narrower than its transfer; at least 100%, or 0% for the \
                       protocol's own default";
        return wrong("replicast.bid_multiplier", problem);
    }
    let timing = crate::replicast::timing(scenario);
    if timing.data_rate.as_bps() == 0 || timing.frame_time() == Span::ZERO {
        let problem = format!(
            "a frame of {} takes no time at {}; use larger frames or a slower link",
            network.frame, timing.data_rate
        );
        return wrong("network.frame", problem);
    }
    for (key, timeout, least) in [
        ("replicast.answer_timeout", replicast.answer_timeout, timing.round_trip()),
        (
            "replicast.ack_timeout",
            replicast.ack_timeout,
            timing.one_way() + disk.service(workload.chunk_size),
        ),
    ] {
        if timeout != Span::ZERO && timeout < least {
            let problem = format!("nothing can be back within {timeout}; at least {least}");
            return wrong(key, problem);
        }
    }
    if replicast.double_booking && scenario.protocol.kind != ProtocolKind::ReplicastH {
        let problem = "a late rejection by one target would spoil a window that is common to all \
                       replicas; only \"replicast-h\" has one for each; set protocol.kind to \
                       that, or this to false";
        return wrong("replicast.double_booking", problem);
    }
    if !(1..=255).contains(&replicast.max_rounds) {
        return wrong("replicast.max_rounds", "must be from 1 to 255");
    }
    Ok(())
}

/// Requests, and how long they are measured.
fn check_run(scenario: &Scenario) -> Result<(), ScenarioError> {
    let Scenario { workload, run, .. } = scenario;
    if workload.get_share > Share::ONE {
        return wrong("workload.get_share", "a part of the requests is at most 100%");
    }
    if workload.arrivals_per_s == 0 {
        return wrong("workload.arrivals_per_s", "must be more than zero");
    }
    let measured_until =
        slotcast_scenario::recorder::measured_until(scenario) - slotcast_units::Time::ZERO;
    if run.warmup >= measured_until {
        let problem = format!("a warm-up of {} leaves nothing of {measured_until}", run.warmup);
        return wrong("run.warmup", problem);
    }
    Ok(())
}

fn check_faults(scenario: &Scenario) -> Result<(), ScenarioError> {
    let Scenario { cluster, disk, faults, .. } = scenario;
    for (key, share) in [
        ("faults.message_loss", faults.message_loss),
        ("faults.message_duplication", faults.message_duplication),
        ("faults.transfer_corruption", faults.transfer_corruption),
        ("faults.slow_factor", faults.slow_factor),
    ] {
        if share > Share::ONE {
            return wrong(key, "is at most 100%");
        }
    }
    for (key, n) in
        [("faults.targets_down", faults.targets_down), ("faults.slow_disks", faults.slow_disks)]
    {
        if n > cluster.targets {
            return wrong(key, format!("{n} of {} targets", cluster.targets));
        }
    }
    if faults.slow_disks > 0 {
        positive("faults.slow_factor", disk.rate.share(faults.slow_factor).as_bps() > 0)?;
    }
    if faults.rebuild_share >= Share::ONE {
        let problem = "leaves users nothing of the disks; expected less than 100%";
        return wrong("faults.rebuild_share", problem);
    }
    if faults.up_at != Span::ZERO && faults.up_at <= faults.down_at {
        return wrong("faults.up_at", "targets come back after `faults.down_at`, or 0 for never");
    }
    Ok(())
}
