//! Features only add: each crate must build with none of them, with each alone, and with all.

use std::path::Path;

use super::Done;
use crate::command::{cargo, run};
use crate::failure::Failure;
use crate::manifest::Manifest;
use crate::workspace;

/// Lints every crate by itself with every choice, since only then no other crate of the workspace
/// lends it a feature. Clippy, because it makes warnings errors without building dependencies
/// again.
pub(super) fn check(root: &Path) -> Result<Done, Failure> {
    for member in workspace::members(root)? {
        for choice in choices(&member) {
            let mut command = cargo(root, ["clippy", "-p", member.package.as_str()]);
            run(command.args(choice).args(["--", "-D", "warnings"]))?;
        }
    }
    Ok(Done::Passed)
}

/// The choices for one crate, as arguments of cargo.
fn choices(member: &Manifest) -> Vec<Vec<String>> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let features: Vec<_> = member.features.iter().filter(|name| *name != "default").collect();
    let mut choices: Vec<Vec<String>> = vec![words(&["--no-default-features"])];
    if features.is_empty() {
        return choices;
    }
    if features.len() > 1 {
        let alone = |name: &&String| words(&["--no-default-features", "--features", name]);
        choices.extend(features.iter().map(alone));
    }
    choices.push(words(&["--all-features"]));
    choices
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(features: &[&str]) -> Vec<String> {
        let features = features.iter().map(|name| (*name).to_owned()).collect();
        let member = Manifest { features, ..Manifest::default() };
        choices(&member).iter().map(|choice| choice.join(" ")).collect()
    }

    #[test]
    fn a_crate_without_features_has_one_choice() {
        assert_eq!(shown(&[]), ["--no-default-features"]);
    }

    #[test]
    fn one_feature_is_all_features() {
        assert_eq!(shown(&["default", "gateway"]), ["--no-default-features", "--all-features"]);
    }

    #[test]
    fn many_features_are_tried_alone_and_together() {
        assert_eq!(
            shown(&["default", "a", "b"]),
            [
                "--no-default-features",
                "--no-default-features --features a",
                "--no-default-features --features b",
                "--all-features"
            ]
        );
    }
}
