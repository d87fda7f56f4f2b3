//! What is asked of a server before the first lease: that it evicts nothing.
//!
//! `INFO` is asked, since `CONFIG` is often forbidden.

use leasehold::StoreError;
use redis::Value;
use tokio::time::Instant;

use crate::config::ConnectError;
use crate::session::Session;

/// The line of `INFO memory` that tells.
const POLICY: &str = "maxmemory_policy:";

/// The only policy under which a server refuses writes instead of evicting keys.
const NO_EVICTION: &str = "noeviction";

/// Refuses servers that may evict keys, unless that is allowed; then it warns.
pub(crate) async fn check(
    session: &Session,
    allow_eviction: bool,
    until: Instant,
) -> Result<(), ConnectError> {
    let unavailable = |failure| ConnectError::Unavailable(StoreError::from(failure));
    session.connect(until).await.map_err(unavailable)?;
    let mut ask = redis::cmd("INFO");
    ask.arg("memory");
    let answer = session.ask_masters(ask, until).await.map_err(StoreError::from);
    let verdict = match answer {
        Ok(answer) => judge(&answer),
        Err(error) if error.is_transient() => return Err(ConnectError::Unavailable(error)),
        // The server is there, and does not want to tell.
        Err(_) => Err(ConnectError::EvictionUnknown),
    };
    match verdict {
        Err(refusal) if allow_eviction => {
            tracing::warn!(%refusal, "redis may evict leases, and a request may then run twice");
            Ok(())
        }
        verdict => verdict,
    }
}

fn judge(answer: &Value) -> Result<(), ConnectError> {
    let mut policies = Vec::new();
    collect(answer, &mut policies);
    if policies.is_empty() {
        return Err(ConnectError::EvictionUnknown);
    }
    match policies.into_iter().find(|policy| policy != NO_EVICTION) {
        Some(policy) => Err(ConnectError::Eviction { policy }),
        None => Ok(()),
    }
}

/// The policies in an answer of one server, or of several.
fn collect(answer: &Value, policies: &mut Vec<String>) {
    match answer {
        Value::BulkString(text) => find(&String::from_utf8_lossy(text), policies),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => find(text, policies),
        Value::Array(answers) => answers.iter().for_each(|one| collect(one, policies)),
        Value::Map(answers) => answers.iter().for_each(|(_, one)| collect(one, policies)),
        _ => {}
    }
}

fn find(text: &str, policies: &mut Vec<String>) {
    let found = text.lines().filter_map(|line| line.strip_prefix(POLICY));
    policies.extend(found.map(|policy| policy.trim().to_owned()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(policy: &str) -> Value {
        let text = format!("# Memory\r\nused_memory:1\r\nmaxmemory_policy:{policy}\r\nx:y\r\n");
        Value::BulkString(text.into_bytes())
    }

    #[test]
    fn only_noeviction_passes() {
        assert!(judge(&info("noeviction")).is_ok());
        for policy in ["volatile-lru", "allkeys-random", "volatile-ttl"] {
            assert!(matches!(
                judge(&info(policy)),
                Err(ConnectError::Eviction { policy: told }) if told == policy
            ));
        }
        assert!(matches!(judge(&Value::Nil), Err(ConnectError::EvictionUnknown)));
    }

    #[test]
    fn every_master_of_a_cluster_counts() {
        let node = |name: &str, policy| (Value::SimpleString(name.to_owned()), info(policy));
        let same = vec![node("a", "noeviction"), node("b", "noeviction")];
        assert!(judge(&Value::Map(same)).is_ok());
        let mixed = vec![node("a", "noeviction"), node("b", "allkeys-lru")];
        assert!(matches!(judge(&Value::Map(mixed)), Err(ConnectError::Eviction { .. })));
    }
}
