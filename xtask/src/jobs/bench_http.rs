//! Measures the layer and the gateway against others, and joins what was found in one file:
//! minutes of work on a quiet machine, so CI does not do it.

use std::fs;
use std::path::Path;

use super::{Done, gateway};
use crate::command::{cargo, run};
use crate::failure::Failure;

/// Where the file goes, below the root, and the parts that it is joined from.
const FOLDER: &str = "target/bench";
const FILE: &str = "target/bench/http.json";

/// Each binary, and how it is asked for a whole and for a quick run.
const BINARIES: [(&str, &[&str], &[&str]); 3] = [
    ("allocations", &[], &[]),
    ("layer", &[], &["--rounds", "3"]),
    ("server", &[], &["--rounds", "3"]),
];

pub(super) fn run_all(root: &Path, is_quick: bool) -> Result<Done, Failure> {
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder).map_err(cannot("make", &folder))?;
    let gateway = gateway::build(root)?;
    let mut parts = Vec::new();
    for (name, whole, quick) in BINARIES {
        let part = folder.join(format!("http-{name}.json"));
        let package = ["-p", "leasehold-http-benches", "--bin", name, "--"];
        let mut binary = cargo(root, [&["run", "--release", "-q"][..], &package].concat());
        binary.args(if is_quick { quick } else { whole }).arg("--json").arg(&part);
        if name == "server" {
            binary.arg("--gateway").arg(&gateway);
        }
        run(&mut binary)?;
        parts.push((name, fs::read_to_string(&part).map_err(cannot("read", &part))?));
    }
    let file = root.join(FILE);
    fs::write(&file, joined(&parts)).map_err(cannot("write", &file))?;
    println!("all of it is in {FILE}");
    Ok(Done::Passed)
}

/// One object with an object of each part.
fn joined(parts: &[(&str, String)]) -> String {
    let member = |(name, text): &(&str, String)| format!("\"{name}\": {}", text.trim());
    format!("{{\n{}\n}}\n", parts.iter().map(member).collect::<Vec<_>>().join(",\n"))
}

fn cannot<'a>(what: &'a str, path: &'a Path) -> impl Fn(std::io::Error) -> Failure + 'a {
    move |error| Failure::new(format!("cannot {what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_become_members_of_one_object() {
        let parts = [("a", "{\"x\": 1}\n".to_owned()), ("b", "{}".to_owned())];
        assert_eq!(joined(&parts), "{\n\"a\": {\"x\": 1},\n\"b\": {}\n}\n");
    }
}
