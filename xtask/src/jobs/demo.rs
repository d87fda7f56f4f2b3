//! Starts the demo and asks it what it prints: each line for `curl`, and the answer below it.
//!
//! Speaks HTTP itself, since curl need not be there.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::{Done, gateway};
use crate::failure::Failure;
use crate::stopwatch::Stopwatch;

/// How many lines there are to try.
const EXAMPLES: usize = 3;

/// How long the demo may take to say anything before it counts as stuck. Arbitrary, and long: it
/// takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// A line for curl with its answer.
#[derive(Debug, PartialEq, Eq)]
struct Example {
    /// Host and port.
    authority: String,
    path: String,
    /// As they are sent, `Name: value`.
    headers: Vec<String>,
    body: String,
    /// Status code, reason, and a part of the body.
    answer: String,
}

pub(super) fn check(root: &Path) -> Result<Done, Failure> {
    let binary = gateway::build(root)?;
    let stopwatch = Stopwatch::start();
    let mut demo = Running::start(Command::new(binary).args(["demo", "--listen", "127.0.0.1:0"]))?;
    for example in demo.examples()? {
        let answer = ask(&example).map_err(|error| {
            Failure::new(format!("the demo at {} broke off: {error}", example.authority))
        })?;
        judge(&example, &answer)?;
        println!("as printed: {}", example.answer);
    }
    println!("{:.0} ms from its start to the last answer", stopwatch.elapsed().as_secs_f64() * 1e3);
    Ok(Done::Passed)
}

/// The running demo; ends with this value.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Result<Self, Failure> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        child.map(Self).map_err(|error| Failure::new(format!("cannot start the demo: {error}")))
    }

    /// Reads what it prints until there are examples enough.
    fn examples(&mut self) -> Result<Vec<Example>, Failure> {
        let output = self.0.stdout.take().ok_or_else(|| Failure::new("the demo is mute"))?;
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut printed = String::new();
        loop {
            let examples = examples(&printed)?;
            if examples.len() >= EXAMPLES {
                return Ok(examples);
            }
            let line = receiver.recv_timeout(PATIENCE).map_err(|_| {
                let count = examples.len();
                Failure::new(format!("the demo printed {count} examples of {EXAMPLES}:\n{printed}"))
            })?;
            printed.push_str(&line);
            printed.push('\n');
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing left to end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The examples in what was printed.
fn examples(printed: &str) -> Result<Vec<Example>, Failure> {
    let mut examples = Vec::new();
    let mut asked: Option<&str> = None;
    for line in printed.lines() {
        if line.starts_with("curl ") {
            asked = Some(line);
        } else if let Some(answer) = line.strip_prefix("#=> ") {
            let asked = asked.take().ok_or_else(|| {
                Failure::new(format!("the demo printed an answer to nothing: {line}"))
            })?;
            examples.push(example(asked, answer).ok_or_else(|| {
                Failure::new(format!("the demo printed a line that is not understood: {asked}"))
            })?);
        }
    }
    Ok(examples)
}

/// Reads `curl -i URL -H 'Name: value' -d 'body'`, and its answer up to a remark in parentheses.
fn example(asked: &str, answer: &str) -> Option<Example> {
    let mut words = words(asked).into_iter().skip(1);
    let (mut url, mut headers, mut body) = (None, Vec::new(), String::new());
    while let Some(word) = words.next() {
        match word.as_str() {
            "-i" => {}
            "-H" => headers.push(words.next()?),
            "-d" => body = words.next()?,
            _ => url = Some(word.strip_prefix("http://")?.to_owned()),
        }
    }
    let url = url?;
    let (authority, path) = url.split_once('/')?;
    let answer = match answer.rsplit_once(" (") {
        Some((before, remark)) if remark.ends_with(')') => before,
        _ => answer,
    };
    Some(Example {
        authority: authority.to_owned(),
        path: format!("/{path}"),
        headers,
        body,
        answer: answer.to_owned(),
    })
}

/// Words as a shell reads them, with single quotes alone.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, piece) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(piece.to_owned());
        } else {
            words.extend(piece.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// Sends what curl would send, and gives the whole answer.
fn ask(example: &Example) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(&example.authority)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let Example { authority, path, headers, body, .. } = example;
    let mut request = format!("POST {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n");
    for header in headers {
        request.push_str(header);
        request.push_str("\r\n");
    }
    let length = body.len();
    let kind = "application/x-www-form-urlencoded";
    request.push_str(&format!("Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"));
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Whether an answer is as it was printed.
fn judge(example: &Example, answer: &str) -> Result<(), Failure> {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let status_line = head.lines().next().unwrap_or_default();
    let status = status_line.split_once(' ').map_or("", |(_, status)| status);
    let part = example.answer.strip_prefix(status).filter(|_| !status.is_empty());
    if part.is_some_and(|part| body.contains(part.trim())) {
        return Ok(());
    }
    let wanted = &example.answer;
    Err(Failure::new(format!("the demo promised {wanted}, but answered {status} {}", body.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "listening on http://127.0.0.1:1\n\ncurl -i http://127.0.0.1:1/orders \
        -H 'Idempotency-Key: k' -d '{\"item\":\"a b\"}'\n#=> 201 Created {\"id\":1} (remark)\n";

    #[test]
    fn a_printed_example_is_what_curl_would_send() {
        assert_eq!(
            examples(PRINTED),
            Ok(vec![Example {
                authority: "127.0.0.1:1".into(),
                path: "/orders".into(),
                headers: vec!["Idempotency-Key: k".into()],
                body: "{\"item\":\"a b\"}".into(),
                answer: "201 Created {\"id\":1}".into(),
            }])
        );
    }

    #[test]
    fn what_is_not_understood_is_a_failure() {
        assert!(examples("#=> 201 Created").is_err());
        assert!(examples("curl -i ftp://x/ \n#=> 201 Created").is_err());
        assert!(examples("curl -i http://x/y -H\n#=> 201 Created").is_err());
        assert_eq!(examples("curl -i http://x/y"), Ok(Vec::new()));
    }

    #[test]
    fn another_status_or_body_is_a_failure() {
        let examples = examples(PRINTED).expect("it is understood");
        let judge = |answer: &str| judge(&examples[0], answer);
        assert_eq!(judge("HTTP/1.1 201 Created\r\na: b\r\n\r\n{\"id\":1}\n"), Ok(()));
        for wrong in [
            "HTTP/1.1 409 Conflict\r\na: b\r\n\r\n{\"id\":1}\n",
            "HTTP/1.1 201 Created\r\na: b\r\n\r\n{\"id\":2}\n",
            "HTTP/1.1 201 Created",
            "",
        ] {
            assert!(judge(wrong).is_err(), "{wrong}");
        }
    }
}
