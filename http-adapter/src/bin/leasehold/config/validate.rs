//! What values may be, beyond their types.

use std::collections::HashSet;
use std::time::Duration;

use http::header::{DATE, SET_COOKIE};
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderName, Method, Uri};
use leasehold::{MAX_ENTRIES, MAX_TTL, Namespace};

use super::choices::FingerprintMode;
use super::duration::Span;
use super::error::ConfigError;
use super::keys::{PolicyKeys, ServerKeys, StoreKeys};
use super::size::Size;
use super::{Config, IDEMPOTENCY, ROUTE, policy, sql_refusal, verdict};

/// Longest key that may be allowed, in bytes: well inside what a request's head may have.
const MAX_KEY_LENGTH: usize = 4096;

/// Shortest interval between sweeps: below it the sweeper would be busy with nothing else.
const MIN_CLEANUP_INTERVAL: Duration = Duration::from_millis(10);

/// Shortest lease: a shorter one ends before it can be renewed, and then its request may run twice.
/// Whoever writes less has most likely forgotten the unit.
const MIN_LEASE_TTL: Duration = Duration::from_millis(10);

/// Headers that frame a message, that end at the gateway, or that it writes itself: none of them
/// can carry a client's key, say whose it is, or mark a replay.
const FRAMING: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "idempotency-lease-token",
    "idempotency-verdict",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
];

/// Others that cannot carry a key: they route a message, or name its client.
const NOT_FOR_KEYS: [&str; 2] = ["cookie", "host"];

/// The same for every header that begins so.
const NOT_FOR_KEYS_PREFIXES: [&str; 2] = ["proxy-", "x-forwarded-"];

type Checked = Result<(), ConfigError>;

impl Config {
    /// Checks every value.
    pub(super) fn validate(&self) -> Checked {
        check_server(&self.server)?;
        check_store(&self.store)?;
        let buffered = self.server.max_buffered_bytes;
        let check = Check { table: IDEMPOTENCY };
        check.policy(&self.policy)?;
        check.buffered(&self.policy, buffered)?;
        for (index, route) in self.routes.iter().enumerate() {
            let check = Check { table: &format!("{ROUTE}[{index}]") };
            policy::pattern(&route.path).map_err(|reason| check.error("path", reason))?;
            check.policy(&route.policy)?;
            check.buffered(&route.policy, buffered)?;
        }
        let redis = self.redis().map_or(Ok(()), |redis| redis.validate());
        redis.map_err(|error| policy::redis_refusal(&error))?;
        let sql = self.sql().map_or(Ok(()), |sql| sql.validate());
        sql.map_err(|error| sql_refusal(&error))
    }
}

fn check_server(keys: &ServerKeys) -> Checked {
    let check = Check { table: "" };
    upstream(&keys.upstream).map_err(|reason| check.error("upstream", reason))?;
    check.positive("upstream-timeout", keys.upstream_timeout)?;
    check.not_too_long("shutdown-grace", keys.shutdown_grace)?;
    check.positive("header-read-timeout", keys.header_read_timeout)?;
    check.positive("body-read-timeout", keys.body_read_timeout)?;
    check.at_least_one("max-running", keys.max_running)?;
    check.at_least_one("max-connections", keys.max_connections)?;
    if keys.max_connections > tokio::sync::Semaphore::MAX_PERMITS {
        return Err(check.error("max-connections", "is too large"));
    }
    check.at_least_one("max-buffered-bytes", keys.max_buffered_bytes.get())
}

/// Reads the upstream: `http://host[:port]`, nothing else. A reason never repeats the text.
pub(crate) fn upstream(text: &str) -> Result<Uri, &'static str> {
    let uri: Uri = text.parse().map_err(|_| "must be http://host[:port]")?;
    match uri.scheme() {
        Some(scheme) if *scheme == Scheme::HTTP => {}
        Some(scheme) if *scheme == Scheme::HTTPS => {
            return Err("https:// upstreams are not supported, only http://");
        }
        _ => return Err("must be http://host[:port]"),
    }
    let Some(authority) = uri.authority().filter(|authority| !authority.host().is_empty()) else {
        return Err("must be http://host[:port]");
    };
    if authority.as_str().contains('@') {
        return Err("must have no user or password");
    }
    let port = authority.as_str().strip_prefix(authority.host()).unwrap_or_default();
    if !port.is_empty() && authority.port_u16().is_none_or(|port| port == 0) {
        return Err("must have a port from 1 to 65535");
    }
    if uri.path_and_query().map_or("/", PathAndQuery::as_str) != "/" {
        return Err("must have no path: a request's own path is passed on as it is");
    }
    Ok(uri)
}

fn check_store(keys: &StoreKeys) -> Checked {
    let check = Check { table: IDEMPOTENCY };
    if let Err(reason) = keys.store.kind() {
        return Err(check.error("store", reason));
    }
    if keys.max_entries > MAX_ENTRIES {
        return Err(check.error("max-entries", format!("must be at most {MAX_ENTRIES}")));
    }
    check.at_least_one("max-entries", keys.max_entries)?;
    check.not_too_long("cleanup-interval", keys.cleanup_interval)?;
    let interval = keys.cleanup_interval.0;
    if !interval.is_zero() && interval < MIN_CLEANUP_INTERVAL {
        return Err(check.error("cleanup-interval", "must be at least 10ms, or 0s for none"));
    }
    check.at_least_one("max-waiters", keys.max_waiters)?;
    check.at_least_one("max-pending-commits", keys.max_pending_commits)?;
    check.positive("near-cache-ttl", keys.near_cache_ttl)?;
    if keys.digest_secret.as_ref().is_some_and(|secret| secret.reveal().is_empty()) {
        return Err(check.error("digest-secret", "must not be empty"));
    }
    keys.late_grace.map_or(Ok(()), |grace| check.not_too_long("late-grace", grace))
}

/// Checks of one table's values.
struct Check<'a> {
    table: &'a str,
}

impl Check<'_> {
    fn error(&self, key: &str, reason: impl std::fmt::Display) -> ConfigError {
        ConfigError::new(self.path(key), reason)
    }

    fn path(&self, key: &str) -> String {
        if self.table.is_empty() { key.to_owned() } else { format!("{}.{key}", self.table) }
    }

    fn positive(&self, key: &str, span: Span) -> Checked {
        if span.0.is_zero() {
            return Err(self.error(key, "must be greater than zero"));
        }
        self.not_too_long(key, span)
    }

    fn not_too_long(&self, key: &str, span: Span) -> Checked {
        if span.0 > MAX_TTL { Err(self.error(key, "must be at most ten years")) } else { Ok(()) }
    }

    fn at_least_one(&self, key: &str, count: usize) -> Checked {
        if count == 0 { Err(self.error(key, "must be greater than zero")) } else { Ok(()) }
    }

    fn header(&self, key: &str, name: &str) -> Result<HeaderName, ConfigError> {
        HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| self.error(key, format!("{name:?} is not a header's name")))
    }

    fn policy(&self, keys: &PolicyKeys) -> Checked {
        let name = self.header("header-name", &keys.header_name)?;
        let name = name.as_str();
        if FRAMING.contains(&name)
            || NOT_FOR_KEYS.contains(&name)
            || NOT_FOR_KEYS_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        {
            return Err(self.error("header-name", "this header cannot carry a key"));
        }
        if keys.max_key_length == 0 || keys.max_key_length > MAX_KEY_LENGTH {
            let reason = format!("must be from 1 to {MAX_KEY_LENGTH}");
            return Err(self.error("max-key-length", reason));
        }
        self.methods(&keys.allowed_methods)?;
        if !keys.namespace.is_empty() {
            Namespace::new(&keys.namespace).map_err(|error| self.error("namespace", error))?;
        }
        self.positive("ttl", keys.ttl)?;
        self.positive("lease-ttl", keys.lease_ttl)?;
        if keys.lease_ttl.0 < MIN_LEASE_TTL {
            return Err(self.error("lease-ttl", "must be at least 10ms"));
        }
        keys.hold_ttl.map_or(Ok(()), |ttl| self.positive("hold-ttl", ttl))?;
        self.positive("store-timeout", keys.store_timeout)?;
        let replayed = self.header("replayed-header", &keys.replayed_header)?;
        if FRAMING.contains(&replayed.as_str()) || [DATE, SET_COOKIE].contains(&replayed) {
            return Err(self.error("replayed-header", "this header cannot mark a replay"));
        }
        for name in &keys.replay_drop_headers {
            self.header("replay-drop-headers", name)?;
        }
        let mut principals = HashSet::new();
        for name in &keys.principal_headers {
            let header = self.header("principal-headers", name)?;
            if FRAMING.contains(&header.as_str())
                || header.as_str() == keys.header_name.to_ascii_lowercase()
            {
                let reason = format!("{name:?} does not say whose key it is");
                return Err(self.error("principal-headers", reason));
            }
            if !principals.insert(header) {
                return Err(self.error("principal-headers", format!("{name:?} is named twice")));
            }
        }
        self.not_too_long("wait", keys.wait)?;
        verdict::verdicts(&keys.verdict)
            .map_err(|(key, reason)| self.error(&format!("verdict.{key}"), reason))?;
        Ok(())
    }

    /// A body that is to be compared and has no room would be refused, however small the traffic.
    fn buffered(&self, keys: &PolicyKeys, bytes_max: Size) -> Checked {
        let is_read = keys.fingerprint != FingerprintMode::Off;
        if is_read && keys.max_fingerprint_body.get() > bytes_max.get() {
            let reason = "must be at most max-buffered-bytes";
            return Err(self.error("max-fingerprint-body", reason));
        }
        Ok(())
    }

    fn methods(&self, methods: &[String]) -> Checked {
        const KEY: &str = "allowed-methods";
        if methods.is_empty() {
            return Err(self.error(KEY, "names no method; use enabled = false to protect none"));
        }
        for name in methods {
            let method = Method::from_bytes(name.as_bytes())
                .map_err(|_| self.error(KEY, format!("{name:?} is not a method")))?;
            if method == Method::CONNECT {
                return Err(self.error(KEY, "CONNECT is never passed on"));
            }
            if name.bytes().any(|byte| byte.is_ascii_lowercase()) {
                let reason = format!("methods are upper case: {:?}", name.to_uppercase());
                return Err(self.error(KEY, reason));
            }
        }
        Ok(())
    }
}
