//! From checked keys to what the layer and the store are built from.

use http::{HeaderName, Method};
use leasehold::{MemoryConfig, Namespace, Ttl};
use leasehold_http::{Pattern, Policy, Routes, UnknownOutcome};

use super::duration::Span;
use super::error::ConfigError;
use super::keys::{KeySyntax, OnUnknownOutcome, PolicyKeys};
use super::{Config, IDEMPOTENCY, ROUTE};

/// Reads a route's pattern.
pub(super) fn pattern(text: &str) -> Result<Pattern, String> {
    Pattern::parse(text).map_err(|error| error.to_string())
}

impl Config {
    /// The policies of all paths.
    pub(crate) fn routes(&self) -> Result<Routes, ConfigError> {
        let mut routes = Routes::new(policy(IDEMPOTENCY, &self.policy)?);
        for (index, route) in self.routes.iter().enumerate() {
            let name = format!("{ROUTE}[{index}]");
            let pattern = pattern(&route.path)
                .map_err(|reason| ConfigError::new(format!("{name}.path"), reason))?;
            routes = routes.route(pattern, policy(&name, &route.policy)?);
        }
        Ok(routes)
    }

    /// The memory store's settings.
    pub(crate) fn memory(&self) -> MemoryConfig {
        MemoryConfig::default()
            .max_entries(self.store.max_entries)
            .max_outcome_bytes(self.store.max_outcome_bytes.get())
            .late_grace(self.late_grace())
    }
}

/// The keys of `table` as the layer's policy.
fn policy(table: &str, keys: &PolicyKeys) -> Result<Policy, ConfigError> {
    let refuse = |key: &str, error: &dyn std::fmt::Display| {
        ConfigError::new(format!("{table}.{key}"), error)
    };
    let ttl = |key: &str, span: Span| Ttl::new(span.0).map_err(|error| refuse(key, &error));
    let namespace = match keys.namespace.as_str() {
        "" => Namespace::default(),
        name => Namespace::new(name).map_err(|error| refuse("namespace", &error))?,
    };
    let header_name = HeaderName::from_bytes(keys.header_name.as_bytes())
        .map_err(|error| refuse("header-name", &error))?;
    let methods = keys.allowed_methods.iter().map(|name| Method::from_bytes(name.as_bytes()));
    let methods = methods
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| refuse("allowed-methods", &error))?;
    Ok(Policy::default()
        .namespace(namespace)
        .enabled(keys.enabled)
        .header_name(header_name)
        .required(keys.required)
        .key_syntax(match keys.key_syntax {
            KeySyntax::Lenient => leasehold_http::KeySyntax::Lenient,
            KeySyntax::Bare => leasehold_http::KeySyntax::Bare,
            KeySyntax::Structured => leasehold_http::KeySyntax::Structured,
        })
        .max_key_length(keys.max_key_length)
        .allowed_methods(methods)
        .ttl(ttl("ttl", keys.ttl)?)
        .lease_ttl(ttl("lease-ttl", keys.lease_ttl)?)
        .renew(keys.renew)
        .retry_hints(keys.retry_hints)
        .on_unknown_outcome(match keys.on_unknown_outcome {
            OnUnknownOutcome::Hold => UnknownOutcome::Hold,
            OnUnknownOutcome::Release => UnknownOutcome::Release,
        })
        .hold_ttl(ttl("hold-ttl", keys.hold_ttl.unwrap_or(keys.lease_ttl))?)
        .store_timeout(keys.store_timeout.0))
}
