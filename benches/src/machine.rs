//! Where a figure was taken: processor, cores, commit, versions of what was compared.

use std::fs;
use std::process::Command;

use serde::Serialize;

/// The lock file that this crate was built with.
const LOCK: &str = include_str!("../../Cargo.lock");

/// What stands beside every figure.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Model of the processor, as the kernel names it.
    pub cpu: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Load of the last minute, as the kernel counts it: above zero, others were at work.
    pub load: String,
    /// Short name of the commit, with a mark if files were changed since.
    pub commit: String,
    /// Crates and versions.
    pub versions: String,
}

impl Machine {
    /// Looks at the machine.
    #[must_use]
    pub fn look() -> Self {
        let compared = ["leasehold", "dashmap", "scc", "papaya", "moka", "quick_cache"];
        let version = |name: &&str| format!("{name} {}", version(LOCK, name).unwrap_or("?"));
        Self {
            cpu: cpu(),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            load: first_word("/proc/loadavg"),
            commit: commit(),
            versions: compared.iter().map(version).collect::<Vec<_>>().join(", "),
        }
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { cpu, cores, load, commit, versions } = self;
        writeln!(f, "{cpu}, {cores} cores, load {load} at the start, commit {commit}")?;
        write!(f, "{versions}; std's Mutex and RwLock")
    }
}

/// The version of a package in a lock file.
fn version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"')
}

/// What the kernel says about the processor. On other systems than Linux it is not known.
fn cpu() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    let model = field("model name").unwrap_or_else(|| "unknown processor".to_owned());
    match (field("cpu family"), field("model\t")) {
        (Some(family), Some(number)) => format!("{model} (family {family}, model {number})"),
        _ => model,
    }
}

fn first_word(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

fn commit() -> String {
    let described = Command::new("git").args(["describe", "--always", "--dirty"]).output();
    described
        .ok()
        .filter(|output| output.status.success())
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_lock_file() {
        let lock = "[[package]]\nname = \"scc2\"\nversion = \"9.0.0\"\n\n[[package]]\n\
                    name = \"scc\"\nversion = \"3.8.8\"\nsource = \"x\"\n";
        assert_eq!(version(lock, "scc"), Some("3.8.8"));
        assert_eq!(version(lock, "moka"), None);
        let versions = Machine::look().versions;
        assert!(!versions.contains('?'), "{versions}");
    }
}
