//! Checks of the machines of both modes under every kind of failure.
//!
//! * [`explore`] visits all states that a small stripe can get into, with `stateright`.
//! * [`storm`] runs larger stripes through thousands of random histories, on the event kernel.
//!
//! Both host the same machines ([`cluster`]), record what clients see ([`history`]), and demand the same
//! of it. They are compiled into the unit tests of the crate, because only those can plant mistakes.

mod cluster;
mod coordinated;
mod coordinated_tests;
mod explore;
mod history;
mod locked;
mod locked_tests;
mod storm;
mod storm_tests;

extern crate std;
