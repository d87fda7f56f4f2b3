//! Just enough of the protocol to ask a server something: one command, one reply, as text.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// Longest wait for a reply. Arbitrary, far above what any takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends a command on a connection of its own, and gives the reply: a status or an error with its
/// first character, a number or a string without; the elements of an array line by line.
pub(crate) fn ask(port: u16, command: &[&str]) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut request = format!("*{}\r\n", command.len());
    for part in command {
        request.push_str(&format!("${}\r\n{part}\r\n", part.len()));
    }
    stream.write_all(request.as_bytes())?;
    read(&mut BufReader::new(stream))
}

fn read(from: &mut impl BufRead) -> std::io::Result<String> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    let line = line.trim_end();
    let (kind, rest) = line.split_at(line.len().min(1));
    match (kind, rest.parse::<usize>()) {
        ("$", Ok(length)) => {
            let mut bytes = vec![0; length + 2];
            from.read_exact(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
        }
        ("*", Ok(count)) => {
            let parts: std::io::Result<Vec<_>> = (0..count).map(|_| read(from)).collect();
            Ok(parts?.join("\n"))
        }
        (":", _) => Ok(rest.to_owned()),
        _ => Ok(line.to_owned()),
    }
}
