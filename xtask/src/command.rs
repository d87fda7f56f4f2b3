//! Starts programs and turns their ends into results. Says what it starts, so that anybody can
//! repeat it by hand.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// A cargo command in the workspace's root: the cargo that started this program, if any.
pub(crate) fn cargo<'a>(root: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(root);
    command
}

/// Runs a command to its end, without input. It fails unless the command succeeds.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let shown = show(command);
    println!("$ {shown}");
    let status = command
        .stdin(Stdio::null())
        .status()
        .map_err(|error| Failure::new(format!("cannot start `{shown}`: {error}")))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("`{shown}`: {status}"))) }
}

/// Whether a program can be started at all.
pub(crate) fn is_there(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A command as one would type it, with the variables that it sets.
pub(crate) fn show(command: &Command) -> String {
    let mut words = Vec::new();
    let set = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    for (name, value) in set {
        let value = value.to_string_lossy();
        words.push(format!("{}={}", name.to_string_lossy(), quoted(&value)));
    }
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    words.push(program.to_string_lossy().into_owned());
    words.extend(command.get_args().map(|word| quoted(&word.to_string_lossy())));
    words.join(" ")
}

fn quoted(word: &str) -> String {
    if word.contains(' ') { format!("\"{word}\"") } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_is_typed() {
        let mut command = cargo(Path::new("."), ["test", "-p", "a b"]);
        command.env("X", "--cfg y");
        assert!(show(&command).starts_with("X=\"--cfg y\" cargo"));
        assert!(show(&command).ends_with("test -p \"a b\""));
    }

    #[test]
    fn a_program_that_fails_or_is_not_there_is_a_failure() {
        let root = crate::workspace::root();
        assert!(run(&mut cargo(&root, ["--version"])).is_ok());
        assert!(run(cargo(&root, ["no-such-command"]).stderr(Stdio::null())).is_err());
        assert!(run(&mut Command::new("no-such-program-anywhere")).is_err());
        assert!(!is_there("no-such-program-anywhere"));
    }
}
