//! Storms of many seeds.

use super::coordinated::Coordinated;
use super::locked::Locked;
use super::storm::storms;

#[test]
fn coordinated_stripes_weather_storms() {
    storms::<Coordinated>(0..300);
}

#[test]
fn locked_stripes_weather_storms() {
    storms::<Locked>(0..300);
}

/// `cargo test --release -p slotcast-stripe ten_thousand -- --ignored --nocapture`
#[test]
#[ignore = "minutes: for a release build"]
fn ten_thousand_storms_on_each_mode() {
    storms::<Coordinated>(0..10_000);
    storms::<Locked>(0..10_000);
}
