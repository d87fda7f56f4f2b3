//! A shell that runs one server, passes signals on to it, and kills it once nobody holds the
//! shell's input any more: also when the tests' process is killed, so that no server outlives them.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::program::program;

/// Reads names of signals line by line, and answers each once it is sent.
const SCRIPT: &str = r#"
"$@" </dev/null >&2 &
server=$!
exec 2>&-
# Whatever ends the tests is sent to their whole group: the end of the input is what counts here.
trap '' HUP INT TERM PIPE
while read -r signal; do
    kill -s "$signal" "$server"
    if [ "$signal" = KILL ]; then wait "$server"; fi
    echo sent
done
kill -s CONT "$server"
kill -s KILL "$server"
wait "$server"
"#;

/// Longest wait for a server to say that it is ready. Arbitrary, far above what it takes.
const START_PATIENCE: Duration = Duration::from_secs(30);

/// What a server logs when it takes commands, and what a sentinel does.
const READY: [&str; 2] = ["Ready to accept connections", "Sentinel ID is"];

/// One running server.
#[derive(Debug)]
pub(crate) struct Keeper {
    shell: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Keeper {
    /// Starts a server and waits until it is ready.
    ///
    /// # Errors
    ///
    /// What the server has logged, if it ended instead.
    pub(crate) fn start(arguments: &[String]) -> Result<Self, String> {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "keeper"])
            .arg(program())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a shell can be started");
        let answers = BufReader::new(shell.stdout.take().expect("the shell's output is piped"));
        let log = BufReader::new(shell.stderr.take().expect("the shell's log is piped"));
        let (tell, told) = mpsc::channel();
        // Reads on until the server ends, since a full pipe would stop it.
        std::thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                let _ = tell.send(line);
            }
        });
        let keeper = Self { shell, answers };
        let mut lines = Vec::new();
        // Ends: with the server's log, or when no line comes for that long.
        loop {
            match told.recv_timeout(START_PATIENCE) {
                Ok(line) if READY.iter().any(|words| line.contains(words)) => return Ok(keeper),
                Ok(line) => lines.push(line),
                Err(_) => return Err(lines.join("\n")),
            }
        }
    }

    /// Sends a signal by its name, and returns once that is done.
    pub(crate) fn signal(&mut self, name: &str) {
        let input = self.shell.stdin.as_mut().expect("the shell's input is piped");
        writeln!(input, "{name}").expect("the shell reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("the shell answers");
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Closing its input ends the shell, which kills the server first.
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}
