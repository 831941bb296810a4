//! What every method promises, and what each finds on functions whose maximum is known.

use proptest::prelude::*;
use slotcast_tune::functions::{
    BRANIN_MAX, HARTMANN_6_AT, HARTMANN_6_MAX, branin, distance, hartmann_6, sphere,
};
use slotcast_tune::{Method, Networks, Optimiser, Setup};

type Function = fn(&[f64]) -> f64;

/// The points that `optimiser` asks for until there are `budget` of them, with their values.
fn search(
    optimiser: &mut dyn Optimiser,
    function: impl Fn(&[f64]) -> f64,
    budget: usize,
) -> Vec<(Vec<f64>, f64)> {
    let mut told = Vec::new();
    while told.len() < budget {
        let asked = optimiser.ask();
        assert!(!asked.is_empty(), "one point at least");
        for point in asked.into_iter().take(budget - told.len()) {
            let value = function(&point);
            optimiser.tell(&point, value);
            told.push((point, value));
        }
    }
    told
}

fn best(told: &[(Vec<f64>, f64)]) -> &(Vec<f64>, f64) {
    told.iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("some points")
}

/// The median of the best value over some seeds.
fn median(method: Method, function: Function, dimensions: usize, budget: usize) -> f64 {
    let of_seed = |seed| {
        let mut optimiser = method.start(dimensions, budget, seed);
        best(&search(optimiser.as_mut(), function, budget)).1
    };
    let mut values: Vec<f64> = (1..=9).map(of_seed).collect();
    values.sort_by(f64::total_cmp);
    values[4]
}

#[test]
fn learners_find_the_top_of_a_paraboloid() {
    for (method, budget, near) in [
        (Method::Networks, 2300, 1e-3),
        (Method::CmaEs, 500, 1e-6),
        (Method::GaussianProcess, 150, 1e-4),
    ] {
        let found = median(method, sphere, 4, budget);
        assert!(found > -near, "{method:?}: {found}");
    }
}

#[test]
fn learners_find_a_maximum_of_branin() {
    for (method, budget, near) in [
        (Method::Networks, 400, 0.02),
        (Method::CmaEs, 300, 1e-3),
        (Method::GaussianProcess, 60, 0.01),
    ] {
        let found = median(method, branin, 2, budget);
        assert!(found > BRANIN_MAX - near && found < BRANIN_MAX + 1e-5, "{method:?}: {found}");
    }
}

/// The others must beat those that do not learn.
#[test]
fn learners_beat_chance_on_hartmann_6() {
    let random = median(Method::Random, hartmann_6, 6, 150);
    let latin = median(Method::LatinHypercube, hartmann_6, 6, 150);
    for (method, budget) in
        [(Method::Networks, 500), (Method::CmaEs, 300), (Method::GaussianProcess, 150)]
    {
        let found = median(method, hartmann_6, 6, budget);
        assert!(found > random.max(latin) + 0.05, "{method:?}: {found}, {random}, {latin}");
        assert!(found <= HARTMANN_6_MAX + 1e-6, "{method:?}: {found} is above the maximum");
    }
}

#[test]
fn the_published_networks_come_near_the_optimum_of_hartmann_6() {
    let mut distances: Vec<f64> = (1..=9)
        .map(|seed| {
            let mut networks = Networks::new(&Setup::published(3), 6, seed);
            let told = search(&mut networks, hartmann_6, 2300);
            distance(&best(&told).0, &HARTMANN_6_AT)
        })
        .collect();
    distances.sort_by(f64::total_cmp);
    assert!(distances[4] < 0.05, "{distances:?}");
}

/// A value that is lost, or none at all, must not stop a search or lead it away for good.
#[test]
fn values_that_are_no_numbers_do_no_harm() {
    let holes = |point: &[f64]| match (point[0] * 10.0).floor() {
        tenth if tenth % 3.0 == 0.0 => f64::NAN,
        tenth if tenth % 3.0 == 1.0 => f64::NEG_INFINITY,
        _ => sphere(point),
    };
    for method in Method::ALL {
        let told = search(method.start(2, 150, 3).as_mut(), holes, 150);
        assert!(told.iter().all(|(point, _)| point.iter().all(|x| x.is_finite())), "{method:?}");
        let found = told.iter().map(|(_, value)| *value).fold(f64::NEG_INFINITY, f64::max);
        assert!(found > -0.05, "{method:?}: {found}");
    }
    for method in Method::ALL {
        let told = search(method.start(2, 60, 3).as_mut(), |_| f64::NAN, 60);
        assert_eq!(told.len(), 60, "{method:?}");
    }
}

fn method() -> impl Strategy<Value = Method> {
    prop::sample::select(Method::ALL.as_slice())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn points_stay_in_the_cube_and_equal_seeds_give_equal_points(
        method in method(), dimensions in 1..6usize, seed in any::<u64>(), budget in 1..80usize,
        corner in any::<bool>(),
    ) {
        // A function whose maximum is in a corner leads along the borders.
        let function = |point: &[f64]| if corner { point.iter().sum() } else { sphere(point) };
        let run = |seed| search(method.start(dimensions, budget, seed).as_mut(), function, budget);
        let told = run(seed);
        for (point, _) in &told {
            prop_assert_eq!(point.len(), dimensions);
            prop_assert!(point.iter().all(|x| (0.0..=1.0).contains(x)), "{:?}", point);
        }
        prop_assert_eq!(&told, &run(seed));
        let other = run(seed ^ 1);
        prop_assert_ne!(told.first(), other.first(), "another seed is another search");
    }

    #[test]
    fn networks_of_every_size_fill_their_windows_and_go_on(
        networks in 1..31usize, pretraining in 10..310usize, seed in any::<u64>(),
    ) {
        let setup = Setup { networks, pretraining, sparsity: 0.1 };
        let mut optimiser = Networks::new(&setup, 2, seed);
        let first = optimiser.ask();
        prop_assert_eq!(first.len(), setup.window() * networks);
        prop_assert_eq!(setup.window() % 10, 0);
        let mut optimiser = Networks::new(&setup, 2, seed);
        let told = search(&mut optimiser, sphere, first.len() + 400);
        prop_assert!(told[first.len()..].iter().any(|(point, _)| !first.contains(point)));
    }
}

/// Golden values: a machine that computes otherwise is found here.
#[test]
fn a_search_is_the_same_on_every_machine() {
    let last = |method: Method| {
        let told = search(method.start(6, 340, 1).as_mut(), hartmann_6, 340);
        let sum: f64 = told.iter().map(|(_, value)| value).sum();
        sum.to_bits()
    };
    let found = Method::ALL.map(last);
    assert_eq!(found.map(|bits| format!("{bits:016x}")), GOLDEN);
}

const GOLDEN: [&str; 5] = [
    "40610323a64d0ff6",
    "403911c7cdbbd5d2",
    "4039fbee1c2b87e7",
    "406d946bc258ce79",
    "4067d7fb026f094c",
];
