//! Two answers side by side.

use slotcast_lab::Runner;
use slotcast_plan::{ClusterPlan, Effort, PlanComparison, PlanReport, Side, answer};

fn report(nodes: u32, disks: u32) -> PlanReport {
    let text = format!(
        "[nodes]\ncount = {nodes}\ndisks = {disks}\nlink = \"25Gbps\"\n[disks]\nkind = \"ssd\"\n\
         rate = \"400MiB/s\"\n[data]\nsizes = [{{ size = \"128KiB\", share = \"100%\" }}]\n\
         reads = \"50%\"\n[target]\nobjects_per_s = 14_000\np99 = \"8ms\"\n[change]\nallow = \"none\"\n"
    );
    let plan = ClusterPlan::from_toml("test.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let runner = Runner::new(None).expect("threads");
    let found = answer(&plan, &runner, Effort::Quick, 1, &|_| {}).expect("a checked plan");
    PlanReport::new("1", &plan, &found, 1)
}

#[test]
fn what_differs_most_comes_first_and_chance_is_no_difference() {
    // 14,000 requests are 28,000 of disks: nine disks do 28,800, of which no run can tell so much.
    let (small, large) = (report(9, 1), report(9, 4));
    let compared = PlanComparison::new("1", small.clone(), large);
    assert_eq!(compared.holds_alone, Some(Side::B));
    let stated: Vec<_> = compared.stated.iter().map(|stated| stated.key).collect();
    assert_eq!(stated[0], "nodes.disks");
    let of = |what: &str| {
        let found = compared.results.iter().position(|difference| difference.what == what);
        found.map(|place| (place, compared.results[place].better))
    };
    let (load, better) = of("largest load").expect("four times the disks hold more");
    assert_eq!(better, Some(Side::B));
    let (price, better) = of("price").expect("disks cost something");
    assert_eq!(better, Some(Side::A));
    assert!(load < price, "four times the load comes before a price that is a quarter higher");

    let same = PlanComparison::new("1", small.clone(), small);
    assert_eq!((same.holds_alone, same.results.len(), same.stated.len()), (None, 0, 0));
    assert!(same.alike.contains(&"price"), "{:?}", same.alike);
}
