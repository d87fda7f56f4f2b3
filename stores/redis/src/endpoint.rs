//! Taking a URL apart: one server, some nodes of a cluster, or the sentinels of a service.
//!
//! A URL may hold a password, so no error of this module repeats any part of it.

use redis::{ConnectionInfo, IntoConnectionInfo as _, RedisError};

use crate::config::ConfigError;

/// Where to connect to.
pub(crate) enum Endpoint {
    /// One server.
    One(ConnectionInfo),
    /// Some nodes of a cluster, which know the others.
    Cluster(Vec<ConnectionInfo>),
    /// Sentinels, which know the master.
    Sentinel {
        /// The sentinels, without the user of the servers.
        sentinels: Vec<ConnectionInfo>,
        /// The name of the service.
        service: String,
        /// User, password, database and TLS of the servers, at an address that does not count.
        server: ConnectionInfo,
    },
}

impl Endpoint {
    /// Takes a URL apart.
    pub(crate) fn parse(url: &str) -> Result<Self, ConfigError> {
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(wrong("it has no scheme"));
        };
        let Some((plain, kind)) = scheme.split_once('-') else {
            return Ok(Self::One(info(url)?));
        };
        let rest = Rest::of(rest);
        match kind {
            "cluster" => {
                let nodes = rest.hosts.split(',');
                let nodes = nodes.map(|host| {
                    info(&format!("{plain}://{}{host}{}{}", rest.user, rest.path, rest.query))
                });
                Ok(Self::Cluster(nodes.collect::<Result<_, _>>()?))
            }
            "sentinel" => {
                let path = rest.path.trim_start_matches('/');
                let (service, database) = path.split_once('/').unwrap_or((path, ""));
                if service.is_empty() {
                    return Err(wrong("it names no service"));
                }
                let sentinels = rest.hosts.split(',');
                let sentinels = sentinels.map(|host| info(&format!("{plain}://{host}")));
                let server = format!("{plain}://{}server/{database}{}", rest.user, rest.query);
                Ok(Self::Sentinel {
                    sentinels: sentinels.collect::<Result<_, _>>()?,
                    service: service.to_owned(),
                    server: info(&server)?,
                })
            }
            _ => Err(wrong("its scheme is not known")),
        }
    }
}

/// What follows a scheme, for URLs of several hosts, which no parser of URLs takes.
struct Rest<'a> {
    /// User and password with their `@`, or nothing.
    user: &'a str,
    hosts: &'a str,
    /// With its slash, or nothing.
    path: &'a str,
    /// Query and fragment with their marks, or nothing.
    query: &'a str,
}

impl<'a> Rest<'a> {
    fn of(rest: &'a str) -> Self {
        let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (user, hosts) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
        let (path, query) = tail.split_at(tail.find(['?', '#']).unwrap_or(tail.len()));
        Self { user, hosts, path, query }
    }
}

fn info(url: &str) -> Result<ConnectionInfo, ConfigError> {
    url.into_connection_info().map_err(|error| refused(&error))
}

/// The library's words on a URL or a setting, which repeat nothing of it.
pub(crate) fn refused(error: &RedisError) -> ConfigError {
    wrong(&error.to_string())
}

fn wrong(reason: &str) -> ConfigError {
    ConfigError::Url { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(infos: &[ConnectionInfo]) -> Vec<String> {
        infos.iter().map(|info| info.addr().to_string()).collect()
    }

    #[test]
    fn one_server_is_taken_as_the_library_takes_it() {
        match Endpoint::parse("redis://user:p%40ss@host:7000/3") {
            Ok(Endpoint::One(info)) => {
                assert_eq!(info.addr().to_string(), "host:7000");
                assert_eq!(info.redis_settings().username(), Some("user"));
                assert_eq!(info.redis_settings().password(), Some("p@ss"));
                assert_eq!(info.redis_settings().db(), 3);
            }
            _ => panic!("one server"),
        }
    }

    #[test]
    fn nodes_of_a_cluster_share_user_and_password() {
        match Endpoint::parse("redis-cluster://user:secret@one:1,two:2") {
            Ok(Endpoint::Cluster(nodes)) => {
                assert_eq!(addresses(&nodes), ["one:1", "two:2"]);
                assert!(nodes.iter().all(|n| n.redis_settings().password() == Some("secret")));
            }
            _ => panic!("a cluster"),
        }
    }

    #[test]
    fn sentinels_are_not_told_the_password_of_the_servers() {
        match Endpoint::parse("redis-sentinel://:secret@one:26379,two:26379/service/2") {
            Ok(Endpoint::Sentinel { sentinels, service, server }) => {
                assert_eq!(addresses(&sentinels), ["one:26379", "two:26379"]);
                assert!(sentinels.iter().all(|one| one.redis_settings().password().is_none()));
                assert_eq!(service, "service");
                assert_eq!(server.redis_settings().password(), Some("secret"));
                assert_eq!(server.redis_settings().db(), 2);
            }
            _ => panic!("sentinels"),
        }
    }

    #[test]
    fn no_refusal_repeats_the_url() {
        for url in [
            "hunter2",
            "redis://user:hunter2@host:hunter2/x",
            "redis://user:hunter2@host/hunter2",
            "http://user:hunter2@host",
            "redis-raft://:hunter2@host",
            "redis-cluster://:hunter2@",
            "redis-sentinel://:hunter2@host",
            "redis-sentinel://:hunter2@host/service/hunter2",
        ] {
            match Endpoint::parse(url) {
                Err(error) => assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}"),
                Ok(_) => panic!("{url} is taken"),
            }
        }
    }
}
