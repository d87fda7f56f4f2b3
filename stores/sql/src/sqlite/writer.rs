//! The one connection that writes, and the task that owns it: it takes what waits in the queue,
//! decides all of it in one transaction, and answers once that is committed. Nobody is told of a
//! grant before it is on the disk.
//!
//! Nothing here decides anything about a record: each verb brings its rule.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteRow};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::call::{Call, call};
use super::failure::{Cause, is_busy};
use super::group::{Ended, Group};
use super::slot::Slot;
use super::texts::{GROUP, Text, Texts};
use super::verb::{Verb, verb};
use crate::failure::Failure;
use crate::record::Digest;

/// Most bytes of a group's outcomes, so that a commit does not hold the lock for long. Arbitrary;
/// a single outcome may be larger.
const GROUP_BYTES: usize = 4 << 20;

/// Verbs that may wait in the queue; who finds it full waits before it. Arbitrary: some groups.
const QUEUE: usize = 4 * GROUP;

/// What the writer is asked for.
enum Order {
    /// Part of a group.
    Verb(Box<dyn Verb>),
    /// A transaction of its own.
    Single(Single),
}

/// What somebody else's lock means to a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    /// It is not run, and gives no rows.
    IfFree,
    /// It waits, and is run in a transaction that it commits.
    Wait,
}

/// A text whose rows are wanted.
struct Single {
    lock: Lock,
    text: Text,
    arguments: SqliteArguments,
    call: Call<Vec<SqliteRow>>,
}

/// Whether the task has something to do, or somebody is about to give it something.
#[derive(Clone, Default)]
struct Busy(Arc<Mutex<bool>>);

impl Busy {
    /// Says so. Gives whether it was so already.
    fn set(&self, is_busy: bool) -> bool {
        std::mem::replace(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), is_busy)
    }
}

/// The way to the task. It ends when the last of these has gone.
pub(super) struct Writer {
    queue: mpsc::Sender<Order>,
    busy: Busy,
}

impl Writer {
    /// Starts the task on the current runtime. It opens its connection when it is first needed.
    pub(super) fn start(
        options: SqliteConnectOptions,
        texts: Arc<Texts>,
        patience: Duration,
    ) -> Self {
        let (queue, orders) = mpsc::channel(QUEUE);
        let busy = Busy::default();
        let task = Task {
            options,
            texts,
            patience,
            orders,
            busy: busy.clone(),
            waiting: Vec::new(),
            next: None,
            line: None,
        };
        tokio::spawn(task.run());
        Self { queue, busy }
    }

    /// Whether the task has nothing to do. The first who asks is told so, and is expected to give
    /// it something: a transaction for one alone is faster than a group, and slower for many.
    pub(super) fn is_idle(&self) -> bool {
        !self.busy.set(true)
    }

    /// Has a rule decided, until a moment at the latest.
    pub(super) async fn decide<T: Send + 'static>(
        &self,
        until: Instant,
        digest: Digest,
        weight: usize,
        rule: impl FnOnce(&mut Slot, i64) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let (verb, caller) = verb(digest, weight, rule);
        self.send(until, Order::Verb(verb)).await?;
        caller.answer(until).await
    }

    /// Has a text run by itself. Gives its rows.
    pub(super) async fn run(
        &self,
        until: Instant,
        lock: Lock,
        text: &Text,
        arguments: SqliteArguments,
    ) -> Result<Vec<SqliteRow>, Failure> {
        let (call, caller) = call();
        self.send(until, Order::Single(Single { lock, text: text.clone(), arguments, call }))
            .await?;
        caller.answer(until).await
    }

    async fn send(&self, until: Instant, order: Order) -> Result<(), Failure> {
        // Fails if the queue is full for too long, or the task has ended with its runtime.
        match timeout_at(until, self.queue.send(order)).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Failure::unconnected()),
        }
    }
}

struct Task {
    options: SqliteConnectOptions,
    texts: Arc<Texts>,
    patience: Duration,
    orders: mpsc::Receiver<Order>,
    busy: Busy,
    /// The next group, not begun.
    waiting: Vec<Box<dyn Verb>>,
    /// What comes after the group.
    next: Option<Single>,
    line: Option<SqliteConnection>,
}

impl Task {
    async fn run(mut self) {
        // Ends when every sender has gone and what they sent is answered.
        while self.gather().await {
            if let Err(cause) = self.connect().await {
                self.refuse(&cause);
                continue;
            }
            if !self.waiting.is_empty() {
                self.group().await;
            } else if let Some(single) = self.next.take() {
                self.single(single).await;
            }
        }
        if let Some(line) = self.line.take() {
            // Nothing is under way any more; whoever opens the file next finds it whole.
            let _ = line.close().await;
        }
    }

    /// Waits until there is something to do, and takes more of it as far as it is there. `false`
    /// if nothing will come any more.
    async fn gather(&mut self) -> bool {
        self.waiting.retain(|verb| !verb.is_left());
        self.next.take_if(|single| single.call.is_left());
        if self.waiting.is_empty() && self.next.is_none() {
            if self.orders.is_empty() {
                self.busy.set(false);
            }
            match self.orders.recv().await {
                Some(order) => self.take(order),
                None => return false,
            }
        }
        let mut weight: usize = self.waiting.iter().map(|verb| verb.weight()).sum();
        while self.next.is_none() && self.waiting.len() < GROUP && weight < GROUP_BYTES {
            let Ok(order) = self.orders.try_recv() else { break };
            if let Order::Verb(verb) = &order {
                weight = weight.saturating_add(verb.weight());
            }
            self.take(order);
        }
        self.busy.set(true);
        true
    }

    fn take(&mut self, order: Order) {
        match order {
            Order::Verb(verb) if verb.is_left() => {}
            Order::Verb(verb) => self.waiting.push(verb),
            Order::Single(single) => self.next = Some(single),
        }
    }

    async fn connect(&mut self) -> Result<(), Cause> {
        if self.line.is_some() {
            return Ok(());
        }
        let connect = SqliteConnection::connect_with(&self.options);
        let opened = match timeout(self.patience, connect).await {
            Ok(opened) => opened,
            Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
        };
        self.line = Some(opened.map_err(Cause::before_writing)?);
        Ok(())
    }

    fn refuse(&mut self, cause: &Cause) {
        for verb in self.waiting.drain(..) {
            verb.failed(cause);
        }
        if let Some(single) = self.next.take() {
            single.call.answer(Err(cause.failure()));
        }
    }

    /// Closes a connection whose transaction has failed, which rolls back what is left of it.
    async fn disconnect(&mut self) {
        if let Some(line) = self.line.take() {
            // One that does not close in time is left to its own thread.
            let _ = timeout(self.patience, line.close()).await;
        }
    }

    async fn group(&mut self) {
        let Some(line) = &mut self.line else { return };
        let mut group = Group { line, texts: &self.texts, verbs: &mut self.waiting };
        match group.run().await {
            Ended::Well => self.waiting.drain(..).for_each(Verb::committed),
            // Who has left by now is not begun any more.
            Ended::Busy => {}
            Ended::Badly(cause) => {
                self.disconnect().await;
                self.waiting.drain(..).for_each(|verb| verb.failed(&cause));
            }
        }
    }

    async fn single(&mut self, single: Single) {
        let Some(line) = &mut self.line else { return };
        if single.lock == Lock::Wait {
            match sqlx::query(self.texts.lock.sql()).execute(&mut *line).await {
                Ok(_) => {}
                Err(error) if is_busy(&error) => return self.next = Some(single),
                Err(error) => return self.fail(single.call, Cause::before_writing(error)).await,
            }
        }
        if !single.call.begin() {
            // Gives the lock back.
            return self.disconnect().await;
        }
        let Single { lock, text, arguments, call } = single;
        match sqlx::query_with(text.sql(), arguments).fetch_all(line).await {
            Ok(rows) => call.answer(Ok(rows)),
            Err(error) if is_busy(&error) && lock == Lock::IfFree => call.answer(Ok(Vec::new())),
            Err(error) => self.fail(call, Cause::while_writing(error)).await,
        }
    }

    async fn fail(&mut self, call: Call<Vec<SqliteRow>>, cause: Cause) {
        self.disconnect().await;
        call.answer(Err(cause.failure()));
    }
}
