use slotcast_engine::Simulation;
use slotcast_scenario::{Fidelity, Protocol, ProtocolKind, Run, Scenario};
use slotcast_units::Rate;

use super::*;

fn model(kind: ProtocolKind, fidelity: Fidelity) -> UnicastModel {
    let scenario = Scenario {
        protocol: Protocol { kind },
        run: Run { fidelity, ..Run::default() },
        ..Scenario::default()
    };
    UnicastModel::new(&scenario, 1)
}

/// A flow that sends at `gbps`, in a model of UCH-AIMD.
fn sending(gbps: u64) -> (UnicastModel, u32) {
    let mut model = model(ProtocolKind::UchAimd, Fidelity::Frame);
    let slot = model.new_flow(0, (0, 0), Direction::Put);
    let flow = model.flows.get_mut(slot);
    flow.set_rate(Time::ZERO, Rate::from_bps(gbps * 1_000_000_000));
    flow.start(Time::ZERO);
    (model, slot)
}

#[test]
fn a_ding_halves_the_rate_but_not_below_the_step() {
    let (mut model, slot) = sending(6);
    let serial = model.flows.get(slot).serial;
    let rate = |model: &UnicastModel| model.flows.get(slot).rate().as_bps() / 1_000_000;
    model.dinged(Time::from_ns(10), slot, serial.wrapping_add(1));
    assert_eq!(rate(&model), 6000, "a ding for an earlier flow");
    model.dinged(Time::from_ns(20), slot, serial);
    assert_eq!(rate(&model), 3000);
    model.dinged(Time::from_ns(30), slot, serial);
    model.dinged(Time::from_ns(40), slot, serial);
    assert_eq!(rate(&model), 1000);
}

#[test]
fn what_goes_through_without_a_ding_is_rewarded() {
    let (mut model, slot) = sending(1);
    let frame = model.rules.frame.as_bits();
    let rate = |model: &UnicastModel| model.flows.get(slot).rate().as_bps() / 1_000_000_000;
    aimd::frame_sent(model.flows.get_mut(slot), frame, &model.rules);
    assert_eq!(rate(&model), 1, "a frame alone is not a frame and a message");
    aimd::frame_sent(model.flows.get_mut(slot), frame, &model.rules);
    assert_eq!(rate(&model), 2);
}

/// The example of the paper's Figure 6, at the rates that its text means.
#[test]
fn two_flows_share_a_target_and_one_alone_has_it() {
    let mut simulation = Simulation::new(model(ProtocolKind::UchCcp, Fidelity::Flow));
    let (a, b) = simulation.schedule(|model, agenda| {
        let placement = Placement::default();
        let request = |initiator| Request {
            initiator,
            serial: 0,
            asked: Time::ZERO,
            operation: Operation::Put,
            placement,
            next: 0,
            acknowledged: 0,
        };
        let flows = [0, 1].map(|initiator| {
            let slot = model.requests.insert(request(initiator), 1);
            model.new_flow(slot, (initiator, 5), Direction::Put)
        });
        agenda.at(Time::ZERO, Event::PutRequest { flow: flows[0] });
        agenda.at(Time::from_ns(40_000), Event::PutRequest { flow: flows[1] });
        (flows[0], flows[1])
    });
    let mbps = |s: &Simulation<UnicastModel>, f| s.model().flows.get(f).rate().as_bps() / 1_000_000;
    simulation.run_until(Time::from_ns(30_000));
    assert_eq!(mbps(&simulation, a), 9900);
    simulation.run_until(Time::from_ns(60_000));
    assert_eq!((mbps(&simulation, a), mbps(&simulation, b)), (4950, 4950));
    simulation.run_until(Time::from_ns(200_000));
    assert_eq!(mbps(&simulation, b), 9900, "the first has gone");
}
