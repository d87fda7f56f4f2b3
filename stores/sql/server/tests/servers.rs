//! The servers themselves: what they keep over a kill, and that nothing of them is left behind.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use leasehold_sql_server::{MariaDb, Postgres, Server};

/// Set in a process of this test that starts a server and is killed.
const VICTIM: &str = "LEASEHOLD_SQL_SERVER_VICTIM";

fn keeps_what_was_committed(server: &Server) {
    server.ask("CREATE TABLE kept (n INT); INSERT INTO kept VALUES (7)");
    server.kill();
    assert!(!is_up(server.port()));
    server.start_again();
    assert_eq!(server.ask("SELECT n FROM kept"), "7");
    server.stop();
    assert!(!is_up(server.port()));
    server.start_again();
    server.pause();
    server.resume();
    assert_eq!(server.ask("SELECT n FROM kept"), "7");
}

fn is_up(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[test]
fn postgres_keeps_what_was_committed() {
    keeps_what_was_committed(&Postgres::start(&[]));
}

#[test]
fn mariadb_keeps_what_was_committed() {
    keeps_what_was_committed(&MariaDb::start(&[]));
}

#[test]
fn a_dropped_server_is_gone_with_its_files() {
    let server = Postgres::start(&["-c", "fsync=off"]);
    let (port, folder) = (server.port(), server.folder().to_owned());
    assert!(is_up(port) && folder.exists());
    drop(server);
    assert!(!is_up(port) && !folder.exists());
}

#[test]
fn a_killed_process_leaves_no_server_and_no_files() {
    if let Ok(kind) = std::env::var(VICTIM) {
        let (postgres, mariadb);
        let server: &Server = if kind == "postgres" {
            postgres = Postgres::start(&["-c", "fsync=off"]);
            &postgres
        } else {
            mariadb = MariaDb::start(&[]);
            &mariadb
        };
        println!("\nserver {} {}", server.port(), server.folder().display());
        // Until it is killed.
        loop {
            std::thread::park();
        }
    }
    for (kind, signal) in [
        ("postgres", "KILL"),
        ("mariadb", "KILL"),
        ("postgres", "INT"),
        ("mariadb", "INT"),
        ("mariadb", "HUP"),
        ("mariadb", "TERM"),
    ] {
        let program = std::env::current_exe().expect("a test has a program");
        let mut victim = Command::new(program)
            .args(["--exact", "a_killed_process_leaves_no_server_and_no_files", "--nocapture"])
            .env(VICTIM, kind)
            .process_group(0)
            .stdout(Stdio::piped())
            .spawn()
            .expect("a test can be started");
        let output = BufReader::new(victim.stdout.take().expect("its output is piped"));
        let told = output.lines().map_while(Result::ok).find(|line| line.starts_with("server "));
        let told = told.expect("it tells its server");
        let (port, folder) = told["server ".len()..].split_once(' ').expect("a port and a folder");
        let (port, folder) = (port.parse().expect("a port"), PathBuf::from(folder));
        assert!(is_up(port) && folder.exists());
        let group = victim.id();
        let to = if signal == "KILL" { group.to_string() } else { format!("-{group}") };
        let kill = format!("kill -s {signal} -- {to}");
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
        victim.wait().expect("it was killed");
        // Ends: the server's keeper sees that its input is closed, or the test runs into the
        // runner's limit.
        while is_up(port) || folder.exists() {
            std::thread::yield_now();
        }
    }
}
