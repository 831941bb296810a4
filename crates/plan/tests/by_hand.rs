//! Questions whose answer is worked out by hand in `docs/simulate/planning-by-hand.md`, in the same order.

use slotcast_lab::Runner;
use slotcast_plan::{
    Answer, Check, ClusterPlan, Condition, Effort, Holds, LimitedBy, Limits, Resource, answer,
    ready,
};

/// The ready plan `ingest`, with some of its lines replaced.
fn plan(replace: &[(&str, &str)]) -> ClusterPlan {
    let mut text = ready("ingest").expect("a ready plan").text.to_string();
    for (old, new) in replace {
        assert!(text.contains(old), "`{old}` is not in the plan");
        text = text.replace(old, new);
    }
    ClusterPlan::from_toml("by-hand.toml", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// The cluster at its target alone, which takes a part of the time.
fn at_target(plan: &ClusterPlan) -> Check {
    let runner = Runner::new(None).expect("threads");
    let check = slotcast_plan::at_target(plan, &runner, Effort::Quick, 1, &|_| {});
    let check = check.expect("a checked plan");
    yes_means_both(plan, [&check].into_iter());
    check
}

fn ask(plan: &ClusterPlan) -> Answer {
    let runner = Runner::new(None).expect("threads");
    let found = answer(plan, &runner, Effort::Quick, 1, &|_| {}).expect("a checked plan");
    yes_means_both(
        plan,
        [&found.at_target, &found.idle, &found.limit.at].into_iter().chain(&found.faults),
    );
    if let Some(change) = found.change.as_ref().and_then(|change| change.found.as_ref()) {
        yes_means_both(plan, [&change.at_target].into_iter().chain(&change.faults));
    }
    found
}

/// Whoever says yes has measured a p99 of writes and one of reads that are below their limits.
fn yes_means_both<'a>(plan: &ClusterPlan, checks: impl Iterator<Item = &'a Check>) {
    for check in checks.filter(|check| check.holds == Holds::Yes) {
        let kinds = [(plan.target.puts, check.write_p99_us), (plan.target.gets, check.read_p99_us)];
        for (limits, p99) in kinds {
            let Some(Limits { p99: limit, .. }) = limits else { continue };
            let p99 = p99.expect("there were such requests").value;
            assert!(p99 <= limit.as_ns() as f64 / 1e3, "{p99} us, and yes is said: {check:?}");
        }
    }
}

/// How much of the disks is used, as a part of what was worked out: within 3 %.
#[track_caller]
fn disks_are_used(check: &Check, expected: f64) {
    let part = check.used.disks / expected;
    assert!((0.97..1.03).contains(&part), "{} used, {expected} expected", check.used.disks);
}

#[track_caller]
fn is_between(value: f64, low: f64, high: f64) {
    assert!((low..=high).contains(&value), "{value} is not from {low} to {high}");
}

#[test]
fn eight_gigabytes_a_second_and_seventy_percent_reads_need_twice_the_disks() {
    let plan = plan(&[]);
    let found = ask(&plan);
    assert_eq!(found.at_target.holds, Holds::No);
    assert_eq!(found.limit.by, LimitedBy::Full { resource: Resource::Disks });
    // 40,690 requests of disks a second are 2.005 times what 360 disks do: at most 49.9 % is held.
    is_between(1.0 + found.limit.headroom, 0.40, 0.499);
    // Eight disks in each node are still too few, by 0.3 %.
    let change = found.change.and_then(|change| change.found).expect("a change");
    assert_eq!(change.hardware.nodes, 90);
    is_between(f64::from(change.hardware.disks), 9.0, 12.0);
}

#[test]
fn ten_disks_in_each_node_are_enough() {
    let plan = plan(&[("disks = 4 ", "disks = 10 ")]);
    let found = at_target(&plan);
    assert_eq!(found.holds, Holds::Yes, "{found:?}");
    disks_are_used(&found, 0.802);
}

#[test]
fn sixteen_gigabytes_a_second_can_be_read() {
    let plan = plan(&[
        ("ingest = \"8GB/s\"", "reads = \"16GB/s\""),
        ("reads = \"70%\"", "reads = \"100%\""),
    ]);
    let found = at_target(&plan);
    assert_eq!(found.holds, Holds::Yes, "{found:?}");
    disks_are_used(&found, 0.752);
    assert_eq!(found.write_p99_us, None, "nothing is written");
}

#[test]
fn links_are_full_before_their_rate_is_reached() {
    let plan = plan(&[
        ("count = 90  ", "count = 12  "),
        ("clients]\ncount = 90", "clients]\ncount = 36"),
        ("link = \"25Gbps\"", "link = \"10Gbps\""),
        ("kind = \"hdd\"", "kind = \"nvme\""),
        ("reads = \"70%\"", "reads = \"0%\""),
        ("ingest = \"8GB/s\"", "ingest = \"4GB/s\""),
        ("p99 = \"150ms\"", "p99 = \"100ms\""),
    ]);
    let found = ask(&plan);
    assert_eq!(found.at_target.holds, Holds::No);
    assert_eq!(found.limit.by, LimitedBy::Full { resource: Resource::NodeLinks });
    is_between(1.0 + found.limit.headroom, 0.85, 0.982);
}

#[test]
fn no_hard_disk_reads_a_mebibyte_in_fifteen_milliseconds() {
    let plan = plan(&[("p99 = \"150ms\"", "put_p99 = \"150ms\"\nget_p99 = \"15ms\"")]);
    let found = ask(&plan);
    assert_eq!((found.at_target.holds, found.limit.holds_at), (Holds::No, None));
    assert_eq!(found.limit.by, LimitedBy::Latency);
    // 12.5 ms, 5.24 ms on the disk and 0.38 ms on the link: what is there without any waiting.
    let p99 = found.idle.read_p99_us.expect("reads").value;
    is_between(p99, 18_000.0, 36_000.0);
    let puts = found.idle.write_p99_us.expect("writes").value;
    is_between(puts, 18_000.0, 150_000.0);
}

#[test]
fn a_cluster_that_holds_may_not_hold_with_a_node_down() {
    let plan = plan(&[
        ("count = 90  ", "count = 6  "),
        ("clients]\ncount = 90", "clients]\ncount = 6"),
        ("disks = 4 ", "disks = 12 "),
        ("ingest = \"8GB/s\"", "ingest = \"680MB/s\""),
        ("p99 = \"150ms\"", "p99 = \"300ms\"\nwith_a_node_down = true"),
    ]);
    let found = ask(&plan);
    // 3459 of 4058 requests a second of 72 disks, and of 3382 without one of the nodes.
    disks_are_used(&found.at_target, 0.852);
    assert_eq!(found.at_target.holds, Holds::Yes);
    assert_eq!(found.with(Condition::NodeDown).expect("five are left").holds, Holds::No);
    assert_eq!(found.holds(&plan), Holds::No);
}
