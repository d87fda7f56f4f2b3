//! Real client libraries against the gateway's binary, as `clients/README.md` says.
//!
//! The libraries are installed below the target folder, in the versions that `clients` pins, and
//! nowhere else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Done;
use super::gateway::{self, absolute};
use crate::command::{is_there, run};
use crate::failure::Failure;
use crate::retelling::run_tests;

/// Programs that must be there, and what Debian calls their packages.
const PROGRAMS: [(&str, &str); 3] =
    [("python3", "python3 python3-venv"), ("node", "nodejs"), ("npm", "npm")];

/// What npm reads to install, in the versions that are pinned.
const NODE_FILES: [&str; 2] = ["package.json", "package-lock.json"];

pub(super) fn check(root: &Path) -> Result<Done, Failure> {
    for (program, package) in PROGRAMS {
        if !is_there(program) {
            return Err(Failure::new(format!("there is no {program}: install {package}")));
        }
    }
    let binary = gateway::build(root)?;
    let cases = root.join("clients");
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let folder = root.join(target).join("clients");
    fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
    let folder = absolute(&folder)?;
    let python = install_python(&cases, &folder)?;
    install_node(&cases, &folder)?;
    run_tests(
        Command::new("python3")
            .arg(cases.join("run.py"))
            .arg("--gateway")
            .arg(binary)
            .arg("--python")
            .arg(python)
            .arg("--node-modules")
            .arg(folder.join("node_modules"))
            .env("PYTHONDONTWRITEBYTECODE", "1"),
    )?;
    Ok(Done::Passed)
}

/// Installs Python's libraries in an environment of their own; gives its interpreter.
fn install_python(cases: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let environment = folder.join("venv");
    let python = environment.join("bin").join("python");
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    }
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg(cases.join("requirements.txt")))?;
    Ok(python)
}

fn install_node(cases: &Path, folder: &Path) -> Result<(), Failure> {
    for file in NODE_FILES {
        let (from, to) = (cases.join(file), folder.join(file));
        fs::copy(&from, &to).map_err(|error| unwritable(&to, &error))?;
    }
    run(Command::new("npm")
        .args(["ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(folder))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {error}", path.display()))
}
