//! The one connection that writes, and the task that owns it: it takes what waits in the queue,
//! decides all of it in one transaction, and answers once that is committed. Nobody is told of a
//! grant before it is on the disk.
//!
//! Nothing here decides anything about a record: each verb brings its rule.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{Arguments as _, Connection as _, Row as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::call::{Call, call};
use super::failure::{Cause, is_busy};
use super::row::{Row, Slot, bind};
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
    Batch(Batch),
}

/// A statement over many rows, whose digests it gives.
struct Batch {
    text: Text,
    limit: i64,
    span: i64,
    call: Call<Vec<Digest>>,
}

/// The way to the task. It ends when the last of these has gone.
pub(super) struct Writer {
    queue: mpsc::Sender<Order>,
    patience: Duration,
}

impl Writer {
    /// Starts the task on the current runtime. It opens its connection when it is first needed.
    pub(super) fn start(
        options: SqliteConnectOptions,
        texts: Arc<Texts>,
        patience: Duration,
    ) -> Self {
        let (queue, orders) = mpsc::channel(QUEUE);
        let task =
            Task { options, texts, patience, orders, waiting: Vec::new(), next: None, line: None };
        tokio::spawn(task.run());
        Self { queue, patience }
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

    /// Has a batch done.
    pub(super) async fn batch(
        &self,
        text: &Text,
        limit: u32,
        span: i64,
    ) -> Result<Vec<Digest>, Failure> {
        let until = Instant::now() + self.patience;
        let (call, caller) = call();
        let batch = Batch { text: text.clone(), limit: limit.into(), span, call };
        self.send(until, Order::Batch(batch)).await?;
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

/// What became of a transaction.
enum Ended {
    /// It is committed, or nothing was to be written.
    Well,
    /// Another has the lock; nothing was begun.
    Busy,
    /// It failed.
    Badly(Cause),
}

struct Task {
    options: SqliteConnectOptions,
    texts: Arc<Texts>,
    patience: Duration,
    orders: mpsc::Receiver<Order>,
    /// The next group, not begun.
    waiting: Vec<Box<dyn Verb>>,
    /// A batch that comes after the group.
    next: Option<Batch>,
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
            } else if let Some(batch) = self.next.take() {
                self.batch(batch).await;
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
        self.next.take_if(|batch| batch.call.is_left());
        if self.waiting.is_empty() && self.next.is_none() {
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
        true
    }

    fn take(&mut self, order: Order) {
        match order {
            Order::Verb(verb) if verb.is_left() => {}
            Order::Verb(verb) => self.waiting.push(verb),
            Order::Batch(batch) => self.next = Some(batch),
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
        if let Some(batch) = self.next.take() {
            batch.call.answer(Err(cause.failure()));
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

    async fn batch(&mut self, batch: Batch) {
        let Some(line) = &mut self.line else { return };
        if batch.call.is_left() {
            return;
        }
        let query = sqlx::query(batch.text.sql()).bind(batch.limit).bind(batch.span);
        match query.fetch_all(line).await {
            Ok(rows) => {
                let digests = rows.iter().filter_map(|row| Row::digest(row, 0)).collect();
                batch.call.answer(Ok(digests));
            }
            Err(error) if is_busy(&error) => self.next = Some(batch),
            Err(error) => {
                let cause = Cause::while_writing(error);
                self.disconnect().await;
                batch.call.answer(Err(cause.failure()));
            }
        }
    }
}

/// One transaction of many verbs.
struct Group<'g> {
    line: &'g mut SqliteConnection,
    texts: &'g Texts,
    verbs: &'g mut Vec<Box<dyn Verb>>,
}

impl Group<'_> {
    async fn run(&mut self) -> Ended {
        let mut slots: HashMap<Digest, Slot> =
            self.verbs.iter().map(|verb| (verb.digest(), Slot::default())).collect();
        let rows = match self.begin(&slots).await {
            Ok(rows) => rows,
            Err(error) if is_busy(&error) => return Ended::Busy,
            Err(error) => return Ended::Badly(Cause::before_writing(error)),
        };
        let Some(now) = rows.first().and_then(|row| row.try_get::<i64, _>(0).ok()) else {
            return Ended::Badly(Cause::before_writing(sqlx::Error::RowNotFound));
        };
        for row in rows.iter().skip(1) {
            if let Some(slot) = Row::digest(row, 0).and_then(|digest| slots.get_mut(&digest)) {
                *slot = Slot::new(Row::read(row, 0));
            }
        }
        self.verbs.retain(|verb| verb.begin());
        for verb in &mut *self.verbs {
            if let Some(slot) = slots.get_mut(&verb.digest()) {
                verb.decide(slot, now);
            }
        }
        match self.end(&slots, now).await {
            Ok(()) => Ended::Well,
            Err(error) => Ended::Badly(Cause::while_writing(error)),
        }
    }

    /// Takes the lock, and reads the time and the rows.
    async fn begin(&mut self, slots: &HashMap<Digest, Slot>) -> Result<Vec<SqliteRow>, sqlx::Error> {
        let mut arguments = SqliteArguments::default();
        for digest in slots.keys() {
            arguments.add(digest.to_vec()).map_err(sqlx::Error::Encode)?;
        }
        let text = self.texts.begin(slots.len()).ok_or(sqlx::Error::RowNotFound)?;
        sqlx::query_with(text.sql(), arguments).fetch_all(&mut *self.line).await
    }

    /// Writes what has changed, and commits.
    async fn end(&mut self, slots: &HashMap<Digest, Slot>, now: i64) -> Result<(), sqlx::Error> {
        let mut arguments = SqliteArguments::default();
        let mut rows = 0;
        for (digest, slot) in slots {
            match slot.change() {
                Some(Some(row)) => {
                    bind(&mut arguments, digest, row, now)?;
                    rows += 1;
                }
                Some(None) => {
                    let delete = sqlx::query(self.texts.delete.sql()).bind(digest.to_vec());
                    delete.execute(&mut *self.line).await?;
                }
                None => {}
            }
        }
        let text = if rows == 0 { Some(&self.texts.commit) } else { self.texts.write(rows) };
        let text = text.ok_or(sqlx::Error::RowNotFound)?;
        sqlx::query_with(text.sql(), arguments).execute(&mut *self.line).await?;
        Ok(())
    }
}
