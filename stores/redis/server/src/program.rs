//! Which program the server is.

use std::env;
use std::ffi::OsString;
use std::process::Command;

/// The variable that names another program than `redis-server`, such as Valkey's.
const VARIABLE: &str = "REDIS_SERVER";

/// The server's program, by its name on the path or by its own path.
pub(crate) fn program() -> OsString {
    let named = env::var_os(VARIABLE).filter(|name| !name.is_empty());
    named.unwrap_or_else(|| "redis-server".into())
}

/// Panics where it cannot be started: a test that is skipped unseen protects nothing.
pub(crate) fn assert_is_installed() {
    let found = Command::new(program()).arg("--version").output();
    assert!(
        found.is_ok_and(|output| output.status.success()),
        "these tests need {} on the path: install it (Debian: `redis-server`)",
        program().display()
    );
}
