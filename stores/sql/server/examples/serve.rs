//! Starts a server, prints its URL, and ends it when standard input ends: `serve postgres`, or
//! `serve mariadb`. What follows is handed to the server.

use std::io::{Read as _, Write as _};
use std::ops::Deref;
use std::process::ExitCode;

use leasehold_sql_server::{MariaDb, Postgres, Server};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.split_first() {
        Some((&"postgres", arguments)) => serve(&Postgres::start(arguments)),
        Some((&"mariadb", arguments)) => serve(&MariaDb::start(arguments)),
        _ => {
            eprintln!("serve postgres|mariadb [ARGUMENTS OF THE SERVER]");
            ExitCode::from(2)
        }
    }
}

fn serve(server: &impl Deref<Target = Server>) -> ExitCode {
    let told = writeln!(std::io::stdout(), "{}", server.url());
    // An error is an end too.
    let _ended = std::io::stdin().read_to_end(&mut Vec::new());
    if told.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
