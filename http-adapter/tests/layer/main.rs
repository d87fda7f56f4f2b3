//! The HTTP contract, checked on the layer with the memory store: one module per part of it.

mod admission;
mod bodies;
mod bypass;
mod cancel;
mod capture;
mod classifier;
mod disconnect;
mod fail_open;
mod faults;
mod faulty;
mod fingerprint;
mod heartbeat;
mod keys;
mod metrics;
mod overrides;
mod pending;
mod principals;
mod problems;
mod replay;
mod running;
mod secrecy;
mod sockets;
mod storm;
mod support;
mod verdicts;
mod waiting;
