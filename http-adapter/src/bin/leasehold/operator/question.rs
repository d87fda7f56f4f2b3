//! From flags, settings and standard input to the address of a record and who keeps it.
//!
//! The address is that of the request that the client has sent, made again and read by the same
//! code. No error here repeats anything of the standard input.

use std::ffi::OsString;
use std::io::{BufRead, Read};
use std::net::SocketAddr;

use http::{HeaderValue, Method, Request, Uri};
use leasehold::Address;
use leasehold_http::{Policy, RequestHead};

use super::{OperatorError, RecordFlags};
use crate::config::{Config, ConfigError, Flags};
use crate::store::Shared;

/// Most bytes of standard input: more than a request's head may have.
const INPUT_BYTES_MAX: u64 = 64 << 10;

/// Who keeps the record.
#[derive(Debug)]
pub(super) enum Keeper {
    /// The gateway at this admin address, which forgets what its near cache remembers too.
    Gateway(SocketAddr),
    /// A shared store, whether or not a gateway runs.
    Store(Shared),
}

/// What is asked of whom.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) keeper: Keeper,
    pub(super) address: Address,
}

/// Reads everything, and checks it.
pub(super) fn of(
    flags: &RecordFlags,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    input: impl BufRead,
) -> Result<Question, OperatorError> {
    let settings = Flags {
        config: flags.config.clone(),
        admin: flags.admin.clone(),
        store: flags.store.clone(),
        ..Flags::default()
    };
    let config = Config::load(&settings, environment)?;
    let keeper = match Shared::of(&config)? {
        Some(shared) if flags.store.is_some() || config.server.admin.is_none() => {
            Keeper::Store(shared)
        }
        _ => Keeper::Gateway(admin(&config)?),
    };
    let routes = config.routes()?;
    let (method, uri) = (method(&flags.method)?, uri(&flags.path)?);
    let policy = routes.policy(uri.path());
    let mut lines = lines(input)?.into_iter();
    let key = lines.next().unwrap_or_default();
    let principals = if flags.principal.is_empty() {
        lines.collect()
    } else {
        flags.principal.iter().map(|value| value.clone().into_bytes()).collect()
    };
    let request = request(method, uri, policy, &key, principals)?;
    let address = policy.address(RequestHead::of(&request), &config.digester());
    match address {
        Ok(Some(address)) => Ok(Question { keeper, address }),
        Ok(None) => {
            let reason = "such requests are not protected, so there are no records of them";
            Err(ConfigError::new("--method, --path", reason).into())
        }
        Err(refusal) => Err(ConfigError::new("standard input", refusal).into()),
    }
}

fn admin(config: &Config) -> Result<SocketAddr, ConfigError> {
    let refuse = |reason| Err(ConfigError::new("admin", reason));
    match config.server.admin {
        None => refuse("is not set; --admin names the gateway's admin address"),
        Some(address) if !address.ip().to_canonical().is_loopback() => {
            refuse("must be a loopback address: records are shown on this machine alone")
        }
        Some(address) if address.port() == 0 => {
            refuse("has port 0; --admin names the address that the gateway has printed")
        }
        Some(address) => Ok(address),
    }
}

fn method(name: &str) -> Result<Method, ConfigError> {
    let method = Method::from_bytes(name.as_bytes());
    method.map_err(|_| ConfigError::new("--method", format!("{name:?} is not a method")))
}

fn uri(path: &str) -> Result<Uri, ConfigError> {
    let uri = path.parse::<Uri>().ok().filter(|_| path.starts_with('/'));
    uri.ok_or_else(|| ConfigError::new("--path", "is not a path"))
}

/// The lines of standard input, without the white space that a parser of HTTP takes away too.
fn lines(input: impl BufRead) -> Result<Vec<Vec<u8>>, OperatorError> {
    let mut text = Vec::new();
    input.take(INPUT_BYTES_MAX + 1).read_to_end(&mut text)?;
    if text.len() as u64 > INPUT_BYTES_MAX {
        return Err(ConfigError::new("standard input", "is too long").into());
    }
    let text = text.strip_suffix(b"\n").unwrap_or(&text);
    let trimmed = |line: &[u8]| line.trim_ascii().to_vec();
    Ok(text.split(|byte| *byte == b'\n').map(trimmed).collect())
}

/// The request that has the record, as far as its address goes.
fn request(
    method: Method,
    uri: Uri,
    policy: &Policy,
    key: &[u8],
    principals: Vec<Vec<u8>>,
) -> Result<Request<()>, ConfigError> {
    let names = &policy.principal_headers;
    if principals.len() != names.len() {
        let reason = format!("the path's policy has {}, got {}", names.len(), principals.len());
        return Err(ConfigError::new("principal-headers", reason));
    }
    let value = |what: &str, bytes: &[u8]| {
        HeaderValue::from_bytes(bytes)
            .map_err(|_| ConfigError::new(what, "is not the value of a header"))
    };
    let mut request = Request::new(());
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    headers.append(&policy.header_name, value("standard input", key)?);
    for (name, bytes) in names.iter().zip(principals) {
        headers.append(name, value(name.as_str(), &bytes)?);
    }
    Ok(request)
}

#[cfg(test)]
mod tests;
