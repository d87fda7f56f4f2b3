//! The name of the table, which is part of every statement: checked once, so that nothing else has
//! to quote it or could be led astray by it.

use std::fmt;

use thiserror::Error;

/// Longest schema or table name. MySQL takes 64 bytes and PostgreSQL 63; the name of the version
/// table is the table's with eight more.
const MAX_LENGTH: usize = 55;

/// A table, with its schema if it has one: `orders` or `shop.orders`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Table {
    name: String,
}

impl Table {
    /// Takes a name apart and checks it: one or two parts of lower-case ASCII letters, digits and
    /// `_` that begin with no digit. Such names mean the same quoted and unquoted in each database.
    pub(crate) fn new(name: &str) -> Result<Self, TableError> {
        let parts: Vec<&str> = name.split('.').collect();
        if parts.len() > 2 || !parts.iter().all(|part| is_plain(part)) {
            return Err(TableError);
        }
        Ok(Self { name: name.to_owned() })
    }

    /// A statement's text: `{table}` is the table, `{index}` the index on `purge_us`, `{stuck}` the
    /// one on marked rows, and `{version}` the table that says which version the table is of.
    pub(crate) fn statement(&self, text: &str) -> String {
        let (_, table) = self.parts();
        text.replace("{table}", &self.name)
            .replace("{index}", &format!("{table}_purge"))
            .replace("{stuck}", &format!("{table}_stuck"))
            .replace("{version}", &format!("{}_version", self.name))
    }

    /// The schema, if one was named, and the table.
    pub(crate) fn parts(&self) -> (Option<&str>, &str) {
        match self.name.split_once('.') {
            Some((schema, table)) => (Some(schema), table),
            None => (None, &self.name),
        }
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

fn is_plain(part: &str) -> bool {
    let mut bytes = part.bytes();
    part.len() <= MAX_LENGTH
        && bytes.next().is_some_and(|first| first.is_ascii_lowercase() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The name of a table was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "a table is called by lower-case letters, digits and `_`, at most {MAX_LENGTH} of them, with \
     its schema and a dot before it if need be"
)]
pub struct TableError;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_mean_anything_else_are_refused() {
        for name in ["idempotent_record", "shop.record_2", "_x", &"x".repeat(55)] {
            assert!(Table::new(name).is_ok(), "{name}");
        }
        let long = "x".repeat(56);
        for name in ["", ".", "a.", ".a", "a.b.c", "2a", "A", "a b", "a;drop", "a\"", "é", &long] {
            assert_eq!(Table::new(name), Err(TableError), "{name}");
        }
    }

    #[test]
    fn statements_name_the_table_and_its_index() {
        let table = Table::new("shop.orders").expect("a plain name");
        let text = table.statement("CREATE INDEX {index} ON {table} (purge_us)");
        assert_eq!(text, "CREATE INDEX orders_purge ON shop.orders (purge_us)");
        assert_eq!(table.statement("SELECT {version}"), "SELECT shop.orders_version");
        assert_eq!(table.parts(), (Some("shop"), "orders"));
    }
}
