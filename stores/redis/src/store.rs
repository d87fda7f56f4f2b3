//! The verbs: each one script, whose answer is read here.
//!
//! Nothing here decides anything about a record, and no clock of this process does: the scripts
//! do, by the server's. What is read of this process's clock only tells holders how long they may
//! count on.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use leasehold::{
    AcquireError, Address, Admission, AttachError, Attempt, CommitError, Lease, LeaseStore,
    Outcome, Place, RecordState, ReleaseError, RenewError, StoreError, Terms, Token, Ttl,
};

use crate::check;
use crate::config::{ConnectError, RedisConfig};
use crate::dial::Dialer;
use crate::failure::Failure;
use crate::replicas::Replicas;
use crate::reply::{Reply, Word};
use crate::script::Argument::{Bytes as Raw, Number};
use crate::script::{Argument, Script, Scripts};
use crate::session::{Call, Session};

/// Leases kept by a Redis or Valkey server, or by a cluster of them.
///
/// Instances that share a server and a key prefix share all leases. A lease of another server is
/// answered as if it were gone or taken over.
///
/// # Cancel safety
///
/// A verb's future may be dropped at any point; what it has sent may still have its effect, and
/// the connection is as good as before.
pub struct RedisStore {
    scripts: Scripts,
    key_prefix: Vec<u8>,
    /// In microseconds.
    late_grace: u64,
    store_timeout: Duration,
    session: Session,
    replicas: Option<Replicas>,
    closed: OnceLock<()>,
}

impl RedisStore {
    /// Connects, and makes sure that the server evicts nothing.
    ///
    /// # Errors
    ///
    /// [`ConnectError`], which says what to do. An unavailable server may be tried again.
    pub async fn connect(config: RedisConfig) -> Result<Self, ConnectError> {
        config.check()?;
        let dialer = Arc::new(Dialer::new(&config)?);
        let session = Session::new(Arc::clone(&dialer));
        let until = tokio::time::Instant::now() + config.store_timeout;
        check::check(&session, config.allow_eviction, until).await?;
        let replicas = (config.min_replicas > 0)
            .then(|| Replicas::new(&dialer, config.min_replicas, config.replica_connections));
        Ok(Self {
            scripts: Scripts::new(),
            key_prefix: config.key_prefix.into_bytes(),
            late_grace: micros(config.late_grace),
            store_timeout: config.store_timeout,
            session,
            replicas,
            closed: OnceLock::new(),
        })
    }

    /// The key of an address: the prefix and the digest in hexadecimal, so that an operator can
    /// find it.
    fn key(&self, digest: &[u8; 32]) -> Vec<u8> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut key = Vec::with_capacity(self.key_prefix.len() + 2 * digest.len());
        key.extend_from_slice(&self.key_prefix);
        for byte in digest {
            key.push(DIGITS[usize::from(byte >> 4)]);
            key.push(DIGITS[usize::from(byte & 15)]);
        }
        key
    }

    /// Calls a script on the connection that everybody uses.
    async fn call(
        &self,
        script: &Script,
        digest: &[u8; 32],
        arguments: &[Argument<'_>],
    ) -> Result<Reply, Failure> {
        let call = Call { script, key: &self.key(digest), arguments };
        self.session.call(&call, self.until()).await
    }

    /// Calls a script whose effect has to be on the replicas, if any are wanted.
    async fn call_acknowledged(
        &self,
        script: &Script,
        digest: &[u8; 32],
        arguments: &[Argument<'_>],
    ) -> Result<Reply, Failure> {
        match &self.replicas {
            None => self.call(script, digest, arguments).await,
            Some(replicas) => {
                let call = Call { script, key: &self.key(digest), arguments };
                replicas.call(&call, self.until()).await
            }
        }
    }

    fn until(&self) -> tokio::time::Instant {
        tokio::time::Instant::now() + self.store_timeout
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("key_prefix", &String::from_utf8_lossy(&self.key_prefix))
            .field("store_timeout", &self.store_timeout)
            .finish_non_exhaustive()
    }
}

impl LeaseStore for RedisStore {
    async fn acquire(&self, address: Address, terms: Terms) -> Result<Admission, AcquireError> {
        if self.closed.get().is_some() {
            return Err(AcquireError::Closed);
        }
        let sent = now();
        let attempt = terms.attempt.to_bits().to_be_bytes();
        let fingerprint = terms.fingerprint.as_ref().map_or(&[][..], |print| print.as_bytes());
        let arguments = [
            Raw(&attempt),
            Raw(fingerprint),
            Number(micros(terms.lease_ttl.get())),
            Number(self.late_grace),
        ];
        let digest = address.as_bytes();
        let answer = self.call_acknowledged(&self.scripts.acquire, digest, &arguments).await;
        answer.and_then(|reply| admission(reply, sent, digest)).map_err(|failure| match failure {
            Failure::OutOfMemory(_) => AcquireError::Full,
            Failure::Store(error) => AcquireError::Unavailable(error),
        })
    }

    async fn commit(
        &self,
        lease: &mut Lease,
        outcome: Option<Outcome>,
        ttl: Ttl,
    ) -> Result<(), CommitError> {
        let (phase, bytes) = match &outcome {
            None => (2, &[][..]),
            Some(outcome) => (3, &outcome.as_bytes()[..]),
        };
        let token = lease.token().get();
        let arguments = [Number(token), Number(micros(ttl.get())), Number(phase), Raw(bytes)];
        let answer =
            self.call_acknowledged(&self.scripts.commit, &lease.place().0, &arguments).await;
        match answer.and_then(|reply| is_done(reply.word)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(CommitError::Superseded),
            Err(failure) => Err(CommitError::Unavailable(failure.into())),
        }
    }

    async fn attach(&self, lease: &Lease, outcome: Outcome) -> Result<(), AttachError> {
        let arguments = [Number(lease.token().get()), Raw(outcome.as_bytes())];
        match self.call(&self.scripts.attach, &lease.place().0, &arguments).await {
            Ok(reply) if reply.word == Word::Done => Ok(()),
            Ok(reply) if reply.word == Word::TooLate => Err(AttachError::TooLate),
            Ok(reply) if reply.word == Word::NoRoom => Err(AttachError::NoRoom),
            Ok(_) => Err(AttachError::Unavailable(Failure::unreadable().into())),
            Err(failure) => Err(AttachError::Unavailable(failure.into())),
        }
    }

    async fn release(&self, lease: &mut Lease) -> Result<(), ReleaseError> {
        let arguments = [Number(lease.token().get())];
        let answer = self.call(&self.scripts.release, &lease.place().0, &arguments).await;
        match answer.and_then(|reply| is_done(reply.word)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(ReleaseError::Superseded),
            Err(failure) => Err(ReleaseError::Unavailable(failure.into())),
        }
    }

    async fn abandon(&self, address: Address, attempt: Attempt) -> Result<(), StoreError> {
        let attempt = attempt.to_bits().to_be_bytes();
        self.call(&self.scripts.abandon, address.as_bytes(), &[Raw(&attempt)]).await?;
        Ok(())
    }

    async fn renew(&self, lease: &mut Lease, lease_ttl: Ttl) -> Result<Instant, RenewError> {
        let sent = now();
        let arguments =
            [Number(lease.token().get()), Number(micros(lease_ttl.get())), Number(self.late_grace)];
        let renewed = async {
            let place = &lease.place().0;
            let reply = self.call(&self.scripts.renew, place, &arguments).await?;
            is_done(reply.word)?.then(|| reply.span(0)).transpose()
        };
        match renewed.await {
            Ok(Some(remaining)) => {
                let deadline = after(sent, remaining);
                let place = *lease.place();
                lease.moved(deadline, place);
                Ok(deadline)
            }
            Ok(None) => Err(RenewError::Superseded),
            Err(failure) => Err(RenewError::Unavailable(StoreError::from(failure))),
        }
    }

    async fn peek(&self, address: Address) -> Result<RecordState, StoreError> {
        let reply = self.call(&self.scripts.peek, address.as_bytes(), &[]).await?;
        Ok(match reply.word {
            Word::Free => RecordState::Free,
            Word::InFlight => RecordState::InFlight { remaining: reply.span(0)? },
            Word::Completed => RecordState::Completed {
                remaining: reply.span(0)?,
                replayable: reply.number(1)? == 1,
            },
            _ => return Err(Failure::unreadable().into()),
        })
    }

    async fn forget(&self, address: Address) -> Result<bool, StoreError> {
        let reply = self.call(&self.scripts.forget, address.as_bytes(), &[]).await?;
        Ok(reply.number(0)? == 1)
    }

    /// Nothing: the server frees what has expired by itself.
    async fn sweep(&self, _budget: usize) -> Result<usize, StoreError> {
        Ok(0)
    }

    fn close(&self) {
        // An error says that it is closed already.
        let _ = self.closed.set(());
    }
}

/// What an acquire's answer means. The lease lasts at least as long after the request was sent as
/// the server said that it would when it answered.
fn admission(reply: Reply, sent: Instant, digest: &[u8; 32]) -> Result<Admission, Failure> {
    Ok(match reply.word {
        Word::Granted => {
            let token = Token::new(reply.number(0)?);
            let deadline = after(sent, reply.span(1)?);
            Admission::Granted(Lease::new(token, deadline, Place(*digest)))
        }
        Word::InFlight => Admission::InFlight { remaining: reply.span(0)? },
        Word::Completed => {
            let remaining = reply.span(0)?;
            let outcome = reply.into_bytes(1).map(|bytes| Outcome::new(Bytes::from(bytes)));
            Admission::Completed { outcome, remaining }
        }
        Word::Mismatch => Admission::Mismatch,
        _ => return Err(Failure::unreadable()),
    })
}

/// Whether it is done, or else superseded.
fn is_done(word: Word) -> Result<bool, Failure> {
    match word {
        Word::Done => Ok(true),
        Word::Superseded => Ok(false),
        _ => Err(Failure::unreadable()),
    }
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Ten years cannot overflow a monotonic clock; if they do, the lease ends at once.
fn after(sent: Instant, remaining: Duration) -> Instant {
    sent.checked_add(remaining).unwrap_or(sent)
}

/// At least so many microseconds.
fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_round_up_to_microseconds() {
        assert_eq!(micros(Duration::ZERO), 0);
        assert_eq!(micros(Duration::from_nanos(1)), 1);
        assert_eq!(micros(Duration::from_nanos(1_000)), 1);
        assert_eq!(micros(Duration::from_nanos(1_001)), 2);
    }

    #[test]
    fn the_longest_times_are_whole_numbers_to_lua() {
        // Now, the longest ttl and the longest grace: below 2^53 until the year 2235.
        let now_2235 = 8_362_000_000_000_000_u64;
        assert!(now_2235 + 2 * micros(leasehold::MAX_TTL) < 1 << 53);
    }
}
