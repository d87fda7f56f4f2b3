//! Where a figure was taken: processor, cores, load, commit, versions of what was compared.

use std::fmt;
use std::fs;
use std::process::Command;

use serde::Serialize;

/// The lock file that this crate was built with.
const LOCK: &str = include_str!("../../Cargo.lock");

/// The crates whose versions stand beside the figures.
const COMPARED: [&str; 6] =
    ["leasehold-http", "axum-idempotent", "axum-reverse-proxy", "hyper", "tokio", "dashmap"];

/// What stands beside every figure.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Model of the processor, as the kernel names it.
    pub cpu: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Load of the last minute before the run: above zero, others were at work.
    pub load: String,
    /// The kernel's release.
    pub kernel: String,
    /// Short name of the commit, with a mark if files were changed since.
    pub commit: String,
    /// Crates and versions.
    pub versions: String,
}

impl Machine {
    /// Looks at the machine.
    #[must_use]
    pub fn look() -> Self {
        let versions = COMPARED.map(|name| format!("{name} {}", version(LOCK, name)));
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            cpu: cpu(),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            load: load.split_whitespace().next().unwrap_or("unknown").to_owned(),
            kernel: kernel.trim().to_owned(),
            commit: commit(),
            versions: versions.join(", "),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpu, cores, load, kernel, commit, versions } = self;
        writeln!(f, "{cpu}, {cores} cores, Linux {kernel}, load {load} at the start; {commit}")?;
        write!(f, "{versions}")
    }
}

/// The version of a package in a lock file; the newest where there are several.
fn version<'a>(lock: &'a str, package: &str) -> &'a str {
    let name = format!("name = \"{package}\"");
    let versions = lock.lines().zip(lock.lines().skip(1)).filter(|(line, _)| *line == name);
    let last = versions.last().and_then(|(_, next)| next.strip_prefix("version = \""));
    last.and_then(|version| version.strip_suffix('"')).unwrap_or("unknown")
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

fn commit() -> String {
    let described = Command::new("git").args(["describe", "--always", "--dirty"]).output();
    described
        .ok()
        .filter(|output| output.status.success())
        .map(|output| format!("commit {}", String::from_utf8_lossy(&output.stdout).trim()))
        .unwrap_or_else(|| "unknown commit".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_lock_file() {
        let lock = "[[package]]\nname = \"a2\"\nversion = \"9.0.0\"\n\n[[package]]\n\
                    name = \"a\"\nversion = \"6.0.0\"\n\n[[package]]\nname = \"a\"\n\
                    version = \"7.1.0\"\n";
        assert_eq!((version(lock, "a"), version(lock, "b")), ("7.1.0", "unknown"));
        let versions = Machine::look().versions;
        assert!(!versions.contains("unknown"), "{versions}");
    }
}
