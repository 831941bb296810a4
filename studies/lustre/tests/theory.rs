//! The simulated Lustre against closed forms, queueing theory and counting.

use slotcast_lustre::{
    ArraySettings, CacheSettings, ClientSettings, ElevatorSettings, FabricSettings, Files, Job,
    LayoutSettings, LustreReport, LustreScenario, MdtSettings, OstSettings, PhaseReport,
    SchedulerSettings, Work, run_lustre,
};
use slotcast_schedulers::{BatchedBy, Handles, Policy, Quantum};
use slotcast_units::{Share, Size, Span};

/// Nothing is random: the network takes the bytes' time and no more.
fn exact() -> LustreScenario {
    LustreScenario {
        client: ClientSettings { start_spread: Span::ZERO, ..ClientSettings::default() },
        network: FabricSettings {
            latency: Span::ZERO,
            interrupt: Span::ZERO,
            ..FabricSettings::default()
        },
        disk: ArraySettings {
            seek_jitter: Span::ZERO,
            latency_jitter: Span::ZERO,
            ..ArraySettings::default()
        },
        ost: OstSettings { allocation_jitter: Share::ZERO, ..OstSettings::default() },
        ..LustreScenario::default()
    }
}

fn run(scenario: &LustreScenario) -> LustreReport {
    run_lustre(scenario, 1).unwrap()
}

fn written(report: &LustreReport) -> &PhaseReport {
    report.jobs[0].write.as_ref().expect("the first job writes")
}

fn read(report: &LustreReport) -> &PhaseReport {
    report.jobs[0].read.as_ref().expect("the first job reads")
}

#[test]
fn one_client_takes_the_sum_of_the_steps() {
    let job = Job { direct: true, work: Work::WriteRead, ..Job::default() };
    let report = run(&LustreScenario { jobs: vec![job], ..exact() });
    // A message of 1 KiB takes 1024 ns to the switch and as long from it, and 1 MiB of data, which does
    // both at once, 1 048 576. The plug takes 3 ms. Seven windows of blocks are taken, 200 us each; the other 25
    // writes find theirs in 40 us, and reads in 10.
    // All 32 MiB lie in a row, so the disk takes 20 us and 2 097 152 ns each time. A write has three
    // such messages, and a read, too.
    let each = 3 * 2048 + 1_048_576 + 3_000_000 + 20_000 + 2_097_152;
    let writing = Span::from_ns(32 * each) + Span::from_us(7 * 200 + 25 * 40);
    assert_eq!(written(&report).ended - written(&report).started, writing);
    // The first read seeks back to the beginning.
    let seek = Span::from_ms(2) - Span::from_us(20);
    let reading = Span::from_ns(32 * each) + Span::from_us(32 * 10);
    assert_eq!(read(&report).ended - read(&report).started, reading + seek);
    assert_eq!((report.disks.write.seeks, report.disks.read.seeks), (0, 1));
}

#[test]
fn requests_at_random_wait_as_in_m_d_1() {
    // Every client reads once, at a random time: as good as a Poisson process. The disk takes the same
    // for each, and nothing is merged or held back.
    let clients = 20_000;
    let service = Span::from_ms(2) + Span::from_ns(131_072);
    let utilization = 0.7;
    let length = f64::from(clients) * service.as_secs_f64() / utilization;
    let scenario = LustreScenario {
        ost: OstSettings { threads: clients, allocation_time: Span::ZERO, ..exact().ost },
        elevator: ElevatorSettings { unplug_at: 1, ..ElevatorSettings::default() },
        disk: ArraySettings { latency: Span::from_ms(2), ..exact().disk },
        jobs: vec![Job {
            clients,
            work: Work::Read,
            size: Size::from_kib(64),
            transfer: Size::from_kib(64),
            direct: true,
            spread: Span::from_secs_f64(length),
            ..Job::default()
        }],
        ..exact()
    };
    let wait = utilization * service.as_us_f64() / (2.0 * (1.0 - utilization));
    let network = f64::from(3 * 2048 + 65_536) / 1e3;
    let expected = network + service.as_us_f64() + wait;
    let found: Vec<f64> =
        (1..=5).map(|seed| read(&run_lustre(&scenario, seed).unwrap()).response.mean).collect();
    let mean = found.iter().sum::<f64>() / found.len() as f64;
    assert!((mean / expected - 1.0).abs() < 0.02, "{mean} us, in theory {expected}: {found:?}");
}

#[test]
fn a_file_per_process_seeks_once_a_request_in_order_of_arrival_and_once_a_quantum_by_object() {
    let seeks_and_rate = |policy| {
        let job = Job { clients: 200, work: Work::WriteRead, ..Job::default() };
        let scenario = LustreScenario {
            scheduler: SchedulerSettings { policy },
            jobs: vec![job],
            ..LustreScenario::default()
        };
        let report = run(&scenario);
        (report.disks.read.seeks, read(&report).mib_per_s())
    };
    let requests = 200 * 32;
    let (fcfs, slow) = seeks_and_rate(Policy::Fcfs);
    let (frr, fast) = seeks_and_rate(Policy::ObjectRoundRobin(Quantum::Requests(8)));
    assert!(fcfs > requests * 95 / 100, "{fcfs} seeks in {requests} requests");
    // Eight requests in a row, but for objects whose first turn came before all their requests.
    assert!((requests / 8..requests / 4).contains(&frr), "{frr} seeks in {requests} requests");
    assert!(fast > 1.4 * slow, "{fast} and {slow} MiB/s");
}

#[test]
fn every_byte_is_written_and_read_once_under_every_policy() {
    let batched = |by| Policy::Batched(by, 8, Handles::All);
    let policies = [
        Policy::Fcfs,
        Policy::ObjectRoundRobin(Quantum::Bytes(Size::from_mib(3))),
        Policy::Greedy,
        Policy::GreedyRoundRobin,
        Policy::EarliestDeadline(Span::from_secs(1)),
        batched(BatchedBy::Client),
        batched(BatchedBy::Object),
        batched(BatchedBy::Target),
    ];
    for (policy, files) in
        policies.into_iter().zip([Files::PerProcess, Files::Shared].iter().cycle())
    {
        for (size, transfer) in
            [(Size::from_mib(9), Size::from_mib(1)), (Size::from_kib(1000), Size::from_kib(96))]
        {
            let job = Job {
                clients: 30,
                files: *files,
                work: Work::WriteRead,
                size,
                transfer,
                ..Job::default()
            };
            let scenario = LustreScenario {
                ost: OstSettings { count: 4, threads: 8, ..OstSettings::default() },
                layout: LayoutSettings { stripe_count: 3, stripe_size: Size::from_kib(300) },
                scheduler: SchedulerSettings { policy: policy.clone() },
                jobs: vec![job],
                ..LustreScenario::default()
            };
            let report = run(&scenario);
            let bytes = 30 * size.as_bytes();
            assert_eq!((written(&report).bytes, read(&report).bytes), (bytes, bytes), "{policy:?}");
            assert_eq!(
                (report.disks.write.bytes, report.disks.read.bytes),
                (bytes, bytes),
                "{policy:?}"
            );
        }
    }
}

/// The I/O analysis of seed 003: 112 clients and 28 OSTs, with 8 RPCs in flight to each OST of a file.
#[test]
fn queues_are_as_long_as_on_the_real_cluster() {
    let queue = |files, stripe_count| {
        let job = Job { clients: 112, files, size: Size::from_mib(280), ..Job::default() };
        let scenario = LustreScenario {
            ost: OstSettings { count: 28, threads: 2, ..OstSettings::default() },
            layout: LayoutSettings { stripe_count, ..LayoutSettings::default() },
            jobs: vec![job],
            ..LustreScenario::default()
        };
        run(&scenario).queue_peak + 2
    };
    // A server with 7 of these has some 6100 of 6272, or some 200 of 224.
    assert_eq!(queue(Files::Shared, 0), 112 * 8);
    assert_eq!(queue(Files::PerProcess, 1), 4 * 8);
}

#[test]
fn opening_takes_the_time_of_the_metadata_target() {
    let scenario = LustreScenario {
        mdt: MdtSettings { opens: true, threads: 2, open_time: Span::from_ms(1) },
        jobs: vec![Job { clients: 600, size: Size::from_mib(1), ..Job::default() }],
        ost: OstSettings { count: 20, ..OstSettings::default() },
        ..LustreScenario::default()
    };
    let report = run(&scenario);
    let (first, last) = report.opens.expect("files were opened");
    let seconds = (last - first).as_secs_f64();
    assert!((0.295..0.305).contains(&seconds), "{seconds} s for 600 files");
    assert_eq!(written(&report).started, first, "opening is part of the job");
}

#[test]
fn an_array_works_in_parallel() {
    let rate = |members| {
        let job = Job { clients: 64, ..Job::default() };
        let disk = ArraySettings { members, ..ArraySettings::default() };
        written(&run(&LustreScenario { disk, jobs: vec![job], ..LustreScenario::default() }))
            .mib_per_s()
    };
    let (one, three) = (rate(1), rate(3));
    assert!((2.0..3.2).contains(&(three / one)), "{one} and {three} MiB/s");
}

#[test]
fn a_cache_takes_a_burst_at_its_own_rate_and_a_flood_at_that_of_the_disk() {
    let rate = |clients, cache| {
        let job = Job { clients, size: Size::from_mib(4), ..Job::default() };
        let cache = CacheSettings { size: cache, ..CacheSettings::default() };
        let report = run(&LustreScenario { cache, jobs: vec![job], ..LustreScenario::default() });
        assert_eq!(report.disks.write.bytes, u64::from(clients) * (4 << 20), "all comes to disk");
        written(&report).mib_per_s()
    };
    let large = Size::from_mib(256);
    assert!(rate(32, large) > 2.0 * rate(32, Size::ZERO), "the burst");
    // What goes to disk sorted over 256 MiB seeks less, but no more than 477 MiB a second go there.
    let (flood, plain) = (rate(1000, large), rate(1000, Size::ZERO));
    assert!((1.15 * plain..500.0).contains(&flood), "{flood} and {plain} MiB/s");
}

/// The hashes of one machine: another one must find the same.
#[test]
fn runs_are_the_same_on_every_machine() {
    let job = Job { clients: 40, work: Work::WriteRead, size: Size::from_mib(6), ..Job::default() };
    let base = LustreScenario {
        ost: OstSettings { count: 3, ..OstSettings::default() },
        jobs: vec![job.clone()],
        ..LustreScenario::default()
    };
    let scenarios = [
        base.clone(),
        LustreScenario {
            scheduler: SchedulerSettings { policy: Policy::ObjectRoundRobin(Quantum::Requests(8)) },
            cache: CacheSettings { size: Size::from_mib(16), ..CacheSettings::default() },
            ..base.clone()
        },
        LustreScenario {
            mdt: MdtSettings { opens: true, ..MdtSettings::default() },
            layout: LayoutSettings { stripe_count: 0, ..LayoutSettings::default() },
            jobs: vec![Job { files: Files::Shared, direct: true, ..job }],
            ..base
        },
    ];
    let hashes: Vec<String> = scenarios
        .iter()
        .map(|scenario| {
            let report = run(scenario);
            assert_eq!(report, run(scenario), "equal scenarios and seeds give equal reports");
            assert_ne!(report.trace_hash, run_lustre(scenario, 2).unwrap().trace_hash);
            format!("{:016x}", report.trace_hash)
        })
        .collect();
    assert_eq!(hashes, GOLDEN);
}

const GOLDEN: [&str; 3] = ["0ad747eaa314866a", "8b7b1d7cf9bbfe92", "631f6969174b87e2"];
