//! The gateway's configuration, from a file and the environment: its own parser, included as it is.
//!
//! It never panics, a refusal is one line that names its key, and what is taken is printed so that
//! it reads back as itself.

#![no_main]

#[rustfmt::skip]
#[path = "../../http-adapter/src/bin/leasehold/config/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the gateway uses the rest")]
mod config;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use config::{Config, ConfigError, Flags};
use libfuzzer_sys::fuzz_target;

/// One file for each process: the parser reads files.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    std::env::temp_dir().join(format!("leasehold-fuzz-{}.toml", std::process::id()))
});

fn load(text: &[u8], variables: &[(String, String)]) -> Result<Config, ConfigError> {
    fs::write(&*FILE, text).expect("there is room for a small file");
    let flags = Flags { config: Some(FILE.clone()), ..Flags::default() };
    let variables = variables.iter();
    let loaded = Config::load(
        &flags,
        variables.map(|(name, value)| (OsString::from(name), OsString::from(value))),
    );
    let _ = fs::remove_file(&*FILE);
    loaded
}

// The file; after a byte of zero, variables as `NAME=value` in lines.
fuzz_target!(|input: &[u8]| {
    let (text, rest) = match input.iter().position(|byte| *byte == 0) {
        Some(at) => (&input[..at], &input[at + 1..]),
        None => (input, &[][..]),
    };
    let rest = String::from_utf8_lossy(rest);
    let variables: Vec<_> = rest
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (format!("LEASEHOLD_{name}"), value.to_owned()))
        .collect();
    match load(text, &variables) {
        Ok(config) => {
            let again = load(config.report().as_bytes(), &[]).expect("what is printed reads back");
            assert_eq!(again.report(), config.report());
        }
        Err(refusal) => {
            let line = refusal.to_string();
            assert!(line.contains(": ") && !line.contains('\n'), "{line}");
        }
    }
});
