//! The verbs as scripts, and how one is called: by its hash, or with its text if the server does
//! not know the hash (any more).
//!
//! Each script touches the one key that it is given. The first lines of all are `record.lua`.

use redis::{Cmd, cmd};

/// One verb.
pub(crate) struct Script {
    text: &'static str,
    hash: String,
    /// Whether the same call twice has the effect and the answer of one, so that it may be sent
    /// again after a connection broke.
    pub(crate) is_repeatable: bool,
}

/// Every verb.
pub(crate) struct Scripts {
    pub(crate) acquire: Script,
    pub(crate) commit: Script,
    pub(crate) attach: Script,
    pub(crate) release: Script,
    pub(crate) abandon: Script,
    pub(crate) renew: Script,
    pub(crate) peek: Script,
    pub(crate) forget: Script,
}

/// An argument of a script.
pub(crate) enum Argument<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The text of a verb behind the part that all share.
macro_rules! text {
    ($file:literal) => {
        concat!(include_str!("scripts/record.lua"), include_str!(concat!("scripts/", $file)))
    };
}

impl Scripts {
    pub(crate) fn new() -> Self {
        Self {
            acquire: Script::new(text!("acquire.lua"), true),
            commit: Script::new(text!("commit.lua"), true),
            // The second of two finds the first one's outcome, and is too late.
            attach: Script::new(text!("attach.lua"), false),
            release: Script::new(text!("release.lua"), true),
            abandon: Script::new(text!("abandon.lua"), true),
            renew: Script::new(text!("renew.lua"), true),
            peek: Script::new(text!("peek.lua"), true),
            // The second of two finds nothing.
            forget: Script::new(text!("forget.lua"), false),
        }
    }
}

impl Script {
    fn new(text: &'static str, is_repeatable: bool) -> Self {
        Self { text, hash: redis::Script::new(text).get_hash().to_owned(), is_repeatable }
    }

    /// The call by the script's hash.
    pub(crate) fn by_hash(&self, key: &[u8], arguments: &[Argument<'_>]) -> Cmd {
        call("EVALSHA", &self.hash, key, arguments)
    }

    /// The call with the script's text, from which the server learns it. One call rather than two
    /// (load, then call by hash): another flush may come between.
    pub(crate) fn by_text(&self, key: &[u8], arguments: &[Argument<'_>]) -> Cmd {
        call("EVAL", self.text, key, arguments)
    }
}

fn call(name: &str, script: &str, key: &[u8], arguments: &[Argument<'_>]) -> Cmd {
    let mut command = cmd(name);
    command.arg(script).arg(1).arg(key);
    for argument in arguments {
        match argument {
            Argument::Number(number) => command.arg(number),
            Argument::Bytes(bytes) => command.arg(bytes),
        };
    }
    command
}
