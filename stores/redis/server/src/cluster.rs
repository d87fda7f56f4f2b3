//! A cluster of masters on the loopback address, the first of which may have a replica.

use std::thread;
use std::time::Duration;

use crate::server::Server;

/// Masters of a cluster: the fewest that `redis-cli` calls one, and that can outvote a dead one.
const MASTERS: u16 = 3;

/// Hash slots of every cluster.
const SLOTS: u16 = 16_384;

/// Pause between two looks at whether the nodes have agreed.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// Looks before a cluster is given up: a minute. Nodes agree within some seconds.
const LOOKS: usize = 3_000;

/// After how many milliseconds without a word nodes hold each other for dead, where none is to die.
const PATIENT_MS: u32 = 5_000;

/// The same where one is to die: as short as a busy machine allows.
const HASTY_MS: u32 = 1_000;

/// Three masters, each with a third of the slots.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Server>,
    replica: Option<Server>,
}

impl Cluster {
    /// Starts masters without replicas, and waits until each of them knows all slots.
    ///
    /// # Panics
    ///
    /// If there is no `redis-server`, or the nodes do not find together.
    #[must_use]
    pub fn start() -> Self {
        Self { nodes: masters(PATIENT_MS), replica: None }
    }

    /// The same with a replica of the first master, which takes over some seconds after that one's
    /// death; waits until it has all data and every node knows of it.
    ///
    /// # Panics
    ///
    /// If there is no `redis-server`, or the nodes do not find together.
    #[must_use]
    pub fn start_with_replica() -> Self {
        let nodes = masters(HASTY_MS);
        let replica = start_node(HASTY_MS);
        let master = nodes[0].ask(&["CLUSTER", "MYID"]);
        expect_ok(&replica, &["CLUSTER", "MEET", "127.0.0.1", &nodes[0].port().to_string()]);
        wait_until_whole(&replica, nodes.len() + 1);
        expect_ok(&replica, &["CLUSTER", "REPLICATE", &master]);
        wait_until(&replica, &["INFO", "replication"], "master_link_status:up");
        // The others vote for it only if they know whose replica it is.
        for node in &nodes {
            wait_until(node, &["CLUSTER", "NODES"], &format!("slave {master}"));
        }
        Self { nodes, replica: Some(replica) }
    }

    /// The masters, in the order of their slots.
    #[must_use]
    pub fn nodes(&self) -> &[Server] {
        &self.nodes
    }

    /// The replica of the first master, if there is one.
    #[must_use]
    pub const fn replica(&self) -> Option<&Server> {
        self.replica.as_ref()
    }

    /// Its URL, with all masters in it.
    #[must_use]
    pub fn url(&self) -> String {
        let hosts = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port()));
        format!("redis-cluster://{}", hosts.collect::<Vec<_>>().join(","))
    }

    /// The place of the master in [`Cluster::nodes`] that a key belonged to at the start.
    ///
    /// # Panics
    ///
    /// If no node answers.
    #[must_use]
    pub fn home_of(&self, key: &str) -> usize {
        let question = ["CLUSTER", "KEYSLOT", key];
        let answer = self.nodes.iter().find_map(|node| node.try_ask(&question).ok());
        let slot = answer.and_then(|slot| slot.parse::<u16>().ok()).expect("a node answers");
        usize::from((slot / (SLOTS / MASTERS)).min(MASTERS - 1))
    }
}

fn masters(node_timeout_ms: u32) -> Vec<Server> {
    let nodes: Vec<_> = (0..MASTERS).map(|_| start_node(node_timeout_ms)).collect();
    for (number, node) in (0..MASTERS).zip(&nodes) {
        let first = SLOTS / MASTERS * number;
        let last = if number + 1 == MASTERS { SLOTS } else { SLOTS / MASTERS * (number + 1) } - 1;
        expect_ok(node, &["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()]);
        expect_ok(node, &["CLUSTER", "SET-CONFIG-EPOCH", &(number + 1).to_string()]);
    }
    let first = nodes[0].port().to_string();
    for node in &nodes[1..] {
        expect_ok(node, &["CLUSTER", "MEET", "127.0.0.1", &first]);
    }
    for node in &nodes {
        wait_until_whole(node, nodes.len());
    }
    nodes
}

fn start_node(node_timeout_ms: u32) -> Server {
    let node_timeout_ms = node_timeout_ms.to_string();
    let arguments = ["--cluster-enabled", "yes", "--cluster-node-timeout", &node_timeout_ms];
    Server::start(&arguments)
}

fn expect_ok(node: &Server, command: &[&str]) {
    assert_eq!(node.ask(command), "+OK", "{command:?}");
}

fn wait_until_whole(node: &Server, nodes: usize) {
    wait_until(node, &["CLUSTER", "INFO"], "cluster_state:ok");
    wait_until(node, &["CLUSTER", "INFO"], &format!("cluster_known_nodes:{nodes}\r"));
}

/// Nodes tell each other by gossip, of which they send no word to anybody else.
fn wait_until(node: &Server, question: &[&str], words: &str) {
    for _ in 0..LOOKS {
        if node.ask(question).contains(words) {
            return;
        }
        thread::sleep(LOOK_PAUSE);
    }
    panic!("the cluster does not form, no {words:?} in:\n{}", node.ask(question));
}
