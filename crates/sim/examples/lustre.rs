//! One OST under two schedulers: 1000 clients write and read a file each.
use slotcast_schedule::{Policy, Quantum};
use slotcast_sim::lustre::*;
use slotcast_units::*;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let hold = args.get(1).map_or(true, |a| a == "hold");
    let osts: u32 = args.get(2).map_or(1, |a| a.parse().unwrap());
    let clients: u32 = args.get(3).map_or(1000, |a| a.parse().unwrap());
    let get = |k: &str, d: u64| std::env::var(k).map_or(d, |v| v.parse().unwrap());
    for policy in [Policy::Fcfs, Policy::ObjectRoundRobin(Quantum::Requests(get("Q", 8) as u32))] {
        let scenario = LustreScenario {
            ost: OstSettings {
                count: osts,
                threads: get("T", 64) as u32,
                allocation_time: Span::from_us(get("A", 200)),
            },
            client: ClientSettings {
                rpcs_in_flight: get("F", 8) as u32,
                start_spread: Span::from_us(get("S", 5)),
                ..Default::default()
            },
            scheduler: SchedulerSettings { policy: policy.clone() },
            elevator: ElevatorSettings {
                plug_holds_disk: hold,
                unplug_delay: Span::from_us(get("D", 3000)),
                unplug_at: get("U", 8) as u32,
                ..Default::default()
            },
            jobs: vec![Job {
                clients,
                work: Work::WriteRead,
                size: Size::from_mib(get("M", 32)),
                direct: get("DIO", 0) == 1,
                ..Job::default()
            }],
            ..LustreScenario::default()
        };
        let report = run_lustre(&scenario, 1).unwrap();
        let (w, r) =
            (report.jobs[0].write.as_ref().unwrap(), report.jobs[0].read.as_ref().unwrap());
        let d = report.disks;
        let n = f64::from(osts);
        println!(
            "{policy:?} write {:.1} read {:.1} MiB/s seeks {:.1} {:.1} events {} sizes {:?} {:?} p99 {} peak {} busy {:.3} {:.3}",
            w.mib_per_s() / n,
            r.mib_per_s() / n,
            d.write.seeks as f64 / w.seconds() / n,
            d.read.seeks as f64 / r.seconds() / n,
            report.events,
            d.write.sizes,
            d.read.sizes,
            w.response.p99,
            report.queue_peak,
            d.write.busy.as_secs_f64() / w.seconds() / n,
            d.read.busy.as_secs_f64() / r.seconds() / n
        );
    }
}
