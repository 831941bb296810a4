//! How what is lost is counted.

use super::*;

#[test]
fn what_is_tried_again_counts_as_unrecovered_meanwhile() {
    let mut rig = Rig::new(0, [1]);
    rig.outcomes.insert(chunk(9), RepairOutcome::Failed);
    rig.tell(RepairInput::Lost(chunk(9), Wanted::bare(3)));
    assert_eq!(rig.repair.statistics().unrecovered, 0, "nobody was asked yet");
    let end = rig.now + Span::from_ms(5);
    assert!(rig.step(end));
    let mut tries = 0;
    while rig.step(end) {
        let numbers = rig.repair.statistics();
        assert_eq!((numbers.under_replicated, numbers.unrecovered), (1, 1));
        tries = numbers.failed;
    }
    assert!(tries > 1, "{tries}");
    rig.outcomes.insert(chunk(9), RepairOutcome::Healed);
    rig.run_for(Span::from_ms(5));
    let numbers = rig.repair.statistics();
    assert_eq!((numbers.under_replicated, numbers.unrecovered), (0, 0));
}
