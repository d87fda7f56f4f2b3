//! Which of our crates may see which: the engine none, everything else the contract, the gateway's
//! binary alone all of it.

use super::tree::{File, Tree};
use super::{Fault, lexer};
use crate::manifest::{Dependency, Manifest};

/// A crate of ours, and which of ours it may depend on.
struct Crate {
    package: &'static str,
    /// What its library and binaries see.
    sees: &'static [&'static str],
    /// What its tests, examples and benches see besides.
    tests_see: &'static [&'static str],
}

/// Every crate of the workspace. Nothing may see a crate that no row names.
const CRATES: &[Crate] = &[
    Crate { package: "leasehold", sees: &[], tests_see: &["leasehold-conformance"] },
    Crate {
        package: "leasehold-http",
        sees: &["leasehold", "leasehold-redis", "leasehold-sql"],
        tests_see: &["leasehold-conformance", "leasehold-redis-server", "leasehold-sql-server"],
    },
    Crate {
        package: "leasehold-redis",
        sees: &["leasehold"],
        tests_see: &["leasehold-conformance", "leasehold-redis-server"],
    },
    Crate { package: "leasehold-redis-server", sees: &[], tests_see: &[] },
    Crate {
        package: "leasehold-sql",
        sees: &["leasehold"],
        tests_see: &["leasehold-conformance", "leasehold-sql-server"],
    },
    Crate { package: "leasehold-sql-server", sees: &[], tests_see: &[] },
    Crate { package: "leasehold-conformance", sees: &["leasehold"], tests_see: &[] },
    Crate {
        package: "leasehold-benches",
        sees: &["leasehold", "leasehold-http", "leasehold-redis", "leasehold-sql"],
        tests_see: &[],
    },
    Crate {
        package: "leasehold-http-benches",
        sees: &["leasehold", "leasehold-http"],
        tests_see: &[],
    },
    Crate { package: "loom-tests", sees: &["leasehold"], tests_see: &[] },
    Crate {
        package: "proptests",
        sees: &["leasehold", "leasehold-http"],
        tests_see: &["leasehold-conformance", "leasehold-redis", "leasehold-sql"],
    },
    Crate { package: "stress", sees: &["leasehold"], tests_see: &[] },
    Crate {
        package: "leasehold-fuzz",
        sees: &["leasehold", "leasehold-http", "leasehold-redis", "leasehold-sql", "proptests"],
        tests_see: &[],
    },
    Crate { package: "xtask", sees: &[], tests_see: &[] },
];

/// Code that knows the contract alone, by folder; and the part of it that joins everything.
const CONTRACT_ONLY: &[&str] =
    &["http-adapter/src", "stores/conformance/src", "stores/redis/src", "stores/sql/src"];
const GATEWAY: &[&str] = &["http-adapter/src/bin"];

/// What that code may not name: the stores, by crate and by type.
const STORES: &[&str] =
    &["MemoryStore", "MemoryConfig", "Sweeper", "leasehold_redis", "leasehold_sql"];

/// Dependencies that the table does not allow, and stores named by code that should be generic.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.files().filter(|file| file.name() == "Cargo.toml") {
        let manifest = Manifest::parse(&file.text);
        if !manifest.package.is_empty() {
            check_manifest(file, &manifest, &mut faults);
        }
    }
    let generic = tree.rust().filter(|file| file.is_in(CONTRACT_ONLY) && !file.is_in(GATEWAY));
    for file in generic {
        for (number, line) in file.numbered().filter(|(_, line)| !line.in_test) {
            if let Some(store) = STORES.iter().find(|store| lexer::names(&line.code, store)) {
                let what = format!("names the store `{store}`: be generic over `LeaseStore`");
                faults.push(Fault::new(file, number, what));
            }
        }
    }
    faults
}

fn check_manifest(file: &File, manifest: &Manifest, faults: &mut Vec<Fault>) {
    let Some(row) = CRATES.iter().find(|row| row.package == manifest.package) else {
        let what = format!(
            "the crate `{}` has no import rule: add it to xtask/src/tidy/crates.rs",
            manifest.package
        );
        faults.push(Fault::new(file, 1, what));
        return;
    };
    let ours = |one: &&Dependency| CRATES.iter().any(|row| row.package == one.package);
    for dependency in manifest.dependencies.iter().filter(ours) {
        let package = dependency.package.as_str();
        let seen =
            row.sees.contains(&package) || (dependency.dev && row.tests_see.contains(&package));
        if !seen {
            let section = if dependency.dev { "in tests" } else { "outside of tests" };
            let what = format!(
                "`{}` may not depend on `{package}` {section}: see the import rules",
                row.package
            );
            faults.push(Fault::new(file, dependency.line, what));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    fn of_manifest(package: &str, rest: &str) -> Vec<String> {
        let text = format!("[package]\nname = \"{package}\"\n{rest}");
        found(check, &[("x/Cargo.toml", &text)])
    }

    #[test]
    fn the_engine_sees_nothing_of_ours() {
        assert_eq!(
            of_manifest("leasehold", "[dependencies]\nleasehold-http.workspace = true\n"),
            ["x/Cargo.toml:4: `leasehold` may not depend on `leasehold-http` outside of tests: \
                see the import rules"]
        );
        assert!(of_manifest("leasehold", "[dependencies]\nbytes = \"1\"\n").is_empty());
    }

    #[test]
    fn the_laws_are_seen_by_tests_alone() {
        let dependency = "leasehold-conformance = { path = \"..\" }\n";
        for package in ["leasehold", "leasehold-redis", "leasehold-sql", "leasehold-http"] {
            let dev = format!("[dev-dependencies]\n{dependency}");
            assert!(of_manifest(package, &dev).is_empty(), "{package}");
            let normal = format!("[dependencies]\n{dependency}");
            assert_eq!(of_manifest(package, &normal).len(), 1, "{package}");
        }
    }

    #[test]
    fn nothing_sees_a_store_s_rival_or_the_tools() {
        for hidden in ["leasehold-benches", "loom-tests", "proptests", "xtask", "leasehold-sql"] {
            let rest = format!("[dev-dependencies]\n{hidden} = {{ path = \"..\" }}\n");
            assert_eq!(of_manifest("leasehold-redis", &rest).len(), 1, "{hidden}");
        }
    }

    #[test]
    fn a_new_crate_needs_a_rule() {
        assert_eq!(
            of_manifest("leasehold-new", ""),
            ["x/Cargo.toml:1: the crate `leasehold-new` has no import rule: add it to \
              xtask/src/tidy/crates.rs"]
        );
    }

    #[test]
    fn the_library_knows_no_store_and_the_gateway_does() {
        let code = "use leasehold::MemoryStore;\n#[cfg(test)]\nuse leasehold::MemoryStore;";
        assert_eq!(
            found(check, &[("http-adapter/src/service.rs", code)]),
            ["http-adapter/src/service.rs:1: names the store `MemoryStore`: be generic over \
              `LeaseStore`"]
        );
        assert!(found(check, &[("http-adapter/src/bin/leasehold/main.rs", code)]).is_empty());
        assert!(found(check, &[("proptests/src/lib.rs", code)]).is_empty());
    }
}
