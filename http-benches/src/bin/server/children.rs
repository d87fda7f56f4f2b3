//! The servers as processes of their own. Each ends, at the latest, when this is dropped.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Keys for which the gateway has room: more than it is sent in all rounds.
const MAX_ENTRIES: usize = 2_000_000;

/// Connections that nginx keeps to the upstream: more than wrk keeps to nginx.
const KEEP_ALIVE: usize = 1_024;

/// How often, and how long each time, one waits for nginx to listen.
const LOOKS: u32 = 250;
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// A folder of this run's own, removed with what is in it.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn make() -> Result<Self, String> {
        let name = format!("leasehold-http-benches-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).map_err(|error| format!("cannot make a folder: {error}"))?;
        Ok(Self(path))
    }

    /// A file in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.path(name);
        fs::write(&path, text).map_err(|error| format!("cannot write {name}: {error}"))?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left of it is in the system's own folder for such files.
        let _left = fs::remove_dir_all(&self.0);
    }
}

/// A server process.
#[derive(Debug)]
pub(crate) struct Child {
    process: std::process::Child,
    address: SocketAddr,
}

impl Child {
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts a program that says where it listens.
    fn announced(command: &mut Command) -> Result<Self, String> {
        let mut process = start(command.stdout(Stdio::piped()))?;
        let line = process.stdout.take().and_then(|out| BufReader::new(out).lines().next());
        let line = line.and_then(Result::ok).unwrap_or_default();
        let address = line.strip_prefix("listening on http://").and_then(|text| text.parse().ok());
        // Made first, so that it is ended if it has said something else.
        let unknown = ([127, 0, 0, 1], 0).into();
        let child = Self { process, address: address.unwrap_or(unknown) };
        address.map_or_else(|| Err(format!("a server said {line:?}")), |_| Ok(child))
    }

    /// Starts a program that listens where it was told to.
    fn listening(command: &mut Command, address: SocketAddr) -> Result<Self, String> {
        let mut child = Self { process: start(command.stdout(Stdio::null()))?, address };
        for _ in 0..LOOKS {
            if TcpStream::connect(address).is_ok() {
                return Ok(child);
            }
            if let Ok(Some(status)) = child.process.try_wait() {
                return Err(format!("a server ended with {status}"));
            }
            sleep(LOOK_PAUSE);
        }
        Err("a server does not listen".to_owned())
    }
}

fn start(command: &mut Command) -> Result<std::process::Child, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let started = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn();
    started.map_err(|error| format!("cannot start {name}: {error}"))
}

impl Drop for Child {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(Some(_))) {
            return;
        }
        // Asked to end, so that nginx ends its workers.
        let id = self.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status();
        if !asked.is_ok_and(|status| status.success()) {
            let _ended = self.process.kill();
        }
        let _ended = self.process.wait();
    }
}

/// Everybody who takes part.
#[derive(Debug)]
pub(crate) struct Servers {
    pub(crate) hyper: Child,
    pub(crate) layer: Child,
    pub(crate) gateway: Child,
    pub(crate) nginx: Child,
    pub(crate) axum_reverse_proxy: Child,
    _upstream: Child,
}

impl Servers {
    pub(crate) fn start(folder: &Folder, gateway: &Path) -> Result<Self, String> {
        let upstream = Child::announced(&mut own(&["hyper"])?)?;
        let target = format!("http://{}", upstream.address());
        Ok(Self {
            hyper: Child::announced(&mut own(&["hyper"])?)?,
            layer: Child::announced(&mut own(&["layer"])?)?,
            gateway: start_gateway(folder, gateway, &target)?,
            nginx: start_nginx(folder, upstream.address())?,
            axum_reverse_proxy: Child::announced(&mut own(&["axum-reverse-proxy", &target])?)?,
            _upstream: upstream,
        })
    }
}

/// This program as a server.
fn own(arguments: &[&str]) -> Result<Command, String> {
    let own = std::env::current_exe().map_err(|error| format!("cannot find itself: {error}"))?;
    let mut command = Command::new(own);
    command.args(arguments);
    Ok(command)
}

/// The gateway with its defaults, but for room, and a route that is not protected.
fn start_gateway(folder: &Folder, binary: &Path, upstream: &str) -> Result<Child, String> {
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nupstream = \"{upstream}\"\n[idempotency]\n\
         max-entries = {MAX_ENTRIES}\n[[route]]\npath = \"/free/*\"\nenabled = false\n"
    );
    let settings = folder.write("gateway.toml", &settings)?;
    let mut command = Command::new(binary);
    command.args(["serve", "--config"]).arg(settings);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("LEASEHOLD_") || name == "RUST_LOG" {
            command.env_remove(name);
        }
    }
    Child::announced(&mut command)
}

/// nginx as a reverse proxy with kept connections on both sides, a worker for each core.
fn start_nginx(folder: &Folder, upstream: SocketAddr) -> Result<Child, String> {
    // Let go again: nobody else is likely to take it meanwhile.
    let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    let listen = free.map_err(|error| format!("no free port: {error}"))?;
    let settings = include_str!("nginx.conf")
        .replace("LISTEN", &listen.to_string())
        .replace("UPSTREAM", &upstream.to_string())
        .replace("KEEP_ALIVE", &KEEP_ALIVE.to_string());
    let settings = folder.write("nginx.conf", &settings)?;
    let mut command = Command::new("nginx");
    command.arg("-p").arg(&folder.0).arg("-c").arg(settings);
    command.arg("-e").arg(folder.path("nginx.log"));
    Child::listening(&mut command, listen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_ends_or_says_something_else_is_an_error() {
        let said = Child::announced(Command::new("echo").arg("hello"));
        assert!(said.is_err_and(|why| why.contains("hello")));
        let nowhere = ([127, 0, 0, 1], 1).into();
        let ended = Child::listening(&mut Command::new("false"), nowhere);
        assert!(ended.is_err_and(|why| why.contains("ended")));
        assert!(Child::announced(&mut Command::new("no-such-program-anywhere")).is_err());
    }

    #[test]
    fn a_folder_goes_with_what_is_in_it() {
        let folder = Folder::make().expect("made");
        let file = folder.write("a", "b").expect("written");
        assert!(file.exists());
        drop(folder);
        assert!(!file.exists());
    }
}
