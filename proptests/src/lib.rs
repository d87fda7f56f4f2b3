//! A sequential model of the lease contract, and what it takes to hold a store against it.
//!
//! [`Model`] is written from the contract's words and knows no store. It does not predict answers,
//! it judges them: where the contract leaves a store some room (when exactly a deadline is seen,
//! whether an outcome found a place) it takes either answer and remembers what the answer implied.
//! [`Hands`] turn a [`Verb`] into a call of the store under test, and [`Rig`] drives store and
//! model side by side. The properties themselves are in `tests/`.
//!
//! The number of cases follows proptest's `PROPTEST_CASES`; a failure is kept in
//! `proptest-regressions/` and should be committed with its fix.

#![forbid(unsafe_code)]

mod cases;
mod hands;
mod model;
mod rig;
mod span;
mod verb;

pub use cases::cases;
pub use hands::{Hands, address};
pub use model::{Breach, Limits, Model, Sight};
pub use rig::Rig;
pub use span::{CLOCK_RANGE, LATENESS, Origin, Span};
pub use verb::{Answer, Grant, Payload, Verb};
