//! What the measurements share: inputs, stores, threads, figures.
//!
//! Each file below `benches/` asks one question about the memory store and says it in its first
//! line. The binaries compare: `rivals` (what an operation costs), `latency` (how long the slowest
//! take), `memory` (bytes per key), and `report` draws what they found.
//!
//! ```text
//! cargo bench -p leasehold-benches
//! cargo run --release -p leasehold-benches --bin rivals -- --quick
//! ```
//!
//! A figure is worth its machine, commit and command; quote all three with it. How each is made
//! stands in `docs/performance.md`.

#![forbid(unsafe_code)]

pub mod chart;
pub mod contest;
pub mod criteria;
pub mod effort;
pub mod figures;
pub mod footprint;
pub mod growth;
pub mod key;
pub mod machine;
pub mod pace;
pub mod passes;
pub mod stopwatch;
pub mod store;
pub mod table;
pub mod tails;
pub mod team;
pub mod verbs;
pub mod workload;
pub mod worst;

/// Calls a function that is generic over its store once for each of them.
#[macro_export]
macro_rules! for_each_store {
    ($function:ident) => {
        $function::<$crate::store::Leasehold>();
        $function::<$crate::store::DashMap>();
        $function::<$crate::store::Scc>();
        $function::<$crate::store::Papaya>();
        $function::<$crate::store::Moka>();
        $function::<$crate::store::QuickCache>();
        $function::<$crate::store::MutexHeap>();
        $function::<$crate::store::RwLockBTree>();
    };
}
