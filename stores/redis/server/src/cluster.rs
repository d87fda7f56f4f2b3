//! A cluster of masters on the loopback address.

use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::server::Server;

/// Masters of a cluster: the fewest that `redis-cli` calls one.
const MASTERS: u16 = 3;

/// Hash slots of every cluster.
const SLOTS: u16 = 16_384;

/// Pause between two looks at whether the nodes have agreed.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// Looks before a cluster is given up: a minute. Nodes agree within some seconds.
const LOOKS: usize = 3_000;

/// Three masters without replicas, each with a third of the slots.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Server>,
}

impl Cluster {
    /// Starts the nodes and waits until each of them knows all slots.
    ///
    /// # Panics
    ///
    /// If there is no `redis-server`, or the nodes do not find together.
    #[must_use]
    pub fn start() -> Self {
        let nodes: Vec<_> = (0..MASTERS).map(|_| Server::start_with(arguments)).collect();
        for (number, node) in (0..MASTERS).zip(&nodes) {
            let first = SLOTS / MASTERS * number;
            let last =
                if number + 1 == MASTERS { SLOTS } else { SLOTS / MASTERS * (number + 1) } - 1;
            expect_ok(node, &["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()]);
            expect_ok(node, &["CLUSTER", "SET-CONFIG-EPOCH", &(number + 1).to_string()]);
        }
        let first = nodes[0].port().to_string();
        for node in &nodes[1..] {
            expect_ok(node, &["CLUSTER", "MEET", "127.0.0.1", &first]);
        }
        for node in &nodes {
            wait_until_whole(node);
        }
        Self { nodes }
    }

    /// The nodes, in the order of their slots.
    #[must_use]
    pub fn nodes(&self) -> &[Server] {
        &self.nodes
    }
}

fn arguments(_: u16, _: &Path) -> Vec<String> {
    ["--cluster-enabled", "yes", "--cluster-node-timeout", "5000"].map(str::to_owned).into()
}

fn expect_ok(node: &Server, command: &[&str]) {
    assert_eq!(node.ask(command), "+OK", "{command:?}");
}

/// Nodes tell each other of their slots by gossip, of which they send no word to anybody else.
fn wait_until_whole(node: &Server) {
    for _ in 0..LOOKS {
        let info = node.ask(&["CLUSTER", "INFO"]);
        let says = |line: &str| info.lines().any(|one| one.trim_end() == line);
        if says("cluster_state:ok") && says("cluster_known_nodes:3") {
            return;
        }
        thread::sleep(LOOK_PAUSE);
    }
    panic!("the cluster does not form:\n{}", node.ask(&["CLUSTER", "INFO"]));
}
