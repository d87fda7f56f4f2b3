//! What the HTTP measurements share: requests, stacks of layers, rounds, figures and targets.
//!
//! Three binaries measure: `layer` (time of a request in process), `allocations` (how often one
//! asks for memory) and `server` (processor time of whole servers under load).
//!
//! ```text
//! cargo run --release -p leasehold-http-benches --bin layer
//! cargo xtask bench-http
//! ```
//!
//! A target that is missed is printed as missed: no figure here ends a run. How each is made
//! stands in `docs/http-performance.md`.

#![forbid(unsafe_code)]

pub mod figures;
pub mod machine;
pub mod pass;
pub mod report;
pub mod request;
pub mod rounds;
pub mod stack;
pub mod stopwatch;
pub mod target;
