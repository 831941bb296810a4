//! The kernel, its random streams and its stations against queueing theory: in M/G/1 the mean wait is
//! `rate * E[S^2] / (2 (1 - rho))` (Pollaczek and Khinchine), and the mean queue length `rate` times that.
//!
//! Each simulated mean must lie within its 99.9 % confidence interval over replications. Seeds are fixed,
//! so the test either holds or does not, on every machine.

use slotcast_engine::{
    Agenda, Event, EventQueue, FifoStation, Gauge, HeapQueue, LadderQueue, Model, Resource,
    Simulation, Stream, Streams, Tally, Usage,
};
use slotcast_units::{Span, Time};

const REPLICATIONS: u64 = 20;
/// The quantile of Student's t with 19 degrees of freedom that leaves 0.05 % on each side.
const T_999: f64 = 3.883;
const MEAN_SERVICE: Span = Span::from_us(10);

/// A distribution of the service time with a mean of 10 us.
#[derive(Debug, Clone, Copy)]
enum Service {
    Exponential,
    Constant,
    Uniform,
    /// One in ten takes 55 us in the mean, the others 5 us, each exponential.
    Hyperexponential,
}

impl Service {
    fn draw(self, draws: &mut Stream) -> Span {
        match self {
            Service::Exponential => draws.exponential(MEAN_SERVICE),
            Service::Constant => MEAN_SERVICE,
            Service::Uniform => Span::from_ns(draws.below(20_001)),
            Service::Hyperexponential if draws.chance(0.1) => draws.exponential(Span::from_us(55)),
            Service::Hyperexponential => draws.exponential(Span::from_us(5)),
        }
    }

    /// The mean of the square, in us^2.
    fn second_moment(self) -> f64 {
        match self {
            Service::Exponential => 200.0,
            Service::Constant => 100.0,
            Service::Uniform => 400.0 / 3.0,
            Service::Hyperexponential => 2.0 * (0.1 * 55.0 * 55.0 + 0.9 * 5.0 * 5.0),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Happening {
    Arrival,
    Departure,
}

impl Event for Happening {
    fn trace_word(&self) -> u64 {
        *self as u64
    }
}

struct Queue {
    service: Service,
    mean_gap: Span,
    arrivals: Stream,
    services: Stream,
    station: FifoStation,
    in_system: Gauge,
}

impl Model for Queue {
    type Event = Happening;

    fn handle(&mut self, now: Time, event: Happening, agenda: &mut Agenda<Happening>) {
        match event {
            Happening::Arrival => {
                let completion = self.station.serve(now, self.service.draw(&mut self.services));
                self.in_system.add(now, 1);
                agenda.at(completion, Happening::Departure);
                agenda.after(self.arrivals.exponential(self.mean_gap), Happening::Arrival);
            }
            Happening::Departure => self.in_system.add(now, -1),
        }
    }
}

/// One run of about 50 000 jobs after a warm-up of 5 000, and its trace hash.
fn replicate<Q: EventQueue<Happening>>(service: Service, rho: f64, seed: u64) -> (Usage, u64) {
    let streams = Streams::new(seed);
    let mean_gap = Span::from_secs_f64(MEAN_SERVICE.as_secs_f64() / rho);
    let mut simulation = Simulation::with_queue(
        Queue {
            service,
            mean_gap,
            arrivals: streams.stream("arrivals", 0),
            services: streams.stream("services", 0),
            station: FifoStation::new(),
            in_system: Gauge::new(),
        },
        Q::default(),
    );
    simulation.agenda().at(Time::ZERO, Happening::Arrival);
    let warm = Time::ZERO + mean_gap * 5_000;
    simulation.run_until(warm);
    simulation.model_mut().station.reset(warm);
    simulation.model_mut().in_system.reset(warm);
    let end = warm + mean_gap * 50_000;
    simulation.run_until(end);

    let queue = simulation.model();
    let usage = queue.station.usage(end);
    // Counted by events, and known without them.
    assert_eq!(usage.mean_in_system, queue.in_system.mean(end));
    (usage, simulation.trace_hash())
}

fn assert_agrees(what: &str, tally: &Tally, theory: f64) {
    let half_width = T_999 * tally.std_error();
    let (low, high) = (tally.mean() - half_width, tally.mean() + half_width);
    assert!(low <= theory && theory <= high, "{what}: {theory} is not in {low} to {high}");
    assert!(half_width < 0.1 * theory, "{what}: an interval of +-{half_width} proves nothing");
}

fn check(service: Service) {
    for rho in [0.3, 0.6, 0.8] {
        let (mut wait, mut length, mut utilization) = (Tally::new(), Tally::new(), Tally::new());
        for seed in 0..REPLICATIONS {
            let (usage, hash) = replicate::<LadderQueue<_>>(service, rho, seed);
            assert_eq!((usage, hash), replicate::<HeapQueue<_>>(service, rho, seed));
            wait.add(usage.mean_wait.as_us_f64());
            length.add(usage.mean_queue_length);
            utilization.add(usage.utilization);
        }
        let rate = rho / MEAN_SERVICE.as_us_f64();
        let mean_wait = rate * service.second_moment() / (2.0 * (1.0 - rho));
        assert_agrees(&format!("wait, {service:?}, rho {rho}"), &wait, mean_wait);
        assert_agrees(&format!("queue, {service:?}, rho {rho}"), &length, rate * mean_wait);
        assert_agrees(&format!("utilization, {service:?}, rho {rho}"), &utilization, rho);
    }
}

#[test]
fn exponential_service_waits_as_in_m_m_1() {
    check(Service::Exponential);
}

#[test]
fn constant_service_waits_as_in_m_d_1() {
    check(Service::Constant);
}

#[test]
fn uniform_service_waits_as_in_m_g_1() {
    check(Service::Uniform);
}

#[test]
fn hyperexponential_service_waits_as_in_m_g_1() {
    check(Service::Hyperexponential);
}
