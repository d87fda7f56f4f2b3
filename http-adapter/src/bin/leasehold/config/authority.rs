//! The file of the certificate authority that a Redis store trusts. Checking a configuration never
//! reads it: who opens the store does, and `leasehold check`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use leasehold_redis::RedisConfig;

use super::error::ConfigError;
use super::policy::redis_refusal;
use super::{Config, ROOT_CERTIFICATE};

/// Most bytes of the file: far above what all authorities of a system take. Arbitrary.
const BYTES_MAX: u64 = 1 << 20;

impl Config {
    /// The settings of a Redis store as it is opened, if that is the store: with the certificate
    /// that they name.
    pub(crate) fn redis_to_open(&self) -> Result<Option<RedisConfig>, ConfigError> {
        let (redis, path) = match (self.redis(), &self.store.root_certificate) {
            (Some(redis), Some(path)) => (redis, path),
            (redis, _) => return Ok(redis),
        };
        let pem = read(path).map_err(|error| {
            let reason = format!("cannot read {}: {error}", path.display());
            ConfigError::new(ROOT_CERTIFICATE, reason)
        })?;
        let redis = redis.root_certificate(pem);
        redis.validate().map_err(|error| redis_refusal(&error))?;
        Ok(Some(redis))
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok(bytes)
}
