//! Values that nothing may print: a secret, and a URL that may hold a password.
//!
//! Both are written as they are read, but for what is secret in them, which is written `***`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What stands for something secret.
const HIDDEN: &str = "***";

/// A secret.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) const fn reveal(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(HIDDEN)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text(deserializer).map(Self)
    }
}

/// What a store's URL is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreKind {
    Memory,
    Redis,
    Sql,
}

/// Where the store is.
#[derive(Clone, PartialEq)]
pub(crate) struct StoreUrl(String);

impl StoreUrl {
    /// The store in memory.
    pub(crate) fn memory() -> Self {
        Self("memory:".to_owned())
    }

    /// The text, password included.
    pub(crate) const fn reveal(&self) -> &str {
        self.0.as_str()
    }

    /// Which store it leads to, or what is wrong with it.
    pub(crate) fn kind(&self) -> Result<StoreKind, &'static str> {
        match self.0.split_once(':').map_or(self.0.as_str(), |(scheme, _)| scheme) {
            "memory" if self.0 == "memory:" => Ok(StoreKind::Memory),
            "memory" => Err("`memory:` takes nothing"),
            "redis" | "redis-cluster" | "redis-sentinel" | "rediss" | "rediss-cluster"
            | "rediss-sentinel" | "unix" => Ok(StoreKind::Redis),
            "postgres" | "postgresql" | "mysql" | "mariadb" | "sqlite" => Ok(StoreKind::Sql),
            _ => Err("unknown kind of store, expected memory:, redis://.., postgres://.., \
                      mysql://.. or sqlite:path"),
        }
    }

    /// The text with `***` for every password.
    fn hidden(&self) -> String {
        let Some((scheme, rest)) = self.0.split_once("://") else {
            return self.0.clone();
        };
        // A password may have a `?` in it by mistake. A socket's path has no user before it.
        let users = if scheme == "unix" { 0 } else { rest.rfind('@').unwrap_or(0) };
        let query = rest[users..].find('?').map_or(rest.len(), |at| users + at);
        let (rest, query) = rest.split_at(query);
        // The last `@`, since one that is in a password hides nothing else.
        let rest = match rest.rsplit_once('@') {
            Some((user, hosts)) => match user.split_once(':') {
                Some((name, _)) => format!("{name}:{HIDDEN}@{hosts}"),
                None => format!("{user}@{hosts}"),
            },
            None => rest.to_owned(),
        };
        let query = query.split_inclusive(['?', '&']).map(|part| match part.split_once('=') {
            Some((name, value)) if is_secret(name) => {
                let mark = if value.ends_with('&') { "&" } else { "" };
                format!("{name}={HIDDEN}{mark}")
            }
            _ => part.to_owned(),
        });
        format!("{scheme}://{rest}{}", query.collect::<String>())
    }
}

/// Whether a parameter of a URL may hold something secret. An encoded name may be any.
fn is_secret(name: &str) -> bool {
    matches!(name, "pass" | "password" | "sslkey" | "ssl-key") || name.contains('%')
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hidden())
    }
}

impl Serialize for StoreUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.hidden())
    }
}

impl<'de> Deserialize<'de> for StoreUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text(deserializer).map(Self)
    }
}

/// A string; a refusal does not repeat what is there instead.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match toml::Value::deserialize(deserializer)? {
        toml::Value::String(text) => Ok(text),
        _ => Err(de::Error::custom("must be a string")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_hidden_wherever_it_stands() {
        for (url, hidden) in [
            ("memory:", "memory:"),
            ("redis://host:6379/0", "redis://host:6379/0"),
            ("redis://user@host", "redis://user@host"),
            ("redis://user:pw@host/1", "redis://user:***@host/1"),
            ("rediss://:p@w:x@host/1?protocol=resp3", "rediss://:***@host/1?protocol=resp3"),
            ("redis://:p/w@host", "redis://:***@host"),
            ("redis-cluster://u:pw@one:1,two:2", "redis-cluster://u:***@one:1,two:2"),
            ("unix:///run/x.sock?db=1&pass=pw&user=u", "unix:///run/x.sock?db=1&pass=***&user=u"),
            ("unix:///run/x.sock?pass=pw", "unix:///run/x.sock?pass=***"),
            ("unix:///run/x.sock?pass=p@w&db=1", "unix:///run/x.sock?pass=***&db=1"),
            (
                "postgres://u:pw@h:5432/d?sslmode=require",
                "postgres://u:***@h:5432/d?sslmode=require",
            ),
            ("postgresql://u:p?w@h/d?user=x", "postgresql://u:***@h/d?user=x"),
            (
                "postgres://h/d?user=u&password=pw&p%61ssword=pw",
                "postgres://h/d?user=u&password=***&p%61ssword=***",
            ),
            ("mysql://u:p#w@h/d?ssl-key=k", "mysql://u:***@h/d?ssl-key=***"),
            ("sqlite:/var/lib/keys.db?mode=rwc", "sqlite:/var/lib/keys.db?mode=rwc"),
        ] {
            let url = StoreUrl(url.to_owned());
            assert_eq!((url.hidden(), format!("{url:?}")), (hidden.to_owned(), hidden.to_owned()));
        }
        assert_eq!(format!("{:?}", Secret("pw".to_owned())), "***");
    }

    #[test]
    fn a_scheme_says_which_store_it_is() {
        let kind = |url: &str| StoreUrl(url.to_owned()).kind();
        assert_eq!(kind("memory:"), Ok(StoreKind::Memory));
        for url in ["redis://h", "rediss://h", "redis-cluster://h", "rediss-sentinel://h/s"] {
            assert_eq!(kind(url), Ok(StoreKind::Redis), "{url}");
        }
        assert_eq!(kind("unix:///run/x.sock"), Ok(StoreKind::Redis));
        for url in ["postgres://h", "postgresql://h", "mysql://h/d", "mariadb://h/d", "sqlite:x"] {
            assert_eq!(kind(url), Ok(StoreKind::Sql), "{url}");
        }
        for url in ["", "memory", "memory:x", "etcd://h", "REDIS://h"] {
            assert!(kind(url).is_err(), "{url}");
        }
    }
}
