//! Which requests are leased, and how: the settings of one route.
//!
//! Plain data. Whoever reads it from a configuration checks it there: nothing here parses text.

use std::time::Duration;

use http::{HeaderName, Method};
use leasehold::{Key, Namespace, Ttl};

mod choices;
mod verdicts;

pub use choices::{
    Duplicate, ErrorFormat, FingerprintMode, KeySyntax, OnDisconnect, UnknownOutcome,
};
pub use verdicts::{Verdicts, VerdictsError};

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
    /// What responses mean by their status, if nothing else says so. Default: 2xx and 3xx commit,
    /// all others release.
    pub verdicts: Verdicts,
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
    /// What a duplicate of a success gets. Default [`Duplicate::Reject`].
    pub duplicate: Duplicate,
    /// What of a request is compared with the first one's. Default [`FingerprintMode::Off`].
    pub fingerprint: FingerprintMode,
    /// Largest request body, in bytes, that is held back for a fingerprint; a larger one is
    /// refused. Default 1 MiB.
    pub max_fingerprint_body: usize,
    /// Largest response body, in bytes, that is kept for a replay; a larger one passes and its
    /// duplicate is refused. Default 64 KiB.
    pub max_replay_body: usize,
    /// The header that marks a replay, with the value `true`. Default `Idempotent-Replayed`.
    pub replayed_header: HeaderName,
    /// Headers of a response that are not replayed, beside those that never are. Default none.
    pub replay_drop_headers: Vec<HeaderName>,
    /// The form of the layer's own error bodies. Default [`ErrorFormat::Problem`].
    pub error_format: ErrorFormat,
    /// What a client's going away means for its handler. Default [`OnDisconnect::Finish`].
    pub on_disconnect: OnDisconnect,
    /// The headers whose values say whose key it is; a request without one of them is refused.
    /// Default none: all clients share their keys.
    pub principal_headers: Vec<HeaderName>,
    /// How long a duplicate of a running request waits for its end. Default zero: it is refused at
    /// once.
    pub wait: Duration,
    /// Whether a request runs unprotected while the store does not answer. **Then it may run
    /// twice.** Default false.
    pub fail_open: bool,
    /// Whether calls and responses whose content type is `application/grpc` are taken for gRPC:
    /// refusals are then gRPC's, and a response means what its code says, not its status. Default
    /// true.
    pub grpc: bool,
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
            verdicts: Verdicts::default(),
            renew: true,
            retry_hints: true,
            on_unknown_outcome: UnknownOutcome::default(),
            hold_ttl: DEFAULT_LEASE_TTL,
            store_timeout: Duration::from_secs(1),
            key_syntax: KeySyntax::default(),
            duplicate: Duplicate::default(),
            fingerprint: FingerprintMode::default(),
            max_fingerprint_body: 1 << 20,
            max_replay_body: 64 << 10,
            replayed_header: HeaderName::from_static("idempotent-replayed"),
            replay_drop_headers: Vec::new(),
            error_format: ErrorFormat::default(),
            on_disconnect: OnDisconnect::default(),
            principal_headers: Vec::new(),
            wait: Duration::ZERO,
            fail_open: false,
            grpc: true,
        }
    }
}

/// Setters for fields of their own type.
macro_rules! setters {
    ($($field:ident: $type:ty,)+) => {$(
        #[doc = concat!("Sets [`Policy::", stringify!($field), "`].")]
        #[must_use]
        pub fn $field(mut self, $field: $type) -> Self {
            self.$field = $field;
            self
        }
    )+};
}

/// Setters for lists, from anything that gives their items.
macro_rules! list_setters {
    ($($field:ident: $item:ty,)+) => {$(
        #[doc = concat!("Sets [`Policy::", stringify!($field), "`].")]
        #[must_use]
        pub fn $field(mut self, $field: impl IntoIterator<Item = $item>) -> Self {
            self.$field = $field.into_iter().collect();
            self
        }
    )+};
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
        let cancels = |policy: &Self| policy.on_disconnect == OnDisconnect::Cancel;
        let releases = |policy: &Self| policy.on_unknown_outcome == UnknownOutcome::Release;
        other.allowed_methods.iter().all(|method| self.protects(method))
            && self.header_name == other.header_name
            && self.required >= other.required
            && self.ttl >= other.ttl
            && self.hold_ttl >= other.hold_ttl
            && self.lease_ttl >= other.lease_ttl
            && self.renew >= other.renew
            && self.verdicts.are_as_strict_as(&other.verdicts)
            && releases(self) <= releases(other)
            && cancels(self) <= cancels(other)
            && self.fail_open <= other.fail_open
            && self.principal_headers == other.principal_headers
    }

    setters! {
        namespace: Namespace,
        enabled: bool,
        header_name: HeaderName,
        required: bool,
        key_syntax: KeySyntax,
        max_key_length: usize,
        ttl: Ttl,
        lease_ttl: Ttl,
        verdicts: Verdicts,
        renew: bool,
        duplicate: Duplicate,
        fingerprint: FingerprintMode,
        max_fingerprint_body: usize,
        max_replay_body: usize,
        replayed_header: HeaderName,
        retry_hints: bool,
        error_format: ErrorFormat,
        on_disconnect: OnDisconnect,
        on_unknown_outcome: UnknownOutcome,
        hold_ttl: Ttl,
        wait: Duration,
        fail_open: bool,
        grpc: bool,
        store_timeout: Duration,
    }

    list_setters! {
        allowed_methods: Method,
        replay_drop_headers: HeaderName,
        principal_headers: HeaderName,
    }
}
