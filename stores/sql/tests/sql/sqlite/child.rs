//! A process of its own, which the other tests start: this program again, with one task to do to a
//! file. It tells what it has done line by line.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{crowd, files, killed, room};

const TASK: &str = "LEASEHOLD_SQL_TASK";
const FILE: &str = "LEASEHOLD_SQL_FILE";

/// What stands before each thing told: the test runner writes to the same stream.
const MARK: &str = "told: ";

/// Says that something is done.
pub(super) fn tell(what: &str) {
    println!("{MARK}{what}");
}

/// How to start a process with a task; `wrap` are a program and arguments that start it.
pub(super) fn command(wrap: &[&str], task: &str, file: &Path) -> Command {
    let program = std::env::current_exe().expect("this program has a path");
    let program = program.to_str().expect("a path of plain letters");
    let mut words = wrap.iter().copied().chain([program]);
    let mut command = Command::new(words.next().unwrap_or(program));
    command
        .args(words)
        .args(["--exact", "sqlite::child::process", "--nocapture"])
        .env(TASK, task)
        .env(FILE, file)
        .stdout(Stdio::piped());
    command
}

pub(super) fn start(task: &str, file: &Path) -> Child {
    command(&[], task, file).spawn().expect("the process starts")
}

/// What a process tells, as it tells it. A line that was cut off is left out.
pub(super) fn told(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let mut stream = BufReader::new(child.stdout.take().expect("the stream is taken once"));
    std::iter::from_fn(move || {
        // Ends with the stream.
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).expect("a stream of text") == 0 {
                return None;
            }
            if let Some((_, what)) = line.split_once(MARK)
                && let Some(what) = what.strip_suffix('\n')
            {
                return Some(what.to_owned());
            }
        }
    })
}

/// Everything that a process tells, which has to end well.
#[track_caller]
pub(super) fn all_told(mut child: Child) -> Vec<String> {
    let all = told(&mut child).collect();
    let ended = child.wait().expect("the process is ours");
    assert!(ended.success(), "{ended}: {all:?}");
    all
}

/// Does its task, if it has one: the other tests start it, each in a process of its own.
#[test]
fn process() {
    let Ok(task) = std::env::var(TASK) else { return };
    let file = PathBuf::from(std::env::var_os(FILE).expect("a file comes with a task"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        match task.as_str() {
            "commit" => killed::commit_without_end(&file).await,
            "compete" => crowd::compete(&file).await,
            "fill" => room::fill(&file).await,
            "meet a file that is read-only" => files::meet_read_only(&file).await,
            task => panic!("no task is called {task:?}"),
        }
    });
}
