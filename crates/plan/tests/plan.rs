//! Answers about clusters whose limit can be computed.

use slotcast_lab::Runner;
use slotcast_plan::{
    Answer, ClusterPlan, Condition, DiskKind, Effort, Holds, LimitedBy, Part, PlanReport, Resource,
    answer,
};
use slotcast_sim::{Run, demand};
use slotcast_units::{Rate, Span};

/// 18 nodes of one disk each: what is small enough to be computed and large enough to be real.
fn plan(disks: &str, link: &str, size: &str, objects_per_s: u64, p99: &str) -> ClusterPlan {
    let text = format!(
        "[nodes]\ncount = 18\nlink = \"{link}\"\n[disks]\n{disks}\n[data]\n\
         sizes = [{{ size = \"{size}\", share = \"100%\" }}]\n[clients]\ncount = 18\n\
         [target]\nobjects_per_s = {objects_per_s}\np99 = \"{p99}\"\n"
    );
    ClusterPlan::from_toml("test.toml", &text).unwrap_or_else(|error| panic!("{error}"))
}

fn ask(plan: &ClusterPlan) -> Answer {
    let runner = Runner::new(None).expect("threads");
    answer(plan, &runner, Effort::Quick, 1, &|_| {}).expect("a checked plan")
}

/// What arithmetic says the cluster can do at the most.
fn capacity(plan: &ClusterPlan) -> f64 {
    demand(&plan.scenario(&plan.hardware, 1, Condition::AllUp, Run::default())).capacity()
}

/// The largest load that was found, as a part of what arithmetic allows.
fn part_of_capacity(plan: &ClusterPlan, answer: &Answer) -> f64 {
    answer.limit.holds_at.expect("some load is held") as f64 / capacity(plan)
}

#[test]
fn disks_that_are_the_limit_are_filled() {
    let plan = plan("kind = \"ssd\"\nrate = \"400MiB/s\"", "10Gbps", "128KiB", 10_000, "20ms");
    // 18 disks write 3200 chunks per second each, and each chunk three times.
    assert!((capacity(&plan) / 19_200.0 - 1.0).abs() < 1e-6);
    let found = ask(&plan);
    let part = part_of_capacity(&plan, &found);
    // A quick search ends within 6 % of it, and can tell nothing of the last 4 %.
    assert!((0.90..=1.0).contains(&part), "{part} {:?}", found.limit);
    assert_eq!(found.limit.by, LimitedBy::Full { resource: Resource::Disks });
    assert_eq!((found.at_target.holds, found.change), (Holds::Yes, None));
    // At 52 % of the capacity the disks are 52 % busy.
    let expected = found.at_target.done_per_s.value / capacity(&plan);
    assert!((found.at_target.used.disks / expected - 1.0).abs() < 0.03);
}

#[test]
fn links_that_are_the_limit_are_filled() {
    let plan = plan("kind = \"nvme\"", "10Gbps", "1MiB", 3_000, "50ms");
    let found = ask(&plan);
    let part = part_of_capacity(&plan, &found);
    // What is left are the gaps between windows that no transfer fits into.
    assert!((0.88..=1.0).contains(&part), "{part} {:?}", found.limit);
    assert_eq!(found.limit.by, LimitedBy::Full { resource: Resource::NodeLinks });
}

#[test]
fn clients_that_are_the_limit_are_named() {
    let mut plan = plan("kind = \"nvme\"", "10Gbps", "1MiB", 900, "30ms");
    plan.clients.count = 1;
    let found = ask(&plan);
    // One client sends a chunk of 1 MiB in 941 us, the published time.
    assert!((capacity(&plan) / (1e6 / 941.482) - 1.0).abs() < 1e-3, "{}", capacity(&plan));
    assert!(part_of_capacity(&plan, &found) > 0.85, "{:?}", found.limit);
    assert_eq!(found.limit.by, LimitedBy::Full { resource: Resource::ClientLinks });
}

#[test]
fn a_p99_that_nothing_can_keep_is_told_from_a_cluster_that_is_too_small() {
    let mut plan = plan("kind = \"hdd\"", "10Gbps", "128KiB", 100, "5ms");
    let found = ask(&plan);
    assert_eq!((found.at_target.holds, found.limit.holds_at), (Holds::No, None));
    assert_eq!(found.limit.by, LimitedBy::Latency);
    // No number of hard disks helps; the cheapest faster ones do.
    let change = found.change.as_ref().and_then(|change| change.found.as_ref()).expect("a change");
    assert_eq!(change.hardware.disk.kind, DiskKind::Ssd);
    assert_eq!((change.hardware.nodes, change.hardware.disks), (18, 1));
    assert_eq!(change.at_target.holds, Holds::Yes);

    plan.change.allow = vec![Part::Nodes, Part::Disks, Part::Link];
    let change = ask(&plan).change.expect("a search");
    assert_eq!(change.found, None);
    assert!(change.tried < 12 && !change.cut_short, "{} variants", change.tried);
}

#[test]
fn a_cluster_that_is_too_small_grows_as_arithmetic_says() {
    let mut plan = plan("kind = \"ssd\"\nrate = \"400MiB/s\"", "10Gbps", "128KiB", 24_000, "5ms");
    plan.change.allow = vec![Part::Nodes];
    let found = ask(&plan);
    assert_eq!(found.at_target.holds, Holds::No);
    assert!(found.limit.headroom < 0.0);
    let change = found.change.as_ref().and_then(|change| change.found.as_ref()).expect("a change");
    // 24000 of 19200 need 22.5 nodes at the least; waiting takes some more.
    assert!((23..=30).contains(&change.hardware.nodes), "{:?}", change.hardware);
    let more = u64::from(change.hardware.nodes - 18);
    assert_eq!(change.cost, more * (4000 + 400 + 100));

    // Twice as fast disks, if nodes are dear.
    plan.change.allow = vec![Part::Nodes, Part::Disks];
    plan.change.prices.node = 100_000;
    let found = ask(&plan).change.and_then(|change| change.found).expect("a change");
    assert_eq!((found.hardware.nodes, found.hardware.disks), (18, 2));
}

#[test]
fn a_node_that_is_down_is_missing() {
    let plan = plan("kind = \"ssd\"\nrate = \"400MiB/s\"", "10Gbps", "128KiB", 9_000, "20ms");
    let found = ask(&plan);
    let down = found.with(Condition::NodeDown).expect("other nodes");
    assert!(down.node_down && down.failures == 0, "{down:?}");
    let expected = found.at_target.used.disks * 18.0 / 17.0;
    assert!((down.used.disks / expected - 1.0).abs() < 0.03, "{down:?}");
}

#[test]
fn the_same_seeds_give_the_same_answer() {
    let plan = plan("kind = \"ssd\"", "25Gbps", "256KiB", 5_000, "10ms");
    let of = |threads, seed| {
        let runner = Runner::new(Some(threads)).expect("threads");
        let answer = answer(&plan, &runner, Effort::Quick, seed, &|_| {}).expect("a checked plan");
        let mut report = PlanReport::new("1", &plan, &answer, seed);
        report.wall_time_s = 0.0;
        serde_json::to_string(&report).expect("JSON")
    };
    assert_eq!(of(1, 1), of(2, 1));
    assert_ne!(of(1, 1), of(1, 2));
}

#[test]
fn objects_of_many_chunks_take_as_long_as_their_last_one() {
    let of = |size| {
        let mut plan = plan("kind = \"ssd\"", "10Gbps", size, 10, "1s");
        plan.clients.window = Some(1);
        ask(&plan).idle.latency_us.p50.value
    };
    let ratio = of("10MiB") / of("1MiB");
    assert!((9.0..11.0).contains(&ratio), "{ratio}: one chunk after another");
    let plan = plan("kind = \"ssd\"", "10Gbps", "10MiB", 10, "1s");
    assert!(
        plan.hardware.link > Rate::from_bps(1)
            && plan.target.puts.expect("writes").p99 == Span::from_secs(1)
    );
}
