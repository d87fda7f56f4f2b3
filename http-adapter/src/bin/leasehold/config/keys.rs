//! Every key of the configuration with its type and its default. Nothing is checked here beyond
//! types: that is [`validate`](super::validate)'s.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::choices::{
    Duplicate, ErrorFormat, FingerprintMode, KeySyntax, OnDisconnect, OnUnknownOutcome, VerdictName,
};
use super::duration::Span;
use super::secret::{Secret, StoreUrl};
use super::size::Size;

/// Keys outside of any table.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ServerKeys {
    /// Where clients connect.
    pub(crate) listen: SocketAddr,
    /// Whom requests are passed to, `http://host[:port]`.
    pub(crate) upstream: String,
    /// Where `/healthz`, `/readyz` and `/metrics` answer; absent: nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) admin: Option<SocketAddr>,
    /// From the last byte of a request until the head of its response (then 504), and for
    /// connecting (then 502). A response's body may take as long as it likes.
    pub(crate) upstream_timeout: Span,
    /// How long running handlers may go on once the gateway is told to stop.
    pub(crate) shutdown_grace: Span,
    /// How long a client may take to send a request's head, the time that the connection is idle
    /// before it included.
    pub(crate) header_read_timeout: Span,
    /// How long a request's body may take in all. A client that is slower gets 408, and its key is
    /// free: the upstream never had the whole request. Also how long a client may take none of the
    /// bytes that are being written to it; its connection ends then.
    pub(crate) body_read_timeout: Span,
    /// Most handlers at once, those whose client has gone included.
    pub(crate) max_running: usize,
    /// Most connections of clients at once.
    pub(crate) max_connections: usize,
    /// Most bytes of bodies that wait in memory for a fingerprint or a replay, all requests
    /// together. Plain proxying streams and keeps none.
    pub(crate) max_buffered_bytes: Size,
}

impl Default for ServerKeys {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            upstream: "http://127.0.0.1:3000".to_owned(),
            admin: None,
            upstream_timeout: Span::seconds(30),
            shutdown_grace: Span::seconds(30),
            header_read_timeout: Span::seconds(10),
            body_read_timeout: Span::seconds(60),
            max_running: 10_000,
            max_connections: 10_000,
            max_buffered_bytes: Size::mib(256),
        }
    }
}

/// Keys of `[idempotency]` that hold for the whole gateway.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct StoreKeys {
    /// Which store keeps the keys.
    pub(crate) store: StoreUrl,
    /// Most live keys. In memory only.
    pub(crate) max_entries: usize,
    /// How often what is over is swept out; zero: in memory only by later calls, in a database
    /// never. Redis needs none.
    pub(crate) cleanup_interval: Span,
    /// Most bytes of stored outcomes. In memory only.
    pub(crate) max_outcome_bytes: Size,
    /// How long a late commit may still land; default: `lease-ttl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) late_grace: Option<Span>,
    /// Most requests that wait for another's end.
    pub(crate) max_waiters: usize,
    /// Most commits that wait to be repeated.
    pub(crate) max_pending_commits: usize,
    /// What the names of all keys begin with. Redis only.
    pub(crate) key_prefix: String,
    /// Whether this process remembers what it has seen completed. Redis only.
    pub(crate) near_cache: bool,
    /// For how long it does.
    pub(crate) near_cache_ttl: Span,
    /// Replicas that must have a grant or a commit before it counts. Redis only.
    pub(crate) min_replicas: usize,
    /// Connections of grants and commits that wait for replicas. Redis only.
    pub(crate) replica_connections: usize,
    /// File of the authority, in PEM, that TLS trusts instead of the system's. Redis only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) root_certificate: Option<PathBuf>,
    /// Start although the server may evict keys. Redis only.
    pub(crate) allow_eviction: bool,
    /// The table of the records, with its schema and a dot before it if need be. SQL only.
    pub(crate) table: String,
    /// Make and update the table at the start. SQL only; default: SQLite alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) auto_migrate: Option<bool>,
    /// Most rows that one statement of the cleaning deletes. SQL only.
    pub(crate) cleanup_batch: u32,
    /// Most connections to the database. SQL only.
    pub(crate) connections: u32,
    /// How long a record stays that its holder has left behind, for an operator to see. SQL only.
    pub(crate) stuck_retention: Span,
    /// What addresses and fingerprints are made with, so that nobody can guess what they stand for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) digest_secret: Option<Secret>,
}

impl Default for StoreKeys {
    fn default() -> Self {
        Self {
            store: StoreUrl::memory(),
            max_entries: 100_000,
            cleanup_interval: Span::seconds(60),
            max_outcome_bytes: Size::mib(64),
            late_grace: None,
            max_waiters: 1000,
            max_pending_commits: 1000,
            key_prefix: "leasehold:".to_owned(),
            near_cache: true,
            near_cache_ttl: Span::seconds(5),
            min_replicas: 0,
            replica_connections: 8,
            root_certificate: None,
            allow_eviction: false,
            table: "idempotent_record".to_owned(),
            auto_migrate: None,
            cleanup_batch: 1_000,
            connections: 8,
            stuck_retention: Span::seconds(7 * 24 * 60 * 60),
            digest_secret: None,
        }
    }
}

/// Names of [`StoreKeys`]' fields: the keys of `[idempotency]` that a route cannot set.
pub(crate) const STORE_KEYS: [&str; 20] = [
    "store",
    "max-entries",
    "cleanup-interval",
    "max-outcome-bytes",
    "late-grace",
    "max-waiters",
    "max-pending-commits",
    "key-prefix",
    "near-cache",
    "near-cache-ttl",
    "min-replicas",
    "replica-connections",
    "root-certificate",
    "allow-eviction",
    "table",
    "auto-migrate",
    "cleanup-batch",
    "connections",
    "stuck-retention",
    "digest-secret",
];

/// Keys of `[idempotency]` that a `[[route]]` may set too.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct PolicyKeys {
    pub(crate) enabled: bool,
    pub(crate) header_name: String,
    pub(crate) required: bool,
    pub(crate) key_syntax: KeySyntax,
    pub(crate) max_key_length: usize,
    pub(crate) allowed_methods: Vec<String>,
    /// Empty means `default`.
    pub(crate) namespace: String,
    pub(crate) ttl: Span,
    pub(crate) lease_ttl: Span,
    pub(crate) renew: bool,
    pub(crate) duplicate: Duplicate,
    pub(crate) fingerprint: FingerprintMode,
    pub(crate) max_fingerprint_body: Size,
    pub(crate) max_replay_body: Size,
    pub(crate) replayed_header: String,
    pub(crate) replay_drop_headers: Vec<String>,
    pub(crate) retry_hints: bool,
    pub(crate) error_format: ErrorFormat,
    pub(crate) on_disconnect: OnDisconnect,
    pub(crate) on_unknown_outcome: OnUnknownOutcome,
    /// Default: `lease-ttl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hold_ttl: Option<Span>,
    pub(crate) principal_headers: Vec<String>,
    pub(crate) wait: Span,
    pub(crate) fail_open: bool,
    pub(crate) store_timeout: Span,
    /// Status or range of statuses, and what it means.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) verdict: BTreeMap<String, VerdictName>,
}

impl Default for PolicyKeys {
    fn default() -> Self {
        Self {
            enabled: true,
            header_name: "Idempotency-Key".to_owned(),
            required: true,
            key_syntax: KeySyntax::Lenient,
            max_key_length: 128,
            allowed_methods: ["POST", "PUT", "PATCH", "DELETE"].map(str::to_owned).to_vec(),
            namespace: "default".to_owned(),
            ttl: Span::seconds(24 * 60 * 60),
            lease_ttl: Span::seconds(30),
            renew: true,
            duplicate: Duplicate::Reject,
            fingerprint: FingerprintMode::Off,
            max_fingerprint_body: Size::mib(1),
            max_replay_body: Size::kib(64),
            replayed_header: "Idempotent-Replayed".to_owned(),
            replay_drop_headers: Vec::new(),
            retry_hints: true,
            error_format: ErrorFormat::Problem,
            on_disconnect: OnDisconnect::Finish,
            on_unknown_outcome: OnUnknownOutcome::Hold,
            hold_ttl: None,
            principal_headers: Vec::new(),
            wait: Span::seconds(0),
            fail_open: false,
            store_timeout: Span::seconds(1),
            verdict: BTreeMap::new(),
        }
    }
}
