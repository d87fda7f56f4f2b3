//! What the benches share: their inputs, and the verbs that they time.
//!
//! Each file below `benches/` asks one question and says it in its first line. `lifecycle` is the
//! only one so far: there is no comparison with other crates and no latency histogram yet, so
//! nothing here says how the store compares with anything.
//!
//! ```text
//! cargo bench -p leasehold-benches
//! ```
//!
//! A figure is worth its machine, commit and command; quote all three with it.

#![forbid(unsafe_code)]

pub mod verbs;
pub mod workload;
