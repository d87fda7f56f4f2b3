//! The configuration: read from a file, the environment and flags, checked, with every default.
//!
//! Nothing here starts anything. Every refusal is one line that names its key.

mod authority;
mod choices;
mod duration;
mod effective;
mod error;
mod keys;
mod layers;
mod policy;
mod secret;
mod size;
mod sql;
#[cfg(test)]
mod tests;
mod validate;
mod verdict;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use toml::{Table, Value};

pub(crate) use error::ConfigError;
pub(crate) use keys::{PolicyKeys, ServerKeys, StoreKeys};
use layers::Layers;
pub(crate) use policy::redis_refusal;
use secret::Secret;
pub(crate) use sql::sql_refusal;
pub(crate) use validate::upstream;

/// The table of the store's and the policies' keys.
const IDEMPOTENCY: &str = "idempotency";

/// The key that says which store it is.
pub(crate) const STORE: &str = "idempotency.store";

/// The key that names an SQL store's table.
pub(crate) const TABLE: &str = "idempotency.table";

/// The key of the authority's file.
const ROOT_CERTIFICATE: &str = "idempotency.root-certificate";

/// The array of tables with one policy for each pattern.
const ROUTE: &str = "route";

/// What the command line says. Flags win over the environment, which wins over the file.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Flags {
    /// File of settings, TOML; without it the defaults hold
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Address to listen on; port 0 picks a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Whom to pass requests to [default: http://127.0.0.1:3000]
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<String>,
    /// Store of the keys [default: memory:]
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// Address of /healthz, /readyz and /metrics; without it they are off
    #[arg(long, value_name = "ADDR")]
    pub(crate) admin: Option<String>,
    /// Table of an SQL store; `leasehold migrate` alone has a flag for it.
    #[arg(skip)]
    pub(crate) table: Option<String>,
}

/// A checked configuration.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    /// Keys outside of any table.
    pub(crate) server: ServerKeys,
    /// The store's part of `[idempotency]`.
    pub(crate) store: StoreKeys,
    /// The policy where no route matches.
    pub(crate) policy: PolicyKeys,
    /// The routes, in their order.
    pub(crate) routes: Vec<Route>,
}

/// One `[[route]]`: a pattern and its whole policy, what it inherits included.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Route {
    pub(crate) path: String,
    pub(crate) policy: PolicyKeys,
}

impl Config {
    /// Joins the three sources and checks the result.
    pub(crate) fn load(
        flags: &Flags,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ConfigError> {
        let mut layers = match &flags.config {
            Some(path) => Layers::read_file(path)?,
            None => Layers::default(),
        };
        layers.add_environment(environment)?;
        layers.add_flag("listen", "--listen", flags.listen.as_deref())?;
        layers.add_flag("upstream", "--upstream", flags.upstream.as_deref())?;
        layers.add_flag("admin", "--admin", flags.admin.as_deref())?;
        layers.add_flag(STORE, "--store", flags.store.as_deref())?;
        layers.add_flag(TABLE, "--table", flags.table.as_deref())?;
        Self::from_layers(&layers)
    }

    fn from_layers(layers: &Layers) -> Result<Self, ConfigError> {
        let config = Self::from_table(layers.table()).map_err(|error| layers.explain(error))?;
        config.validate().map_err(|error| layers.explain(error))?;
        Ok(config)
    }

    /// Takes the table apart into its typed keys.
    fn from_table(mut table: Table) -> Result<Self, ConfigError> {
        let mut policy = match table.remove(IDEMPOTENCY) {
            None => Table::new(),
            Some(Value::Table(table)) => table,
            Some(_) => return Err(ConfigError::new(IDEMPOTENCY, "must be a table")),
        };
        let routes = match table.remove(ROUTE) {
            None => Vec::new(),
            Some(Value::Array(routes)) => routes,
            Some(_) => return Err(ConfigError::new(ROUTE, "must be an array of tables")),
        };
        let server = typed(table, "")?;
        let store = keys::STORE_KEYS.iter().filter_map(|key| policy.remove_entry(*key)).collect();
        let store = typed(store, IDEMPOTENCY)?;
        let default = typed(policy.clone(), IDEMPOTENCY)?;
        let routes = routes.into_iter().enumerate();
        let routes =
            routes.map(|(index, route)| Route::new(&format!("{ROUTE}[{index}]"), route, &policy));
        Ok(Self { server, store, policy: default, routes: routes.collect::<Result<_, _>>()? })
    }

    /// How long a lease outlives its deadline for its holder.
    pub(crate) fn late_grace(&self) -> Duration {
        self.store.late_grace.unwrap_or(self.policy.lease_ttl).0
    }
}

impl Route {
    /// Lays the route's own keys over what it inherits.
    fn new(name: &str, route: Value, inherited: &Table) -> Result<Self, ConfigError> {
        let Value::Table(mut own) = route else {
            return Err(ConfigError::new(name, "must be a table"));
        };
        let path = match own.remove("path") {
            Some(Value::String(path)) => path,
            Some(_) => return Err(ConfigError::new(format!("{name}.path"), "must be a string")),
            None => return Err(ConfigError::new(format!("{name}.path"), "is missing")),
        };
        if is_negative(own.get("ttl")) {
            own.remove("ttl");
        }
        let mut policy = inherited.clone();
        policy.extend(own);
        Ok(Self { path, policy: typed(policy, name)? })
    }
}

/// Whether a route's ttl is a negative duration, which means the global one (rule 1.3).
fn is_negative(ttl: Option<&Value>) -> bool {
    let text = ttl.and_then(Value::as_str).and_then(|text| text.strip_prefix('-'));
    text.and_then(|text| duration::Span::parse(text).ok()).is_some_and(|span| !span.0.is_zero())
}

/// Reads a table as `T`; a refusal names the key below `prefix`.
fn typed<T: DeserializeOwned>(table: Table, prefix: &str) -> Result<T, ConfigError> {
    serde_path_to_error::deserialize(table).map_err(|error| {
        let path = error.path().to_string();
        let key = match (prefix, path.as_str()) {
            ("", path) => path.to_owned(),
            (prefix, ".") => prefix.to_owned(),
            (prefix, path) => format!("{prefix}.{path}"),
        };
        ConfigError::new(key, error.inner().message())
    })
}

/// Every key with a value of its type, for what has to know them all.
fn reference() -> Table {
    let config = Config {
        server: ServerKeys { admin: Some(([127, 0, 0, 1], 0).into()), ..ServerKeys::default() },
        store: StoreKeys {
            root_certificate: Some(PathBuf::new()),
            auto_migrate: Some(false),
            digest_secret: Some(Secret::default()),
            ..StoreKeys::default()
        },
        policy: PolicyKeys::default(),
        routes: Vec::new(),
    };
    config.effective()
}
