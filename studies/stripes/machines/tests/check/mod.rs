//! Checks of the machines of both modes under every kind of failure.
//!
//! * `explore` visits all states that a small stripe can get into, with `stateright`.
//! * [`faults`] runs larger stripes through thousands of random histories.
//!
//! Both host the same machines ([`cluster`]), record what clients see ([`history`]), and demand the same
//! of it. They are compiled into the unit tests of the crate, because only those can plant mistakes; the
//! fault simulations also into `examples/faults.rs`.

mod cluster;
pub(crate) mod coordinated;
#[cfg(test)]
mod coordinated_tests;
#[cfg(test)]
mod explore;
#[cfg(test)]
mod fault_tests;
pub(crate) mod faults;
mod history;
pub(crate) mod locked;
#[cfg(test)]
mod locked_tests;

extern crate std;
