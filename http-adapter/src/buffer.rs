//! Memory for bodies: buffers that grow within a bound that all of a layer's share (rule 4.6).
//!
//! What is in a buffer was copied. It must never keep a slice of what a connection has read: that
//! would keep all of the connection's buffer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Buf, Bytes};

/// Smallest step by which a buffer grows, in bytes. Arbitrary: the body of most writes.
const GROWTH_MIN: usize = 512;

/// How many bytes all buffers may hold together. A clone counts the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    left: Arc<Mutex<usize>>,
}

impl Budget {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { left: Arc::new(Mutex::new(bytes_max)) }
    }

    /// An empty buffer.
    pub(crate) fn buffer(&self) -> Buffer {
        Buffer { bytes: Vec::new(), budget: self.clone(), reserved: 0 }
    }

    fn reserve(&self, bytes: usize) -> Result<(), NoRoom> {
        let mut left = self.left();
        *left = left.checked_sub(bytes).ok_or(NoRoom)?;
        Ok(())
    }

    /// Nothing panics with the lock held, and the number is whole after every line.
    fn left(&self) -> MutexGuard<'_, usize> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bound is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

/// Bytes that count against a budget until they are dropped.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    budget: Budget,
    reserved: usize,
}

impl Buffer {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Copies all of `data` to the end. Where the budget does not allow it, the buffer stays as it
    /// was, but for what was copied already.
    pub(crate) fn push(&mut self, mut data: impl Buf) -> Result<(), NoRoom> {
        while data.has_remaining() {
            let chunk = data.chunk();
            let size = chunk.len();
            self.make_room(size)?;
            self.bytes.extend_from_slice(chunk);
            data.advance(size);
        }
        Ok(())
    }

    /// Doubles, so that a body in many pieces is copied a few times only; what is reserved is what
    /// is allocated.
    fn make_room(&mut self, size: usize) -> Result<(), NoRoom> {
        let needed = self.bytes.len().checked_add(size).ok_or(NoRoom)?;
        if needed <= self.reserved {
            return Ok(());
        }
        let wanted = needed.max(self.reserved.saturating_mul(2)).max(GROWTH_MIN);
        let capacity = match self.budget.reserve(wanted - self.reserved) {
            Ok(()) => wanted,
            Err(NoRoom) => {
                self.budget.reserve(needed - self.reserved)?;
                needed
            }
        };
        self.reserved = capacity;
        self.bytes.reserve_exact(capacity - self.bytes.len());
        Ok(())
    }

    /// The bytes, which count until their last clone is dropped.
    pub(crate) fn into_bytes(self) -> Bytes {
        if self.bytes.is_empty() { Bytes::new() } else { Bytes::from_owner(self) }
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        *self.budget.left() += self.reserved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_share_their_bound_and_give_back_what_they_held() {
        let budget = Budget::new(2000);
        let mut one = budget.buffer();
        one.push(&[1; 1000][..]).expect("room");
        let mut other = budget.buffer();
        other.push(&[2; 900][..]).expect("room");
        assert_eq!(other.push(&[2; 200][..]), Err(NoRoom));
        assert_eq!((one.len(), other.len()), (1000, 900));
        other.push(&[2; 100][..]).expect("what is left, exactly");
        let bytes = one.into_bytes();
        let clone = bytes.clone();
        drop(bytes);
        assert_eq!(*budget.left(), 0);
        assert_eq!(clone, vec![1; 1000]);
        drop((clone, other));
        assert_eq!(*budget.left(), 2000);
    }

    #[test]
    fn a_body_in_small_pieces_reserves_what_is_allocated() {
        let budget = Budget::new(1 << 20);
        let mut buffer = budget.buffer();
        for piece in 0..10_000_u32 {
            buffer.push(&piece.to_be_bytes()[..]).expect("room");
            assert_eq!(buffer.reserved + *budget.left(), 1 << 20);
            assert!(buffer.bytes.capacity() <= buffer.reserved);
        }
        assert_eq!(buffer.len(), 40_000);
        let several = (&b"ab"[..]).chain(&b"cd"[..]);
        buffer.push(several).expect("room");
        assert!(buffer.as_ref().ends_with(b"abcd"));
    }

    #[test]
    fn nothing_needs_no_room() {
        let mut buffer = Budget::new(0).buffer();
        assert_eq!(buffer.push(&b""[..]), Ok(()));
        assert_eq!(buffer.push(&b"x"[..]), Err(NoRoom));
        assert_eq!(buffer.into_bytes(), "");
    }
}
