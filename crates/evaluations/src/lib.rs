//! The published evaluations of clusters: what each one runs, its figures beside the published ones, its
//! claims.
//!
//! An evaluation makes a simulator believable: it repeats what others have published and says where figures
//! deviate. `slotcast reproduce` runs those of this crate, and those of other systems, which are in the
//! crates of their studies.
//!
//! ```text
//!    Evaluation (a name, parts, claims)
//!      Part: an experiment file, and a function that makes rows of its runs
//!         |  prepare: reads and checks all files
//!      Prepared --- run ---> Outcome: rows beside published figures, pictures, claims that hold or do not
//! ```
//!
//! * [`EVALUATIONS`] lists them. The types are those of `slotcast-lab`; a new evaluation is a module like
//!   `replicast`, a line in that list, its experiment files and its published figures.
//! * [`published`] has the figures of the Replicast paper's tables.
//!
//! ```
//! use slotcast_evaluations::EVALUATIONS;
//! use slotcast_lab::{InputError, Runner};
//!
//! let names: Vec<_> = EVALUATIONS.iter().map(|evaluation| evaluation.name).collect();
//! assert!(names.starts_with(&["replicast", "choosy"]));
//!
//! // One seed: enough to see what comes out, not to judge the claims by it.
//! let choosy = EVALUATIONS[1].prepare(&["seeds.count=1".to_string()])?;
//! let outcome = choosy.run(&Runner::new(None)?, &|_| (), &mut |_, _| ())?;
//! assert_eq!(outcome.name, "choosy");
//! assert!(!outcome.findings.rows.is_empty() && !outcome.claims.is_empty());
//! # Ok::<(), Box<InputError>>(())
//! ```
//!
//! A row says how it was measured ([`Mode`](slotcast_lab::Mode)) and what a reader must know to compare. A
//! claim that a right model must show and that does not hold fails the command. The figures are of the
//! simulator, not of a cluster of machines: `docs/understand/parity.md` compares those two.

mod choosy;
mod dctcp;
mod double_booking;
mod next_steps;
mod proxy;
pub mod published;
mod replicast;

use slotcast_lab::Evaluation;

/// Every evaluation of clusters. A new one is a line here, a module like `replicast`, and its experiment files.
pub static EVALUATIONS: &[Evaluation] = &[
    replicast::EVALUATION,
    choosy::EVALUATION,
    dctcp::EVALUATION,
    double_booking::EVALUATION,
    next_steps::EVALUATION,
    proxy::EVALUATION,
];
