//! The settings of a policy that are a choice among a few.
//!
//! Names and meanings alone: what follows from a choice is the business of those who act on it.

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

/// What a duplicate of a request that has succeeded gets (rules 3 and 5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Duplicate {
    /// A refusal: 409.
    #[default]
    Reject,
    /// The first run's response, where it was kept and belongs to this client.
    Replay,
}

/// What of a request is compared with the one that its key was first used for (rule 5.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FingerprintMode {
    /// Nothing.
    #[default]
    Off,
    /// Method, path, query, content type, and the body byte by byte.
    Raw,
    /// The same, but bodies that are JSON are compared by what they say: the order of members and
    /// white space do not count.
    Json,
}

/// The form of error bodies (section 3 of the contract).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorFormat {
    /// Problem details of RFC 9457.
    #[default]
    Problem,
    /// `{"code": 40910, "message": "..."}`.
    Envelope,
}

/// What a client's going away means for its handler (rule 4.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnDisconnect {
    /// It runs to its end, and its verdict counts.
    #[default]
    Finish,
    /// It is dropped, and its key is free at once. **A retry may run what the first had begun.**
    Cancel,
}
