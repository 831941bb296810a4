//! A link that is slower than agreed.

use super::*;

#[test]
fn a_bid_tells_how_much_longer_a_slow_link_takes() {
    let mut target = target();
    let mut tell = |rate| {
        let rate = Rate::from_bps(rate);
        target.handle(Time::ZERO, TargetInput::LinkRate(rate), &empty(), &mut vec![]);
        let serial = u32::try_from(rate.as_bps() / 1_000_000_000).expect("small");
        match bid_of(&say(&mut target, 0, &put_of(serial, Time::ZERO), &empty())) {
            BidAnswer::Window { backlog, .. } => backlog,
            other => panic!("not a window: {other:?}"),
        }
    };
    let agreed = Rate::from_bps(9_900_000_000);
    assert_eq!(tell(agreed.as_bps()), Span::ZERO);
    let slow = Rate::from_bps(990_000_000);
    let overrun = slow.time_for(SIZE).saturating_sub(agreed.time_for(SIZE));
    let told = tell(slow.as_bps());
    assert!(told > overrun / 2 && told < overrun * 2, "{told} beside {overrun}");
}

#[test]
fn windows_on_a_slow_link_leave_room_for_what_overruns() {
    let mut starts = vec![];
    for rate in [8_910_000_000, 4_455_000_000, 99_000_000_000].map(Rate::from_bps) {
        let mut config = target().config;
        config.calendar.offer = OfferRule::FirstFit;
        let mut target = Target::new(config);
        target.handle(Time::ZERO, TargetInput::LinkRate(rate), &empty(), &mut vec![]);
        window_of(&say(&mut target, 0, &put_of(10, Time::ZERO), &empty()));
        starts.push(window_of(&say(&mut target, 0, &put_of(11, Time::ZERO), &empty())).start);
    }
    let transfer = Timing::published().transfer(SIZE);
    assert_eq!(starts[1], starts[0] + transfer, "half the rate takes one transfer more");
    assert_eq!(starts[2], starts[0], "faster than agreed is as good as agreed");
}
