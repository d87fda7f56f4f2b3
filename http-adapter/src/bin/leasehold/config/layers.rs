//! One table from the three sources: the file, the environment over it, flags over both.
//!
//! Knows which environment variable belongs to which key, and nothing of what values mean.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

use toml::{Table, Value};

use super::error::ConfigError;
use super::reference;

/// What every variable of ours begins with.
const PREFIX: &str = "LEASEHOLD_";

/// Variables that are not settings, and what Kubernetes injects for a service of our name.
fn is_foreign(variable: &str) -> bool {
    matches!(variable, "LEASEHOLD_BIN" | "LEASEHOLD_LOG")
        || variable.starts_with("LEASEHOLD_SERVICE_")
        || variable.starts_with("LEASEHOLD_PORT")
}

/// What was set, and where, so far.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    table: Table,
    origins: HashMap<String, String>,
}

impl Layers {
    /// Reads the file. Its keys are checked later, its syntax now.
    pub(crate) fn read_file(path: &Path) -> Result<Self, ConfigError> {
        let named = || path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError::new(named(), format!("cannot be read: {error}")))?;
        Self::read_text(&text, &named())
    }

    /// The same for a text that is called `name`.
    pub(crate) fn read_text(text: &str, name: &str) -> Result<Self, ConfigError> {
        let table = text.parse::<Table>().map_err(|error: toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start);
            let (before, after) = text.split_at_checked(start).unwrap_or((text, ""));
            let line = before.matches('\n').count() + 1;
            let begun = before.rsplit('\n').next().unwrap_or_default();
            let rest = after.split('\n').next().unwrap_or_default();
            let key = key_of_line(&format!("{begun}{rest}")).map(|key| format!("{key}: "));
            let reason = format!("line {line}: {}{}", key.unwrap_or_default(), error.message());
            ConfigError::new(name, reason)
        })?;
        Ok(Self { table, origins: HashMap::new() })
    }

    /// Sets what the environment's variables say.
    pub(crate) fn add_environment(
        &mut self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<(), ConfigError> {
        let known = known_variables();
        for (name, value) in variables {
            let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
                continue;
            };
            if is_foreign(name) {
                continue;
            }
            let Some((path, sample)) = known.get(name) else {
                return Err(ConfigError::new(name, "unknown variable"));
            };
            let Some(text) = value.to_str() else {
                return Err(ConfigError::new(name, "not valid UTF-8"));
            };
            let value = read_like(sample, text).map_err(|reason| ConfigError::new(name, reason))?;
            self.set(path, value, name)?;
        }
        Ok(())
    }

    /// Sets what a flag says.
    pub(crate) fn add_flag(
        &mut self,
        path: &str,
        flag: &str,
        text: Option<&str>,
    ) -> Result<(), ConfigError> {
        match text {
            Some(text) => self.set(path, Value::String(text.to_owned()), flag),
            None => Ok(()),
        }
    }

    /// Sets the value at `path`: a key, or a key of one table.
    fn set(&mut self, path: &str, value: Value, origin: &str) -> Result<(), ConfigError> {
        let (table, key) = match path.split_once('.') {
            None => (&mut self.table, path),
            Some((outer, key)) => {
                let slot = self.table.entry(outer).or_insert_with(|| Value::Table(Table::new()));
                let Value::Table(table) = slot else {
                    return Err(ConfigError::new(outer, "must be a table"));
                };
                (table, key)
            }
        };
        table.insert(key.to_owned(), value);
        self.origins.insert(path.to_owned(), origin.to_owned());
        Ok(())
    }

    /// The table, to be taken apart.
    pub(crate) fn table(&self) -> Table {
        self.table.clone()
    }

    /// Says in a refusal which variable or flag its value came from.
    pub(crate) fn explain(&self, error: ConfigError) -> ConfigError {
        match self.origins.get(error.key()) {
            Some(origin) => error.with_origin(origin),
            None => error,
        }
    }
}

/// The key that a line of TOML sets or the table that it opens, if it is a plain one. It never has
/// anything of the value.
fn key_of_line(line: &str) -> Option<&str> {
    let key = match line.split_once('=') {
        Some((key, _)) => key.trim(),
        None => line.trim().strip_prefix('[')?.trim_start_matches('[').trim_end_matches(']'),
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (!key.is_empty() && key.bytes().all(plain)).then_some(key)
}

/// Reads a variable's text as the type of value that the key has by default.
fn read_like(sample: &Value, text: &str) -> Result<Value, &'static str> {
    match sample {
        Value::Boolean(_) => match text {
            "true" => Ok(Value::Boolean(true)),
            "false" => Ok(Value::Boolean(false)),
            _ => Err("must be true or false"),
        },
        Value::Integer(_) => text.parse().map(Value::Integer).map_err(|_| "must be a whole number"),
        Value::Array(_) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Ok(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()))
        }
        _ => Ok(Value::String(text.to_owned())),
    }
}

/// Each variable with its key's path and a value of the key's type.
fn known_variables() -> HashMap<String, (String, Value)> {
    let mut known = HashMap::new();
    let mut add = |path: String, sample: Value| {
        let name = format!("{PREFIX}{}", path.to_uppercase().replace(['.', '-'], "_"));
        known.insert(name, (path, sample));
    };
    for (key, value) in reference() {
        match value {
            Value::Table(inner) => {
                for (name, value) in inner {
                    add(format!("{key}.{name}"), value);
                }
            }
            value => add(key, value),
        }
    }
    known
}
