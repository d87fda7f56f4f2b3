//! The configuration as it holds, with every default, in the form in which it can be read again.

use leasehold::Namespace;
use serde::Serialize;
use toml::{Table, Value};

use super::duration::Span;
use super::keys::PolicyKeys;
use super::secret::StoreKind;
use super::{Config, IDEMPOTENCY, ROUTE};

impl Config {
    /// The whole configuration as one table.
    pub(super) fn effective(&self) -> Table {
        let mut idempotency = policy_table(&self.policy);
        let mut store = self.store.clone();
        store.late_grace = Some(Span(self.late_grace()));
        if let Some(sql) = self.sql() {
            store.auto_migrate = sql.auto_migrate;
        }
        idempotency.extend(table(&store));
        let mut whole = table(&self.server);
        whole.insert(IDEMPOTENCY.to_owned(), Value::Table(idempotency));
        let routes: Vec<Value> = self
            .routes
            .iter()
            .map(|route| {
                let mut table = policy_table(&route.policy);
                table.insert("path".to_owned(), Value::String(route.path.clone()));
                if !self.policy.verdict.is_empty() {
                    // An empty one says that nothing is inherited.
                    table.entry("verdict").or_insert_with(|| Value::Table(Table::new()));
                }
                Value::Table(table)
            })
            .collect();
        if !routes.is_empty() {
            whole.insert(ROUTE.to_owned(), Value::Array(routes));
        }
        whole
    }

    /// What `leasehold check` prints: TOML, and what the bound of a store in memory allows as a
    /// comment.
    pub(crate) fn report(&self) -> String {
        if self.store.store.kind() != Ok(StoreKind::Memory) {
            return self.effective().to_string();
        }
        let seconds = self.policy.ttl.0.as_secs_f64();
        let entries = self.store.max_entries;
        let rate = significant(entries as f64 / seconds);
        format!(
            "{}\n# {entries} keys (max-entries) kept for {} (ttl): \
             {rate} successful writes a second, lasting\n",
            self.effective(),
            self.policy.ttl,
        )
    }
}

/// A rate with three significant digits, or whole when it has more.
fn significant(rate: f64) -> String {
    let digits = rate.log10().floor();
    let places = if digits.is_finite() { (2.0 - digits).clamp(0.0, 12.0) } else { 0.0 };
    format!("{rate:.*}", places as usize)
}

/// A policy with the defaults that depend on other keys filled in.
fn policy_table(policy: &PolicyKeys) -> Table {
    let mut policy = policy.clone();
    policy.hold_ttl = Some(policy.hold_ttl.unwrap_or(policy.lease_ttl));
    if policy.namespace.is_empty() {
        Namespace::default().as_str().clone_into(&mut policy.namespace);
    }
    table(&policy)
}

fn table(keys: &impl Serialize) -> Table {
    Table::try_from(keys).expect("structs of strings, numbers and lists are TOML tables")
}

#[cfg(test)]
mod tests {
    use super::significant;

    #[test]
    fn rates_have_three_significant_digits() {
        assert_eq!(significant(100_000.0 / 86_400.0), "1.16");
        assert_eq!(significant(12_345.6), "12346");
        assert_eq!(significant(0.000_123_4), "0.000123");
        assert_eq!(significant(1.0), "1.00");
    }
}
