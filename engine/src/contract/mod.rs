//! What any store promises, and the words in which it is asked.
//!
//! Nothing here does I/O, reads a clock, or needs a runtime: the memory store, the shared stores
//! and the adapters all meet in these types. The laws themselves stand on [`LeaseStore`].

mod address;
mod admission;
mod error;
mod key;
mod lease;
mod store;
mod terms;

pub use address::{Address, Digester, Fingerprint};
pub use admission::{Admission, Outcome, RecordState, Verdict};
pub use error::{
    AcquireError, AttachError, CommitError, ReleaseError, RenewError, StoreError, StoreErrorKind,
};
pub use key::{Key, KeyError, MAX_NAMESPACE_LENGTH, Namespace, NamespaceError};
pub use lease::{Lease, Place, Token};
pub use store::{LeaseStore, Usage};
pub use terms::{Attempt, MAX_TTL, Terms, Ttl, TtlError};
