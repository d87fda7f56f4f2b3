//! All tests. Those that start servers get a second try, and what failed at first is told all the
//! same: no failure goes unseen.

use std::path::Path;

use super::Done;
use crate::command::cargo;
use crate::failure::Failure;
use crate::retelling::run_tests;

/// Packages whose tests start servers, freeze and kill them and start them again. A machine that
/// stands still for seconds fails such a test without anybody's fault. The engine is not among
/// them: what its tests find once in a thousand runs is a fault.
const WITH_SERVERS: &[&str] = &[
    "leasehold-http",
    "leasehold-redis",
    "leasehold-redis-server",
    "leasehold-sql",
    "leasehold-sql-server",
];

/// The whole workspace, so that a second try needs nothing built anew.
const TESTS: [&str; 3] = ["test", "--workspace", "--all-features"];

/// Goes on after a failure, so that one run shows all that is wrong.
pub(super) fn run(root: &Path) -> Result<Done, Failure> {
    let Err(first) = run_tests(cargo(root, TESTS).arg("--no-fail-fast")) else {
        return Ok(Done::Passed);
    };
    let Some(targets) = to_be_tried_again(first.details()) else {
        return Err(first);
    };
    for target in targets {
        if let Err(second) = run_tests(cargo(root, TESTS).args(target)) {
            let details = [first.details(), second.details()].concat();
            return Err(second.with_details(details));
        }
    }
    Ok(Done::PassedAgain(first.details().to_vec()))
}

/// What selects each target that failed, if all of them are of packages whose tests start servers.
fn to_be_tried_again(details: &[String]) -> Option<Vec<Vec<&str>>> {
    let failed = details.iter().filter_map(|line| {
        let mut words = line.strip_prefix("    `-p ")?.strip_suffix('`')?.split(' ');
        Some((words.next()?, words.collect()))
    });
    let mut targets = Vec::new();
    for (package, target) in failed {
        if !WITH_SERVERS.contains(&package) {
            return None;
        }
        targets.push(target);
    }
    // Without any it is not a test that failed.
    (!targets.is_empty()).then_some(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(lines: &[&str]) -> Option<String> {
        let lines: Vec<_> = lines.iter().map(|line| (*line).to_owned()).collect();
        let targets = to_be_tried_again(&lines)?;
        Some(targets.iter().map(|target| target.join(" ")).collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn targets_with_servers_are_tried_again_and_no_others() {
        let (redis, lib) =
            ("    `-p leasehold-redis --test redis`", "    `-p leasehold-sql --lib`");
        let log = ["failures:", "    one", "error: 2 targets failed:", redis, lib];
        assert_eq!(again(&log).as_deref(), Some("--test redis, --lib"));
        assert_eq!(again(&[redis, "    `-p leasehold --test exclusion`"]), None);
        assert_eq!(again(&["error: could not compile `leasehold-redis`"]), None);
    }
}
