//! One call, from its command to its answer, within its time.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use redis::{Cmd, ErrorKind, RedisError, ServerErrorKind, Value};
use tokio::time::{Instant, sleep, timeout_at};

use crate::dial::{Connection, Dialer};
use crate::failure::Failure;
use crate::link::{Generation, Link};
use crate::reply::Reply;
use crate::script::{Argument, Script};

/// Pause before a cluster's client is asked again for a node that it has lost. Arbitrary.
const NODE_PAUSE: Duration = Duration::from_millis(10);

/// Pause before a connection that has not answered is asked whether it is there at all. Arbitrary:
/// long beside what an answer takes, short beside a call's time.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// A script with its key and its arguments.
pub(crate) struct Call<'a> {
    pub(crate) script: &'a Script,
    pub(crate) key: &'a [u8],
    pub(crate) arguments: &'a [Argument<'a>],
}

/// Calls scripts over one link.
#[derive(Clone)]
pub(crate) struct Session {
    link: Link,
}

impl Session {
    pub(crate) fn new(dialer: Arc<Dialer>) -> Self {
        Self { link: Link::new(dialer) }
    }

    /// Calls a script, and waits for its answer until then.
    pub(crate) async fn call(&self, call: &Call<'_>, until: Instant) -> Result<Reply, Failure> {
        self.call_on(call, until).await.map(|(reply, _)| reply)
    }

    /// The same, with the connection that it went over.
    pub(crate) async fn call_on(
        &self,
        call: &Call<'_>,
        until: Instant,
    ) -> Result<(Reply, Line), Failure> {
        // Once a try may have landed, no later failure says that nothing was written.
        let mut may_have_landed = false;
        let answer = self.try_until(call, until, &mut may_have_landed).await;
        answer.map_err(|failure| if may_have_landed { failure.after_a_write() } else { failure })
    }

    async fn try_until(
        &self,
        call: &Call<'_>,
        until: Instant,
        may_have_landed: &mut bool,
    ) -> Result<(Reply, Line), Failure> {
        let by_hash = call.script.by_hash(call.key, call.arguments);
        let mut is_first = true;
        // Ends: a broken connection is tried again once, a lost node until the time is over.
        loop {
            let mut line = self.line(until).await?;
            let mut answer = line.send(&by_hash, until).await?;
            if answer.as_ref().is_err_and(is_unknown_script) {
                let by_text = call.script.by_text(call.key, call.arguments);
                answer = line.send(&by_text, until).await?;
            }
            match answer {
                Ok(value) => return Reply::read(value).map(|reply| (reply, line)),
                Err(error) if is_broken(&error) && call.script.is_repeatable && is_first => {
                    is_first = false;
                    *may_have_landed = true;
                }
                // The cluster's client has lost the key's node, and looks for it.
                Err(error) if is_lost_node(&error) && Instant::now() + NODE_PAUSE < until => {
                    sleep(NODE_PAUSE).await;
                }
                Err(error) => return Err(Failure::of(error)),
            }
        }
    }

    /// Waits for a connection until then.
    pub(crate) async fn connect(&self, until: Instant) -> Result<(), Failure> {
        self.line(until).await.map(drop)
    }

    /// Asks every server that takes writes.
    pub(crate) async fn ask_masters(&self, command: Cmd, until: Instant) -> Result<Value, Failure> {
        let mut line = self.line(until).await?;
        let asked = Instant::now();
        let answer = timeout_at(until, line.connection.send_to_masters(command)).await;
        line.judge(asked, answer.ok())?.map_err(Failure::of)
    }

    async fn line(&self, until: Instant) -> Result<Line, Failure> {
        match timeout_at(until, self.link.connection()).await {
            Err(_) => Err(Failure::unconnected()),
            Ok(Err(error)) => Err(Failure::unconnected_by(error)),
            Ok(Ok((generation, connection))) => {
                Ok(Line { link: self.link.clone(), generation, connection })
            }
        }
    }
}

/// One connection, for as long as it holds.
pub(crate) struct Line {
    link: Link,
    generation: Generation,
    connection: Connection,
}

impl Line {
    async fn send(
        &mut self,
        command: &Cmd,
        until: Instant,
    ) -> Result<Result<Value, RedisError>, Failure> {
        let asked = Instant::now();
        let ended = end(&self.connection);
        let answer = async {
            match select(pin!(self.connection.send(command)), pin!(ended)).await {
                Either::Left((answer, _)) => answer,
                Either::Right((error, _)) => Err(error),
            }
        };
        let answer = timeout_at(until, answer).await;
        self.judge(asked, answer.ok())
    }

    /// Waits until so many replicas have all that was written over this connection, and gives how
    /// many have; at most for `patience`, and for an answer until then.
    pub(crate) async fn wait(
        &mut self,
        key: &[u8],
        replicas: usize,
        patience: Duration,
        until: Instant,
    ) -> Result<u64, Failure> {
        let mut command = redis::cmd("WAIT");
        // Zero milliseconds would be for ever.
        command.arg(replicas).arg(patience.as_millis().max(1) as u64);
        let asked = Instant::now();
        let answer = timeout_at(until, self.connection.send_beside(key, command)).await;
        match self.judge(asked, answer.ok())?.map_err(Failure::of)? {
            Value::Int(acknowledged) => Ok(u64::try_from(acknowledged).unwrap_or_default()),
            _ => Err(Failure::unreadable()),
        }
    }

    /// Tells the link what an answer, or none, says of the connection.
    fn judge(
        &self,
        asked: Instant,
        answer: Option<Result<Value, RedisError>>,
    ) -> Result<Result<Value, RedisError>, Failure> {
        let Some(answer) = answer else {
            self.link.silent(self.generation, &self.connection, asked.elapsed());
            return Err(Failure::silence());
        };
        if let Err(error) = &answer {
            match self.connection {
                Connection::One(_) if must_reconnect(error) => {
                    self.link.broken(self.generation, error);
                }
                // It connects to its nodes by itself, but not out of every silence.
                Connection::Cluster(_) if is_broken(error) || is_lost_node(error) => {
                    self.link.renew_beside(self.generation);
                }
                _ => {}
            }
        }
        Ok(answer)
    }
}

/// Ends when the connection to one server has. A command that is handed over just as the client's
/// own task ends, because the server has closed the connection, may stay unanswered for ever:
/// tokio's channel keeps what was put into it while its receiver was dropped. Whoever asks after
/// that is told, so it asks.
fn end(connection: &Connection) -> impl Future<Output = RedisError> + use<> {
    let one = match connection {
        Connection::One(one) => Some(one.clone()),
        // It looks after its nodes' connections, and has a time limit of its own.
        Connection::Cluster(_) => None,
    };
    async move {
        let Some(mut one) = one else { return pending().await };
        // Ends: with the connection, or with its caller's patience.
        loop {
            sleep(LOOK_PAUSE).await;
            match one.send_packed_command(&redis::cmd("PING")).await {
                Err(error) if error.is_io_error() => return error,
                _ => {}
            }
        }
    }
}

/// Whether a connection to one server has to be replaced: it is broken, or the server has become a
/// replica and another is the master now.
fn must_reconnect(error: &RedisError) -> bool {
    is_broken(error)
        || error.is_unrecoverable_error()
        || error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly)
}

/// Whether a connection ended before the reply did.
fn is_broken(error: &RedisError) -> bool {
    error.is_io_error() || error.kind() == ErrorKind::Parse
}

/// Whether a cluster's client does not know (any more) where a key lives, and has done nothing.
fn is_lost_node(error: &RedisError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ClusterConnectionNotFound | ErrorKind::Server(ServerErrorKind::Moved)
    )
}

fn is_unknown_script(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}
