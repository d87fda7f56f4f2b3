//! Counts the messages in a body: each has five bytes before it, a flag and a length.
//!
//! Nothing is kept but where in a message the body is.

/// Bytes before each message.
const PREFIX: usize = 5;

/// How far a body has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages {
    /// What there is of the next message's prefix.
    prefix: [u8; PREFIX],
    prefix_bytes: usize,
    /// Bytes that the message lacks whose prefix is complete.
    lacking: u64,
    complete: usize,
}

impl Messages {
    /// Goes on by some bytes.
    pub(super) fn take(&mut self, mut bytes: &[u8]) {
        // Ends: each round takes a byte at least.
        while !bytes.is_empty() {
            if self.prefix_bytes < PREFIX {
                let taken = bytes.len().min(PREFIX - self.prefix_bytes);
                let (now, later) = bytes.split_at(taken);
                self.prefix[self.prefix_bytes..self.prefix_bytes + taken].copy_from_slice(now);
                self.prefix_bytes += taken;
                bytes = later;
                if self.prefix_bytes < PREFIX {
                    return;
                }
                let [_, length @ ..] = self.prefix;
                self.lacking = u64::from(u32::from_be_bytes(length));
            }
            let taken = self.lacking.min(bytes.len() as u64);
            self.lacking -= taken;
            // No more than there are bytes.
            bytes = bytes.get(usize::try_from(taken).unwrap_or(usize::MAX)..).unwrap_or_default();
            if self.lacking == 0 {
                self.prefix_bytes = 0;
                self.complete = self.complete.saturating_add(1);
            }
        }
    }

    /// Whether the first message is there, and nothing more has begun.
    pub(super) const fn is_one(&self) -> bool {
        self.complete == 1 && self.prefix_bytes == 0
    }

    /// Whether a second message has begun: no unary response has one.
    pub(super) const fn are_many(&self) -> bool {
        self.complete > 1 || (self.complete == 1 && self.prefix_bytes > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known after each of these pieces: none, one or many messages.
    fn states(pieces: &[&[u8]]) -> String {
        let mut messages = Messages::default();
        let state = |messages: &Messages| match (messages.is_one(), messages.are_many()) {
            (false, false) => '0',
            (true, false) => '1',
            (false, true) => 'n',
            (true, true) => '?',
        };
        let mut all = String::new();
        for piece in pieces {
            messages.take(piece);
            all.push(state(&messages));
        }
        all
    }

    #[test]
    fn messages_are_counted_however_they_are_cut() {
        assert_eq!(states(&[b"", b"\0\0\0\0\x02ab", b"\0", b"\0\0\0\0"]), "01nn");
        assert_eq!(states(&[b"\0", b"\0\0\0", b"\x02", b"a", b"b", b""]), "000011");
        assert_eq!(states(&[b"\0\0\0\0\0", b"\0\0\0\0\0"]), "1n");
        assert_eq!(states(&[b"\0\0\0\0\x01a\0\0\0\0\x01b"]), "n");
        assert_eq!(states(&[b"\0\xff\xff\xff\xff", b"abc"]), "00");
        // 256 bytes, not one.
        assert_eq!(states(&[b"\0\0\0\x01\0a", &[7; 254], b"z"]), "001");
    }
}
