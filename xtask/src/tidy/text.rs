//! The repository speaks of the project alone: no folders of somebody's machine, no registry hosts.

use super::Fault;
use super::tree::{File, Tree};

/// Folders of a machine. Spelt in two halves, so that this file passes its own check.
const FOLDERS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/tm", "p/"),
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Use", "rs/"),
];

/// Hosts from which packages are fetched.
const HOSTS: &[&str] = &[
    concat!("static.crates", ".io"),
    concat!("index.crates", ".io"),
    concat!("crates", ".io/api"),
    concat!("proxy.golang", ".org"),
    concat!("registry.npmjs", ".org"),
    concat!("pypi", ".org"),
    concat!("files.pythonhosted", ".org"),
];

/// The only source of packages that the lock file may name.
const REGISTRY: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";

/// Mentions of machines and registries, in any file.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.files() {
        for (index, line) in file.text.lines().enumerate() {
            faults.extend(fault_of(file, line).map(|what| Fault::new(file, index + 1, what)));
        }
    }
    faults
}

fn fault_of(file: &File, line: &str) -> Option<String> {
    if let Some(folder) = FOLDERS.iter().find(|folder| names_folder(line, folder)) {
        return Some(format!("names the folder {folder} of a machine: use a relative path"));
    }
    if let Some(host) = HOSTS.iter().find(|host| line.contains(**host)) {
        return Some(format!("names the registry host {host}: leave it to cargo"));
    }
    if file.name() == "Cargo.lock" && line.starts_with("source = ") && line != REGISTRY {
        return Some("locks a package from another source than crates.io: lock it again".into());
    }
    None
}

/// Whether a line names a folder at the root: `a/tmp/b` does not.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || "_-.}/".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn folders_of_a_machine_are_a_fault_even_in_a_string() {
        for (index, folder) in FOLDERS.iter().enumerate() {
            let text = format!("one\nopen(\"{folder}x\")");
            let path = if index % 2 == 0 { "docs/http.md" } else { "engine/src/word.rs" };
            assert_eq!(found(check, &[(path, &text)]).len(), 1, "{folder}");
            assert!(found(check, &[(path, &format!("see target{folder}x"))]).is_empty());
        }
    }

    #[test]
    fn registry_hosts_are_a_fault() {
        for host in HOSTS {
            assert_eq!(found(check, &[("README.md", &format!("https://{host}/x"))]).len(), 1);
        }
    }

    #[test]
    fn the_lock_file_knows_one_registry() {
        assert!(found(check, &[("Cargo.lock", REGISTRY)]).is_empty());
        let other = "source = \"git+https://example.org/x\"";
        assert_eq!(
            found(check, &[("Cargo.lock", other)]),
            ["Cargo.lock:1: locks a package from another source than crates.io: lock it again"]
        );
    }
}
