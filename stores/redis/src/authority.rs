//! Whether the certificate authority of a configuration can be used. The client library would take
//! an empty one for an authority that has signed nothing, and every connection would fail.

use crate::config::{ConfigError, RedisConfig};

/// Refuses an authority that could vouch for no server.
pub(crate) fn check(config: &RedisConfig) -> Result<(), ConfigError> {
    let Some(pem) = &config.root_certificate else {
        return Ok(());
    };
    let scheme = config.url.split_once(':').map_or("", |(scheme, _)| scheme);
    if scheme.split('-').next() != Some("rediss") {
        return Err(refused("is for a url of TLS, rediss://"));
    }
    read(pem)
}

#[cfg(feature = "tls")]
fn read(pem: &[u8]) -> Result<(), ConfigError> {
    use rustls::RootCertStore;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;

    let mut authorities = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|_| refused("is not PEM"))?;
        authorities.add(certificate).map_err(|_| refused("has what is no certificate"))?;
    }
    if authorities.is_empty() { Err(refused("has no certificate in PEM")) } else { Ok(()) }
}

#[cfg(not(feature = "tls"))]
fn read(_: &[u8]) -> Result<(), ConfigError> {
    Err(refused("needs the feature `tls`"))
}

const fn refused(reason: &'static str) -> ConfigError {
    ConfigError::RootCertificate { reason }
}

#[cfg(all(test, feature = "tls"))]
mod tests {
    use rcgen::generate_simple_self_signed;

    use super::*;

    #[test]
    fn an_authority_is_a_certificate_for_urls_of_tls() {
        let certified = generate_simple_self_signed(["localhost".to_owned()]).expect("a name");
        let good = certified.cert.pem();
        let validate =
            |url: &str, pem: &str| RedisConfig::new(url).root_certificate(pem).validate();
        for url in ["rediss://host", "rediss-cluster://one:1", "rediss-sentinel://one:1/leases"] {
            assert_eq!(validate(url, &good), Ok(()), "{url}");
            assert_eq!(validate(url, &format!("{good}{good}")), Ok(()), "{url}");
        }
        let key = certified.signing_key.serialize_pem();
        let broken = good.replace("-----END", "=====END");
        let no_der = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for pem in ["", "hunter2", &key, &broken, no_der, &format!("{good}{no_der}")] {
            let refusal = validate("rediss://host", pem).expect_err(pem);
            assert!(matches!(refusal, ConfigError::RootCertificate { .. }), "{refusal}");
        }
        for url in ["redis://host", "redis-cluster://one:1", "unix:///run/x.sock"] {
            let refusal = validate(url, &good).expect_err(url);
            assert!(matches!(refusal, ConfigError::RootCertificate { .. }), "{refusal}");
        }
    }
}
