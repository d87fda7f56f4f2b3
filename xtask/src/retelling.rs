//! Keeps what a test run says of its failures, so that the end of a long log can tell it again:
//! that end may be all that a reader of CI gets to see. Must never hold a line back: each is
//! printed as it comes.

use std::io::{BufRead, BufReader, PipeReader};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::command::show;
use crate::failure::Failure;

/// Lines that are kept at most: a failure that prints more says the rest in the log itself.
const MOST: usize = 400;

/// How long to go on reading once the program has ended. What it started and left running may hold
/// its output open for good.
const SILENCE: Duration = Duration::from_millis(200);

/// Runs a command of tests to its end, without input. Its output goes on as it comes, all to
/// standard output; the failure has what stood in it about tests that failed.
pub(crate) fn run_tests(command: &mut Command) -> Result<(), Failure> {
    let shown = show(command);
    println!("$ {shown}");
    let mut retelling = Retelling::default();
    let status = follow(command, |line| {
        println!("{line}");
        retelling.hear(line);
    })
    .map_err(|error| Failure::new(format!("cannot run `{shown}`: {error}")))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("`{shown}`: {status}")).with_details(retelling.lines))
}

/// Gives each line of a command's output and of its errors, in the order in which they were
/// written, until it has ended.
fn follow(command: &mut Command, mut hear: impl FnMut(&str)) -> std::io::Result<ExitStatus> {
    let (reader, writer) = std::io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let child = command.spawn();
    // The command holds ends of the pipe, which would never close.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child?;
    let lines = lines(reader);
    loop {
        match lines.recv_timeout(SILENCE) {
            Ok(line) => hear(&line),
            Err(RecvTimeoutError::Timeout) => {
                if let Some(status) = child.try_wait()? {
                    return Ok(status);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return child.wait(),
        }
    }
}

fn lines(reader: PipeReader) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// What was said of failures so far.
#[derive(Debug, Default)]
struct Retelling {
    lines: Vec<String>,
    /// The file of tests that runs, as cargo named it last.
    running: Option<String>,
    /// Whether the lines of failed tests go on: Rust's from `failures:`, Python's from `FAIL:`.
    is_open: bool,
}

impl Retelling {
    fn hear(&mut self, line: &str) {
        let trimmed = line.trim_start();
        if trimmed.starts_with("Running ") || trimmed.starts_with("Doc-tests ") {
            self.running = Some(trimmed.to_owned());
            self.is_open = false;
        }
        let opens = ["FAIL: ", "ERROR: "].iter().any(|word| line.starts_with(word));
        if (line == "failures:" || opens) && !self.is_open {
            self.is_open = true;
            if let Some(running) = self.running.take() {
                self.keep(running);
            }
        }
        // Cargo's own: a test that was killed has no lines. There are few.
        if line.starts_with("error") || line.starts_with("    `-p ") {
            self.lines.push(line.to_owned());
        } else if self.is_open {
            self.keep(line.to_owned());
        }
        if line.starts_with("test result:") || line.starts_with("Ran ") {
            self.is_open = false;
        }
    }

    fn keep(&mut self, line: String) {
        if self.lines.len() < MOST {
            self.lines.push(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
     Running unittests src/lib.rs (target/debug/deps/good)
test result: ok. 1 passed; 0 failed
     Running tests/bad.rs (target/debug/deps/bad)
test one ... FAILED
test two ... ok

failures:

---- one stdout ----
thread 'one' panicked at tests/bad.rs:3:5

failures:
    one

test result: FAILED. 1 passed; 1 failed
   Doc-tests good
error: 1 target failed:
    `-p bad --test bad`";

    const PYTHON_LOG: &str = "\
.F
======================================================================
FAIL: test_three (cases.Three)
AssertionError: 409 != 201
----------------------------------------------------------------------
Ran 2 tests in 0.1s
good";

    #[test]
    fn what_failed_is_told_again_with_its_file_and_nothing_else() {
        let told = told(LOG);
        let first = "Running tests/bad.rs (target/debug/deps/bad)";
        assert_eq!(told.first().map(String::as_str), Some(first));
        assert!(told.iter().any(|line| line.contains("panicked at")));
        assert!(told.iter().any(|line| line == "    one"));
        assert_eq!(told.last().map(String::as_str), Some("    `-p bad --test bad`"));
        assert!(!told.iter().any(|line| line.contains("ok") || line.contains("Doc-tests")));
        let lines = ["FAIL: test_three (cases.Three)", "AssertionError: 409 != 201"];
        assert_eq!(self::told(PYTHON_LOG).get(..2), Some(&lines.map(String::from)[..]));
        assert_eq!(self::told(PYTHON_LOG).len(), 4);
    }

    fn told(log: &str) -> Vec<String> {
        let mut retelling = Retelling::default();
        log.lines().for_each(|line| retelling.hear(line));
        retelling.lines
    }

    #[test]
    fn a_command_is_followed_to_its_end_though_what_it_left_holds_its_output() {
        let mut heard = Vec::new();
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; sleep 600 & echo $!; exit 3"]);
        let status = follow(&mut command, |line| heard.push(line.to_owned()));
        assert_eq!(status.ok().and_then(|status| status.code()), Some(3));
        assert_eq!(heard.iter().take(2).collect::<Vec<_>>(), ["out", "err"]);
        let left = heard.last().cloned().unwrap_or_default();
        assert!(Command::new("kill").arg(left).status().is_ok_and(|status| status.success()));
    }
}
