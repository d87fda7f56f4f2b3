//! Where log lines go, and which of them are let through.
//!
//! Only this project's own lines are ever written, whatever the filter says: those of the HTTP
//! libraries hold header values and whole buffers at their lower levels, and so raw keys.

use std::io::IsTerminal;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::{EnvFilter, FilterExt, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

use crate::config::ConfigError;

/// The variable that is looked at first.
const OURS: &str = "LEASEHOLD_LOG";

/// Starts writing log lines to standard error, filtered by `LEASEHOLD_LOG`, else `RUST_LOG`, else
/// from level info on.
pub(crate) fn start() -> Result<(), ConfigError> {
    let builder = EnvFilter::builder().with_default_directive(LevelFilter::INFO.into());
    let filter = match std::env::var(OURS) {
        Ok(text) => builder.parse(text).map_err(|error| ConfigError::new(OURS, error))?,
        Err(std::env::VarError::NotUnicode(_)) => {
            return Err(ConfigError::new(OURS, "not valid UTF-8"));
        }
        // Other programs read this one too: what it has for them is none of our business.
        Err(std::env::VarError::NotPresent) => builder.from_env_lossy(),
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_filter(filter.and(filter_fn(|metadata| is_ours(metadata.target()))));
    tracing_subscriber::registry()
        .with(lines)
        .try_init()
        .map_err(|error: TryInitError| ConfigError::new(OURS, error))
}

/// Whether a target is one of this project's crates.
fn is_ours(target: &str) -> bool {
    let name = target.split(':').next().unwrap_or_default();
    name == "leasehold" || name.starts_with("leasehold_")
}

#[cfg(test)]
mod tests {
    use super::is_ours;

    #[test]
    fn no_dependency_is_ours() {
        for target in ["leasehold", "leasehold::memory", "leasehold_http::run"] {
            assert!(is_ours(target), "{target}");
        }
        for target in ["hyper::proto::h1", "h2::hpack", "leaseholder", "", "x::leasehold"] {
            assert!(!is_ours(target), "{target}");
        }
    }
}
