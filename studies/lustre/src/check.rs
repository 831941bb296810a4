//! Whether the parts of a Lustre scenario fit together.

use slotcast_engine::ScenarioError;
use slotcast_schedulers::Policy;
use slotcast_units::{Size, Span};

use super::job::{Access, Job, Work};
use super::scenario::{ClientSettings, LustreScenario, TimeoutSettings};

/// Most RPCs that all clients together may have under way: more would not fit a machine's memory.
const MAX_UNDER_WAY: u64 = 1 << 26;

/// Most clients.
const MAX_CLIENTS: u64 = 1 << 24;
/// More than this, in the worst case, could leave the clock.
const LONGEST: Span = Span::from_secs(100 * 365 * 86_400);

/// Finds the first reason for which `scenario` cannot be run.
///
/// # Errors
/// Names the setting, what is wrong with it and what would be right.
pub fn check_lustre(scenario: &LustreScenario) -> Result<(), ScenarioError> {
    let LustreScenario { client, network, ost, elevator, disk, mdt, layout, timeout, .. } =
        scenario;
    let positive = |key, is_positive: bool| match is_positive {
        true => Ok(()),
        false => Err(ScenarioError { key, problem: "must be more than zero".into() }),
    };
    let wrong = |key, problem: String| Err(ScenarioError { key, problem });

    positive("client.rpcs_in_flight", client.rpcs_in_flight > 0)?;
    positive("client.rpc_size", client.rpc_size > Size::ZERO)?;
    positive("network.rate", network.rate.as_bps() > 0)?;
    positive("ost.count", ost.count > 0)?;
    positive("ost.threads", ost.threads > 0)?;
    positive("elevator.unplug_at", elevator.unplug_at > 0)?;
    positive("disk.members", disk.members > 0)?;
    positive("disk.chunk", disk.chunk > Size::ZERO)?;
    positive("disk.read_rate", disk.read_rate.as_bps() > 0)?;
    positive("disk.write_rate", disk.write_rate.as_bps() > 0)?;
    positive("cache.rate", scenario.cache.rate.as_bps() > 0)?;
    positive("mdt.threads", mdt.threads > 0)?;
    positive("layout.stripe_size", layout.stripe_size > Size::ZERO)?;
    check_rpcs(scenario)?;
    check_timeouts(timeout)?;
    for (key, whole, jitter) in [
        ("disk.seek_jitter", disk.seek, disk.seek_jitter),
        ("disk.latency_jitter", disk.latency, disk.latency_jitter),
    ] {
        if jitter > whole {
            return wrong(key, format!("must not exceed what it varies ({whole})"));
        }
    }
    if scenario.cache.size > Size::ZERO && disk.members > 1 {
        let problem = "the cache stands before a single disk; expected disk.members = 1";
        return wrong("cache.size", problem.into());
    }
    if !can_build(&scenario.scheduler.policy) {
        let problem = "levels and slices need at least one entry, and slices some time";
        return wrong("scheduler.policy", problem.into());
    }
    if scenario.jobs.is_empty() {
        return wrong("job", "nobody does anything; expected at least one `[[job]]`".into());
    }
    let (mut under_way, mut clients, mut time) = (0u64, 0u64, 0u128);
    for job in &scenario.jobs {
        clients += u64::from(job.clients);
        positive("job.clients", job.clients > 0)?;
        positive("job.size", job.size > Size::ZERO)?;
        positive("job.transfer", job.transfer > Size::ZERO)?;
        positive("job.sets", job.sets > 0)?;
        let most = Size::from_bytes(u64::MAX / 4 / u64::from(job.clients));
        if job.size > most {
            return wrong("job.size", format!("{} for each client is beyond the clock", job.size));
        }
        if !job.direct && job.access == Access::Random {
            return wrong("job.access", "random needs `direct = true`: one call at a time".into());
        }
        if job.until > Span::ZERO && job.work == Work::WriteRead {
            let problem =
                "a job that reads what it has written ends by itself; expected no `until`";
            return wrong("job.until", problem.into());
        }
        if !job.direct && job.interval > Span::ZERO {
            return wrong("job.interval", "pauses need `direct = true`: one call at a time".into());
        }
        time = time.saturating_add(longest(scenario, job));
        let each = u64::from(client.rpcs_in_flight) * u64::from(stripes(scenario));
        under_way = under_way.saturating_add(each.saturating_mul(u64::from(job.clients)));
    }
    if time > u128::from(LONGEST.as_ns()) {
        let problem = "with these sizes and times the jobs could take more than a century";
        return wrong("job.size", problem.into());
    }
    if clients > MAX_CLIENTS {
        return wrong("job.clients", format!("{clients} clients are more than {MAX_CLIENTS}"));
    }
    if under_way > MAX_UNDER_WAY {
        let problem = format!(
            "{under_way} RPCs could be under way at once; expected clients times OSTs of a file times \
             RPCs in flight to be at most {MAX_UNDER_WAY}"
        );
        return wrong("client.rpcs_in_flight", problem);
    }
    Ok(())
}

fn check_timeouts(timeout: &TimeoutSettings) -> Result<(), ScenarioError> {
    let wrong = |key, problem: String| Err(ScenarioError { key, problem });
    for (key, is_positive) in [
        ("timeout.parts", timeout.parts > 0),
        ("timeout.early_extra", timeout.early_extra > Span::ZERO),
    ] {
        if !is_positive {
            return wrong(key, "must be more than zero".into());
        }
    }
    if timeout.history.as_ns() < u64::from(timeout.parts) {
        return wrong(
            "timeout.history",
            "must be at least a nanosecond for each of its parts".into(),
        );
    }
    if timeout.at_least > timeout.at_most {
        return wrong(
            "timeout.at_least",
            format!("must not exceed timeout.at_most ({})", timeout.at_most),
        );
    }
    Ok(())
}

/// An RPC is of one stripe. One that may be larger than usual has no effect beyond that.
fn check_rpcs(LustreScenario { client, layout, .. }: &LustreScenario) -> Result<(), ScenarioError> {
    let (largest, stripe) = (client.rpc_size, layout.stripe_size);
    if largest > stripe.max(ClientSettings::default().rpc_size) {
        let problem = format!(
            "RPCs end where their stripe does, after {stripe}: {largest} has no effect; expected a \
             layout.stripe_size of {largest} or more as well"
        );
        return Err(ScenarioError { key: "client.rpc_size", problem });
    }
    Ok(())
}

/// No run can take longer for `job`: all its requests one after another, each with every delay. In ns.
fn longest(scenario: &LustreScenario, job: &Job) -> u128 {
    let LustreScenario { client, network, ost, elevator, disk, mdt, .. } = scenario;
    let smallest = job.transfer.min(client.rpc_size).min(scenario.layout.stripe_size);
    let phases = if job.work == Work::WriteRead { 2 } else { 1 };
    let bytes = u128::from(job.size.as_bytes()) * u128::from(job.clients) * phases;
    // The last request of a client, stripe or window of blocks may be smaller than the others.
    let requests = bytes / u128::from(smallest.as_bytes()) * 2 + u128::from(job.clients) * 4;
    let ns = |span: Span| u128::from(span.as_ns());
    let delays = [
        disk.seek * 2,
        disk.latency * 2,
        ost.allocation_time * 2,
        elevator.unplug_delay,
        network.latency * 8,
        network.interrupt * 8,
        mdt.open_time * 2,
        job.interval * 2,
    ];
    let message = u128::from(network.message.as_bytes()) * 8;
    let each = delays.into_iter().map(ns).sum::<u128>();
    let slowest = [network.rate, disk.read_rate, disk.write_rate, scenario.cache.rate];
    let slowest = slowest.into_iter().map(|rate| u128::from(rate.as_bps())).min().unwrap_or(1);
    let bits = bytes.saturating_mul(8 * 4).saturating_add(requests.saturating_mul(message * 8));
    let moving = bits.saturating_mul(1_000_000_000) / slowest;
    let starts = [job.start, job.spread, job.until, job.within, client.start_spread];
    let skewed = ns(job.skew) * u128::from(job.sets) * 2;
    let before = starts.into_iter().map(ns).sum::<u128>() + skewed;
    requests.saturating_mul(each).saturating_add(moving).saturating_add(before)
}

/// OSTs of a file.
fn stripes(scenario: &LustreScenario) -> u32 {
    match scenario.layout.stripe_count {
        0 => scenario.ost.count,
        count => count.min(scenario.ost.count),
    }
}

/// Whether [`Policy::build`] takes it.
fn can_build(policy: &Policy) -> bool {
    match policy {
        Policy::Levels(_, levels) => !levels.is_empty() && levels.iter().all(can_build),
        Policy::TimeSlices(slices) => {
            let fits = |slice: &slotcast_schedulers::Slice| {
                slice.span > Span::ZERO && can_build(&slice.policy)
            };
            !slices.is_empty() && slices.iter().all(fits)
        }
        Policy::DeadlineFirst(_, inner) => can_build(inner),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::LayoutSettings;

    #[test]
    fn rpcs_larger_than_a_stripe_are_refused() {
        let mib = Size::from_mib;
        let with = |rpc_size, stripe_size| {
            let client = ClientSettings { rpc_size, ..ClientSettings::default() };
            let layout = LayoutSettings { stripe_size, ..LayoutSettings::default() };
            check_rpcs(&LustreScenario { client, layout, ..LustreScenario::default() })
        };
        let refused = with(mib(4), mib(1)).expect_err("it has no effect");
        assert_eq!(refused.key, "client.rpc_size");
        assert!(refused.problem.contains("layout.stripe_size of 4MiB"), "{refused:?}");
        // What was not asked for is not refused: stripes may be small.
        assert_eq!(with(mib(4), mib(4)), Ok(()));
        assert_eq!(with(mib(1), Size::from_kib(64)), Ok(()));
    }
}
