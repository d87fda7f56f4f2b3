//! A shell that runs one server, passes signals on to it, and kills it once nobody holds the
//! shell's input any more: also when the tests' process is killed, so that neither the server nor
//! its files outlive them.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::account::Account;
use crate::server::Kind;

/// Reads what to do line by line, and answers each once it is done. A server has children if it is
/// PostgreSQL, one for each connection; they live on for a while if their parent alone is killed,
/// and answer while it alone is paused. It is stopped first, so that it has no more of them
/// meanwhile. In the end it gets the signal by which it ends its children itself, since who
/// inherits them may not reap them.
const SCRIPT: &str = r#"
folder=$1
last=$2
shift 2
"$@" </dev/null >&2 &
server=$!
exec 2>/dev/null
# Whatever ends the tests is sent to their whole group, and servers bear some of it: the end of the
# input is what counts here. The kernel itself sends HUP to a group whose parent ends while one of
# the group stands still.
trap '' HUP INT TERM PIPE
signal() {
    kill -s STOP "$server"
    kill -s "$1" "$server" $(cat "/proc/$server/task/$server/children")
}
# A signal is sent at once and heeded a little later.
paused() {
    for one in "$server" $(cat "/proc/$server/task/$server/children"); do
        while grep -qs '^State:[[:space:]]*[RSDI]' "/proc/$one/task/"*/status; do :; done
    done
}
while read -r order; do
    case $order in
        PAUSE) signal STOP; paused ;;
        RESUME) signal CONT ;;
        KILL) signal KILL; wait "$server"; echo done; exit ;;
        *) kill -s "$order" "$server"; wait "$server"; echo done; exit ;;
    esac
    echo done
done
kill -s CONT "$server" $(cat "/proc/$server/task/$server/children")
kill -s "$last" "$server"
wait "$server"
rm -rf "$folder"
"#;

/// Longest wait for a server's next line while it starts. Arbitrary, far above what it takes.
const START_PATIENCE: Duration = Duration::from_secs(60);

/// One running server.
#[derive(Debug)]
pub(crate) struct Keeper {
    shell: Child,
    answers: BufReader<ChildStdout>,
}

impl Keeper {
    /// Starts a server by its program and arguments, and waits until it is ready. Once nobody
    /// holds the keeper any more, it gets the signal `last` and `folder` is removed.
    ///
    /// # Errors
    ///
    /// What the server has logged, if it ended instead.
    pub(crate) fn start(
        account: Account,
        folder: &Path,
        command: &[OsString],
        kind: &'static Kind,
    ) -> Result<Self, String> {
        let mut shell = account
            .command("sh")
            .args(["-c", SCRIPT, "keeper"])
            .arg(folder)
            .arg(kind.last)
            .args(command)
            .current_dir(folder)
            // MariaDB removes what another one has in a folder that they share.
            .env("TMPDIR", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a shell can be started");
        let answers = BufReader::new(shell.stdout.take().expect("the shell's output is piped"));
        let log = BufReader::new(shell.stderr.take().expect("the shell's log is piped"));
        let (tell, told) = mpsc::channel();
        // Reads on until the server ends, since a full pipe would stop it. A log may hold bytes
        // that are not text.
        std::thread::spawn(move || {
            for line in log.split(b'\n').map_while(Result::ok) {
                let _ = tell.send(String::from_utf8_lossy(&line).into_owned());
            }
        });
        let mut keeper = Self { shell, answers };
        let mut lines = Vec::new();
        // Ends: with the server's log, or when no line comes for that long.
        loop {
            match told.recv_timeout(START_PATIENCE) {
                Ok(line) if line.contains(kind.ready) => return Ok(keeper),
                Ok(line) => lines.push(line),
                Err(_) => {
                    // The folder stays for another try.
                    keeper.order("KILL");
                    return Err(lines.join("\n"));
                }
            }
        }
    }

    /// Has something done to the server, and returns once that is done: `PAUSE`, `RESUME`, or the
    /// name of a signal that ends it, after which the keeper is of no use.
    pub(crate) fn order(&mut self, order: &str) {
        let input = self.shell.stdin.as_mut().expect("the shell's input is piped");
        writeln!(input, "{order}").expect("the shell reads");
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
