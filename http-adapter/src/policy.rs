//! Which requests are leased, and how: the settings of one route.
//!
//! Plain data. Whoever reads it from a configuration checks it there: nothing here parses text.

use std::time::Duration;

use http::{HeaderName, Method};
use leasehold::{Key, Namespace, Ttl};

/// How one route's writes are protected.
///
/// Setters take what they are given. Every field may also be set directly on a default:
///
/// ```
/// use std::time::Duration;
/// use leasehold::Ttl;
/// use leasehold_http::Policy;
///
/// let policy = Policy::default().ttl(Ttl::new(Duration::from_secs(3600))?).required(false);
/// assert!(policy.enabled);
/// # Ok::<(), leasehold::TtlError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Policy {
    /// Scope of the keys: the same key in two namespaces is two keys. Also a metric label. Default
    /// `default`.
    pub namespace: Namespace,
    /// Whether requests are protected at all. Default true.
    pub enabled: bool,
    /// The header that carries the key. Default `Idempotency-Key`.
    pub header_name: HeaderName,
    /// Whether a request without that header is refused; if not, it passes unprotected. Default
    /// true.
    pub required: bool,
    /// Longest key, in bytes, after unquoting. Zero refuses every key. Default 128.
    pub max_key_length: usize,
    /// The methods that are protected; the others pass. Default POST, PUT, PATCH, DELETE.
    pub allowed_methods: Vec<Method>,
    /// How long the key of a success is kept, counted from the commit. Default 24 hours.
    pub ttl: Ttl,
    /// How long a lease lasts unless it is renewed. A process that dies frees its keys after this
    /// time. Default 30 s.
    pub lease_ttl: Ttl,
    /// Whether the lease of a running handler is renewed, at each third of `lease_ttl`. If not, a
    /// handler that runs longer loses its key. Default true.
    pub renew: bool,
    /// Whether the answer to a duplicate tells client libraries not to try again
    /// (`Stripe-Should-Retry`, `X-Should-Retry`): many retry a bare 409. Default true.
    pub retry_hints: bool,
    /// What happens to the key when nobody knows whether the write has happened. Default
    /// [`UnknownOutcome::Hold`].
    pub on_unknown_outcome: UnknownOutcome,
    /// How long the verdict `hold` keeps a key in flight, counted from the verdict. It prevents a
    /// second run only if it is longer than the longest run. Default 30 s.
    pub hold_ttl: Ttl,
    /// A call of the store's that takes longer counts as unanswered. Zero allows no waiting at all.
    /// Default 1 s.
    pub store_timeout: Duration,
    /// How the header's value is read. Default [`KeySyntax::Lenient`].
    pub key_syntax: KeySyntax,
}

/// How the value of the key's header is read (rule 2.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeySyntax {
    /// A value that begins with a double quote is a string of RFC 8941 and is unquoted, any other
    /// is taken as it is: `"abc"` and `abc` are one key.
    #[default]
    Lenient,
    /// Every value is taken as it is; quotes are part of the key.
    Bare,
    /// Only strings of RFC 8941 are accepted.
    Structured,
}

/// What happens to a key when nobody knows whether its write has happened (rule 4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnknownOutcome {
    /// The key stays in flight for the hold's time: the work may still be going on.
    #[default]
    Hold,
    /// The key is free at once. **A retry may run the write twice.**
    Release,
}

/// A default in seconds; checked when the crate is compiled.
const fn seconds(seconds: u64) -> Ttl {
    match Ttl::new(Duration::from_secs(seconds)) {
        Ok(ttl) => ttl,
        Err(_) => panic!("defaults are valid"),
    }
}

const DEFAULT_TTL: Ttl = seconds(24 * 60 * 60);
const DEFAULT_LEASE_TTL: Ttl = seconds(30);

impl Default for Policy {
    fn default() -> Self {
        Self {
            namespace: Namespace::default(),
            enabled: true,
            header_name: HeaderName::from_static("idempotency-key"),
            required: true,
            max_key_length: Key::DEFAULT_MAX_LENGTH,
            allowed_methods: vec![Method::POST, Method::PUT, Method::PATCH, Method::DELETE],
            ttl: DEFAULT_TTL,
            lease_ttl: DEFAULT_LEASE_TTL,
            renew: true,
            retry_hints: true,
            on_unknown_outcome: UnknownOutcome::default(),
            hold_ttl: DEFAULT_LEASE_TTL,
            store_timeout: Duration::from_secs(1),
            key_syntax: KeySyntax::default(),
        }
    }
}

impl Policy {
    /// Whether requests of a method are protected.
    #[must_use]
    pub fn protects(&self, method: &Method) -> bool {
        self.enabled && self.allowed_methods.contains(method)
    }

    /// Whether everything that `other` protects is protected as well here.
    pub(crate) fn is_as_strict_as(&self, other: &Self) -> bool {
        if !other.enabled {
            return true;
        }
        let releases = |policy: &Self| policy.on_unknown_outcome == UnknownOutcome::Release;
        other.allowed_methods.iter().all(|method| self.protects(method))
            && self.header_name == other.header_name
            && self.required >= other.required
            && self.ttl >= other.ttl
            && self.hold_ttl >= other.hold_ttl
            && self.lease_ttl >= other.lease_ttl
            && self.renew >= other.renew
            && releases(self) <= releases(other)
    }

    /// Sets [`Policy::namespace`].
    #[must_use]
    pub fn namespace(mut self, namespace: Namespace) -> Self {
        self.namespace = namespace;
        self
    }

    /// Sets [`Policy::enabled`].
    #[must_use]
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// Sets [`Policy::header_name`].
    #[must_use]
    pub fn header_name(mut self, header_name: HeaderName) -> Self {
        self.header_name = header_name;
        self
    }

    /// Sets [`Policy::required`].
    #[must_use]
    pub fn required(mut self, required: bool) -> Self {
        self.required = required;
        self
    }

    /// Sets [`Policy::max_key_length`].
    #[must_use]
    pub fn max_key_length(mut self, max_key_length: usize) -> Self {
        self.max_key_length = max_key_length;
        self
    }

    /// Sets [`Policy::allowed_methods`].
    #[must_use]
    pub fn allowed_methods(mut self, allowed_methods: impl IntoIterator<Item = Method>) -> Self {
        self.allowed_methods = allowed_methods.into_iter().collect();
        self
    }

    /// Sets [`Policy::ttl`].
    #[must_use]
    pub fn ttl(mut self, ttl: Ttl) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sets [`Policy::lease_ttl`].
    #[must_use]
    pub fn lease_ttl(mut self, lease_ttl: Ttl) -> Self {
        self.lease_ttl = lease_ttl;
        self
    }

    /// Sets [`Policy::renew`].
    #[must_use]
    pub fn renew(mut self, renew: bool) -> Self {
        self.renew = renew;
        self
    }

    /// Sets [`Policy::retry_hints`].
    #[must_use]
    pub fn retry_hints(mut self, retry_hints: bool) -> Self {
        self.retry_hints = retry_hints;
        self
    }

    /// Sets [`Policy::on_unknown_outcome`].
    #[must_use]
    pub fn on_unknown_outcome(mut self, on_unknown_outcome: UnknownOutcome) -> Self {
        self.on_unknown_outcome = on_unknown_outcome;
        self
    }

    /// Sets [`Policy::hold_ttl`].
    #[must_use]
    pub fn hold_ttl(mut self, hold_ttl: Ttl) -> Self {
        self.hold_ttl = hold_ttl;
        self
    }

    /// Sets [`Policy::store_timeout`].
    #[must_use]
    pub fn store_timeout(mut self, store_timeout: Duration) -> Self {
        self.store_timeout = store_timeout;
        self
    }

    /// Sets [`Policy::key_syntax`].
    #[must_use]
    pub fn key_syntax(mut self, key_syntax: KeySyntax) -> Self {
        self.key_syntax = key_syntax;
        self
    }
}
