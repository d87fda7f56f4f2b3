//! The binary as a process, with its configuration in a file.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::client::Call;
use super::{next_number, soon};

/// A file of this test run's own.
fn file(kind: &str) -> PathBuf {
    let name = format!("gateway-{}-{}.{kind}", std::process::id(), next_number());
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The binary with none of the environment's settings.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leasehold"));
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("LEASEHOLD_") || name == "RUST_LOG" {
            command.env_remove(name);
        }
    }
    command
}

/// The same, with a limit that the shell sets by `ulimit`.
fn limited(arguments: &[&str], limit: &str) -> Command {
    let mut limited = Command::new("sh");
    let plain = command(arguments);
    let script = format!("ulimit {limit} && exec \"$0\" \"$@\"");
    limited.args(["-c", &script]).arg(plain.as_std().get_program());
    limited.args(plain.as_std().get_args()).stdin(Stdio::null()).kill_on_drop(true);
    limited
}

/// Runs the binary to its end.
pub(super) async fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = command(arguments);
    command.envs(environment.iter().copied());
    soon("the end of the process", command.output()).await.expect("started")
}

/// Runs the binary to its end with this on its standard input.
pub(super) async fn run_fed(arguments: &[&str], input: &str) -> Output {
    let mut command = command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("started");
    let mut pipe = child.stdin.take().expect("piped");
    // One that refuses its flags reads nothing, and has ended by now.
    let _closed = pipe.write_all(input.as_bytes()).await;
    drop(pipe);
    soon("the end of the process", child.wait_with_output()).await.expect("waited")
}

/// Runs the binary to its end with at most so many KiB of address space.
pub(super) async fn run_within(kib_max: u64, arguments: &[&str]) -> Output {
    let mut command = limited(arguments, &format!("-v {kib_max}"));
    soon("the end of the process", command.output()).await.expect("started")
}

/// Runs a subcommand with a configuration of this text to its end.
pub(super) async fn run_with(subcommand: &str, text: &str) -> Output {
    let path = file("toml");
    std::fs::write(&path, text).expect("written");
    let output = run(&[subcommand, "--config", &path.to_string_lossy()], &[]).await;
    std::fs::remove_file(&path).expect("removed");
    output
}

/// Sends a signal by its name.
async fn signal(child: &Child, name: &str) {
    let id = child.id().expect("running").to_string();
    let sent = Command::new("kill").args(["-s", name, &id]).status().await.expect("kill runs");
    assert!(sent.success());
}

/// A gateway that does not listen yet. It is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Starting {
    child: Child,
    log: Lines<BufReader<ChildStderr>>,
}

impl Starting {
    /// Starts the binary with these arguments.
    pub(super) fn spawn(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = command(arguments);
        command.envs(environment.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let log = BufReader::new(child.stderr.take().expect("piped")).lines();
        Self { child, log }
    }

    /// Waits for a line of its log that has these words.
    pub(super) async fn logs(&mut self, words: &str) {
        soon(words, async {
            while let Some(line) = self.log.next_line().await.expect("read") {
                if line.contains(words) {
                    return;
                }
            }
            panic!("it ended without a word of {words:?}");
        })
        .await;
    }

    /// Sends a signal by its name.
    pub(super) async fn signal(&self, name: &str) {
        signal(&self.child, name).await;
    }

    /// Waits for its end; gives the exit code and what it has printed on standard output.
    pub(super) async fn ended(self) -> (Option<i32>, Vec<u8>) {
        let output = self.child.wait_with_output();
        let output = soon("the end of the process", output).await.expect("waited");
        (output.status.code(), output.stdout)
    }
}

/// A running gateway. It is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Gateway {
    pub(super) address: SocketAddr,
    pub(super) admin: Option<SocketAddr>,
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    files: [PathBuf; 2],
}

impl Gateway {
    /// Starts one in front of `upstream`; `settings` are the lines of `[idempotency]` and what
    /// follows it.
    pub(super) async fn start(upstream: SocketAddr, settings: &str) -> Self {
        Self::start_with(upstream, "", settings, &[]).await
    }

    /// The same with lines outside of any table and variables of the environment.
    pub(super) async fn start_with(
        upstream: SocketAddr,
        top: &str,
        settings: &str,
        environment: &[(&str, &str)],
    ) -> Self {
        let text = format!(
            "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\nupstream = \"http://{upstream}\"\n\
             {top}\n[idempotency]\n{settings}\n"
        );
        let config = file("toml");
        std::fs::write(&config, text).expect("written");
        let arguments = ["serve", "--config", &config.to_string_lossy()];
        let mut gateway = Self::spawn(&arguments, config.clone(), environment).await;
        gateway.admin = Some(gateway.announced("admin on http://").await);
        gateway
    }

    /// Starts the binary with these arguments and waits until it listens.
    pub(super) async fn start_plain(arguments: &[&str]) -> Self {
        Self::spawn(arguments, file("toml"), &[]).await
    }

    /// The same with a soft limit on open files.
    pub(super) async fn start_limited(arguments: &[&str], files_max: u32) -> Self {
        Self::spawn_command(limited(arguments, &format!("-Sn {files_max}")), file("toml"), &[])
            .await
    }

    async fn spawn(arguments: &[&str], config: PathBuf, environment: &[(&str, &str)]) -> Self {
        Self::spawn_command(command(arguments), config, environment).await
    }

    async fn spawn_command(
        mut command: Command,
        config: PathBuf,
        environment: &[(&str, &str)],
    ) -> Self {
        let log = file("log");
        command.envs(environment.iter().copied()).stdout(Stdio::piped());
        command.stderr(std::fs::File::create(&log).expect("created"));
        let mut child = command.spawn().expect("started");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let address = ([0, 0, 0, 0], 0).into();
        let mut gateway = Self { address, admin: None, child, lines, files: [config, log] };
        gateway.address = gateway.announced("listening on http://").await;
        gateway
    }

    async fn announced(&mut self, what: &str) -> SocketAddr {
        let line = self.line().await;
        let address = line.strip_prefix(what).unwrap_or_else(|| panic!("{line:?} for {what:?}"));
        address.parse().expect("an address")
    }

    /// The next line on standard output.
    pub(super) async fn line(&mut self) -> String {
        let line = soon("a line", self.lines.next_line()).await.expect("read");
        line.unwrap_or_else(|| panic!("the gateway ended: {}", self.log()))
    }

    /// What it has logged so far.
    pub(super) fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.files[1]).expect("a log")).into_owned()
    }

    /// The file of its settings.
    pub(super) fn config(&self) -> &str {
        self.files[0].to_str().expect("text")
    }

    /// How many files it has open, connections included.
    pub(super) fn open_files(&self) -> usize {
        let id = self.child.id().expect("running");
        std::fs::read_dir(format!("/proc/{id}/fd")).expect("a list").count()
    }

    /// Sends SIGTERM.
    pub(super) async fn terminate(&self) {
        signal(&self.child, "TERM").await;
    }

    /// Kills it without a word, and waits until it is gone.
    pub(super) async fn kill(&mut self) {
        self.child.kill().await.expect("killed");
    }

    /// Waits for its end and gives the exit code.
    pub(super) async fn ended(&mut self) -> Option<i32> {
        soon("the end of the gateway", self.child.wait()).await.expect("waited").code()
    }

    /// The metrics page.
    pub(super) async fn metrics(&self) -> String {
        let admin = self.admin.expect("an admin address");
        let answer = Call::new(http::Method::GET, "/metrics").send(admin).await;
        String::from_utf8(answer.body.to_vec()).expect("text")
    }

    /// The value of one series as it is written on the page, `None` if it is absent.
    pub(super) async fn metric(&self, series: &str) -> Option<f64> {
        let page = self.metrics().await;
        let value = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        value.map(|value| value.parse().expect("a number"))
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        for path in &self.files {
            // A gateway without a configuration has no such file.
            let _absent = std::fs::remove_file(path);
        }
    }
}
