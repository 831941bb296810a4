//! "Parallel optimization via multiple neural networks" (storagetarget.com, 2017), repeated: how near the best
//! point comes to the optimum of Hartmann-6, over the number of calls and of networks, beside other methods.
//!
//! The methods are those of `slotcast-tune`, which `slotcast tune` uses, too. `docs/simulate/networks.md` says
//! what was found.
//!
//! ```
//! use slotcast_networks::{Scenario, run};
//! use slotcast_tune::Method;
//!
//! let mut scenario = Scenario::default();
//! (scenario.search.method, scenario.search.calls) = (Method::CmaEs, 500);
//! let report = run(&scenario, 1);
//! assert_eq!(report.marks.len(), 5, "one for each hundred calls");
//! assert!(report.marks[4].value > 3.1, "the maximum is 3.322");
//! ```

mod evaluation;
mod scenario;
mod search;

pub use evaluation::{EVALUATION, SETTINGS};
pub use scenario::{Networks, Scenario, Search, check};
pub use search::{EVERY, Mark, Report, run};
