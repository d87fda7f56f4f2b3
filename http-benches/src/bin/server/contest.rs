//! Who takes part, and what is asked of each.

use std::path::PathBuf;

use leasehold_http_benches::rounds::{Entrant, interleave};

use crate::accounts::Used;
use crate::children::{Child, Folder, Servers};
use crate::load::{Keys, Load};

/// hyper with a handler.
pub(crate) const HYPER: &str = "hyper";
/// The same with our layer.
pub(crate) const LAYER: &str = "hyper with the layer";
/// Our gateway, keys that are new.
pub(crate) const PROTECTED: &str = "gateway, protected";
/// Our gateway on a route that is not protected.
pub(crate) const PASSING: &str = "gateway, pass-through";
/// Our gateway, keys that are kept.
pub(crate) const DUPLICATES: &str = "gateway, duplicates";
/// nginx as a reverse proxy.
pub(crate) const NGINX: &str = "nginx";
/// axum-reverse-proxy.
pub(crate) const AXUM_REVERSE_PROXY: &str = "axum-reverse-proxy";

/// Where writes are protected, and where the gateway lets them pass.
const ORDERS: &str = "/orders";
const FREE: &str = "/free/orders";

/// What is measured, and how long.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Rounds over all servers.
    pub(crate) rounds: usize,
    /// Seconds of load for each in each round.
    pub(crate) seconds: u16,
    /// Connections that are kept.
    pub(crate) connections: u16,
    /// The gateway's binary.
    pub(crate) gateway: PathBuf,
}

/// One server under load, once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Processor time of a request.
    pub(crate) micros: f64,
    /// Of that the part in the kernel.
    pub(crate) system_micros: f64,
    /// Requests a second.
    pub(crate) rate: f64,
}

/// Loads every server in interleaved rounds.
pub(crate) fn run(plan: &Plan) -> Result<Vec<(&'static str, Vec<Sample>)>, String> {
    let folder = Folder::make()?;
    let load = Load::new(&folder, plan.seconds, plan.connections)?;
    let servers = Servers::start(&folder, &plan.gateway)?;
    let fresh = Keys::Fresh;
    let all = [
        (HYPER, &servers.hyper, ORDERS, fresh),
        (LAYER, &servers.layer, ORDERS, fresh),
        (PROTECTED, &servers.gateway, ORDERS, fresh),
        (PASSING, &servers.gateway, FREE, fresh),
        (DUPLICATES, &servers.gateway, ORDERS, Keys::Kept),
        (NGINX, &servers.nginx, ORDERS, fresh),
        (AXUM_REVERSE_PROXY, &servers.axum_reverse_proxy, ORDERS, fresh),
    ];
    for (name, child, path, keys) in all {
        // Fills pools and caches, and makes known the keys that are to be duplicates.
        load.warm_up(child, path, keys).map_err(|error| format!("{name}: {error}"))?;
    }
    let entrant = |(name, child, path, keys)| {
        let load = &load;
        Entrant::new(name, move || sample(load, child, path, keys))
    };
    interleave(plan.rounds, &mut all.map(entrant))
}

fn sample(load: &Load, child: &Child, path: &str, keys: Keys) -> Result<Sample, String> {
    let before = Used::by(child.id())?;
    let found = load.run(child, path, keys)?;
    let used = Used::by(child.id())?.since(before);
    let requests = found.requests as f64;
    Ok(Sample {
        micros: used.all().as_nanos() as f64 / 1e3 / requests,
        system_micros: used.system.as_nanos() as f64 / 1e3 / requests,
        rate: requests / found.took.as_secs_f64(),
    })
}
