//! What a script answers: a word and up to two fields.

use std::time::Duration;

use redis::Value;

use crate::failure::Failure;

/// The word that an answer begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Granted,
    InFlight,
    Completed,
    Mismatch,
    Done,
    Superseded,
    TooLate,
    NoRoom,
    Free,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) word: Word,
    fields: Vec<Value>,
}

impl Reply {
    /// Reads an answer; one that says that the record is corrupt is a failure.
    pub(crate) fn read(value: Value) -> Result<Self, Failure> {
        let Value::Array(mut fields) = value else { return Err(Failure::unreadable()) };
        let word = match fields.first() {
            Some(Value::BulkString(word)) => match word.as_slice() {
                b"granted" => Word::Granted,
                b"in flight" => Word::InFlight,
                b"completed" => Word::Completed,
                b"mismatch" => Word::Mismatch,
                b"done" => Word::Done,
                b"superseded" => Word::Superseded,
                b"too late" => Word::TooLate,
                b"no room" => Word::NoRoom,
                b"free" => Word::Free,
                b"corrupt" => return Err(Failure::corrupt()),
                _ => return Err(Failure::unreadable()),
            },
            _ => return Err(Failure::unreadable()),
        };
        fields.remove(0);
        Ok(Self { word, fields })
    }

    /// A field that is a whole number, not below zero.
    pub(crate) fn number(&self, field: usize) -> Result<u64, Failure> {
        match self.fields.get(field) {
            Some(Value::Int(number)) => u64::try_from(*number).map_err(|_| Failure::unreadable()),
            _ => Err(Failure::unreadable()),
        }
    }

    /// A field that counts microseconds.
    pub(crate) fn span(&self, field: usize) -> Result<Duration, Failure> {
        self.number(field).map(Duration::from_micros)
    }

    /// A field of bytes, if there is one.
    pub(crate) fn into_bytes(mut self, field: usize) -> Option<Vec<u8>> {
        match self.fields.get_mut(field) {
            Some(Value::BulkString(bytes)) => Some(std::mem::take(bytes)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use leasehold::{StoreError, StoreErrorKind};

    use super::*;

    fn word(word: &str) -> Value {
        Value::BulkString(word.as_bytes().to_vec())
    }

    #[test]
    fn fields_are_read_by_their_place() {
        let fields = vec![word("completed"), Value::Int(7), Value::BulkString(vec![0, 255])];
        let reply = Reply::read(Value::Array(fields)).expect("an answer");
        assert_eq!(reply.word, Word::Completed);
        assert_eq!(reply.span(0).expect("a number"), Duration::from_micros(7));
        assert!(reply.number(1).is_err());
        assert!(reply.number(2).is_err());
        assert_eq!(reply.into_bytes(1), Some(vec![0, 255]));
    }

    #[test]
    fn nothing_that_a_server_says_panics() {
        for value in [
            Value::Nil,
            Value::Okay,
            Value::Int(1),
            Value::Array(vec![]),
            Value::Array(vec![Value::Int(1)]),
            Value::Array(vec![word("granted but not so")]),
            Value::Array(vec![word("corrupt")]),
        ] {
            let failure = Reply::read(value).expect_err("no answer");
            assert_eq!(StoreError::from(failure).kind(), StoreErrorKind::Corrupt);
        }
        let negative = Value::Array(vec![word("granted"), Value::Int(-1)]);
        assert!(Reply::read(negative).expect("an answer").number(0).is_err());
    }
}
