//! A few connections, and one call over one of them, within its time.
//!
//! Each call is a task of its own, so that a caller who goes away leaves no statement half sent and
//! no connection with an answer that nobody has read; and a connection whose call did not end in
//! time is closed, never used again. The driver's own pool asks the server once more whenever a
//! connection comes back, which doubles the round trips of a verb.
//!
//! Nothing here knows what a statement means.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::{Connection, Database};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout_at};

use crate::failure::Failure;

/// What a call does, or gives.
pub(crate) type Work<'c, T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send + 'c>>;

/// The options of a database's connections.
type Options<DB> = <<DB as Database>::Connection as Connection>::Options;

/// How often a statement is tried that the database has undone for the sake of others. Arbitrary:
/// two rivals need one more try each, and the call's own time ends what takes longer.
const CONFLICT_TRIES: u32 = 8;

/// Pause before a row is tried again that another transaction has locked. Arbitrary: a verb holds a
/// row for one statement.
pub(crate) const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The part of a call's time within which a locked row is not tried again, since a try that is cut
/// off leaves unknown what became of it. Arbitrary: far above what a try takes.
const LAST_PART: u32 = 4;

/// Whether a call may be made a second time when its connection broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Twice is as good as once.
    Harmless,
    /// What the first time has done would be told wrongly.
    #[cfg_attr(
        not(any(feature = "postgres", feature = "mysql")),
        expect(dead_code, reason = "SQLite's lines only read")
    )]
    Never,
}

/// Reads what an error means to the caller: each database has codes of its own.
type Read = fn(sqlx::Error) -> Failure;

/// What a new connection is told before its first call.
type Greet<DB> =
    Box<dyn for<'c> Fn(&'c mut <DB as Database>::Connection) -> Work<'c, ()> + Send + Sync>;

/// The connections to one database. No more than a given number are open at once.
pub(crate) struct Lines<DB: Database> {
    options: Options<DB>,
    read: Read,
    greet: Option<Greet<DB>>,
    idle: Mutex<Vec<DB::Connection>>,
    places: Semaphore,
    patience: Duration,
}

impl<DB: Database> Lines<DB>
where
    Options<DB>: Sync,
{
    /// None is open yet. `read` tells what an error means, `patience` is a call's whole time.
    pub(crate) fn new(options: Options<DB>, read: Read, most: u32, patience: Duration) -> Self {
        Self {
            options,
            read,
            greet: None,
            idle: Mutex::default(),
            places: Semaphore::new(usize::try_from(most).unwrap_or(1)),
            patience,
        }
    }

    /// Has every connection set up so that its options cannot say.
    #[cfg(feature = "mysql")]
    pub(crate) fn greeted(mut self, greet: Greet<DB>) -> Self {
        self.greet = Some(greet);
        self
    }

    /// When a call that begins now has to be over.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.patience
    }

    /// Does `work` over a connection, in a task of its own.
    pub(crate) async fn call<T, F>(self: &Arc<Self>, repeat: Repeat, work: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: for<'c> Fn(&'c mut DB::Connection) -> Work<'c, T> + Send + Sync + 'static,
    {
        self.call_until(self.deadline(), repeat, work).await
    }

    /// The same, until then.
    pub(crate) async fn call_until<T, F>(
        self: &Arc<Self>,
        until: Instant,
        repeat: Repeat,
        work: F,
    ) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: for<'c> Fn(&'c mut DB::Connection) -> Work<'c, T> + Send + Sync + 'static,
    {
        let lines = Arc::clone(self);
        let task = tokio::spawn(async move { lines.try_until(until, repeat, &work).await });
        // It fails if the runtime ends; the statement may then be under way.
        task.await.unwrap_or_else(|_| Err(Failure::silence()))
    }

    async fn try_until<T, F>(&self, until: Instant, repeat: Repeat, work: &F) -> Result<T, Failure>
    where
        T: Send,
        F: for<'c> Fn(&'c mut DB::Connection) -> Work<'c, T> + Sync,
    {
        let (mut is_first, mut conflicts) = (true, 0);
        // Once a try may have landed, no later failure says that nothing was written.
        let mut is_unknown = false;
        // Ends: a broken connection is tried again once, a conflict some times, and a locked row
        // until most of the time is over.
        loop {
            let answer = self.once(until, repeat, work).await;
            is_unknown |= answer.as_ref().err().is_some_and(Failure::may_have_landed);
            match answer {
                Err(Failure::Broken(_)) if repeat == Repeat::Harmless && is_first => {
                    is_first = false;
                    // A server that has closed one has most likely closed all.
                    self.idle().clear();
                }
                // A commit that failed may have landed, and not every call may be made twice.
                Err(Failure::Conflict(_))
                    if conflicts < CONFLICT_TRIES
                        && (repeat == Repeat::Harmless || !is_unknown) =>
                {
                    conflicts += 1;
                }
                Err(Failure::Locked(_))
                    if Instant::now() + LOCK_PAUSE + self.patience / LAST_PART < until =>
                {
                    sleep(LOCK_PAUSE).await;
                }
                Err(failure) if is_unknown => return Err(failure.after_a_lost_answer()),
                answer => return answer,
            }
        }
    }

    async fn once<T, F>(&self, until: Instant, repeat: Repeat, work: &F) -> Result<T, Failure>
    where
        T: Send,
        F: for<'c> Fn(&'c mut DB::Connection) -> Work<'c, T> + Sync,
    {
        let place = timeout_at(until, self.places.acquire()).await;
        let Ok(Ok(_place)) = place else { return Err(Failure::unconnected()) };
        let mut line = self.line(until, repeat).await?;
        let asked = Instant::now();
        // Dropped with its line if the time is over.
        let Ok(answer) = timeout_at(until, work(&mut line)).await else {
            // Of a call with little time left an answer was not to be expected; else the others
            // most likely lead to the same silence.
            if asked.elapsed() >= self.patience / 2 {
                self.idle().clear();
            }
            return Err(Failure::silence());
        };
        if answer.as_ref().err().is_none_or(Failure::leaves_the_line_whole) {
            self.idle().push(line);
        }
        answer
    }

    /// An idle connection, or a new one. What may not be repeated gets one that is known to live.
    async fn line(&self, until: Instant, repeat: Repeat) -> Result<DB::Connection, Failure> {
        let idle = self.idle().pop();
        if let Some(mut line) = idle {
            if repeat == Repeat::Harmless
                || matches!(timeout_at(until, line.ping()).await, Ok(Ok(())))
            {
                return Ok(line);
            }
            // The others most likely are dead too.
            self.idle().clear();
        }
        match timeout_at(until, self.open()).await {
            Ok(Ok(line)) => Ok(line),
            Ok(Err(failure)) => Err(failure.before_sending()),
            Err(_) => Err(Failure::unconnected()),
        }
    }

    async fn open(&self) -> Result<DB::Connection, Failure> {
        let mut line = DB::Connection::connect_with(&self.options)
            .await
            .map_err(|error| (self.read)(error))?;
        if let Some(greet) = &self.greet {
            greet(&mut line).await?;
        }
        Ok(line)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<DB::Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, feature = "sqlite", feature = "postgres"))]
mod tests {
    use leasehold::{StoreError, StoreErrorKind};
    use sqlx::Sqlite;
    use sqlx::sqlite::SqliteConnectOptions;

    use super::*;

    /// How often a call is made that meets a conflict each time.
    async fn tries(repeat: Repeat, kind: StoreErrorKind) -> u32 {
        let options = SqliteConnectOptions::new().in_memory(true);
        let read = |error| Failure::of(StoreErrorKind::Refused, error);
        let lines = Arc::new(Lines::<Sqlite>::new(options, read, 1, Duration::from_secs(30)));
        let tries = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&tries);
        let answer: Result<(), _> = lines
            .call(repeat, move |_| {
                *counted.lock().expect("not poisoned") += 1;
                Box::pin(async move { Err(Failure::Conflict(StoreError::new(kind))) })
            })
            .await;
        assert!(answer.is_err());
        let made = tries.lock().expect("not poisoned");
        *made
    }

    #[tokio::test]
    async fn a_conflict_that_may_have_landed_is_tried_again_only_where_that_is_harmless() {
        let (certain, unknown) = (StoreErrorKind::Unreachable, StoreErrorKind::NoAnswer);
        for (repeat, kind, expected) in [
            (Repeat::Harmless, certain, CONFLICT_TRIES + 1),
            (Repeat::Harmless, unknown, CONFLICT_TRIES + 1),
            (Repeat::Never, certain, CONFLICT_TRIES + 1),
            (Repeat::Never, unknown, 1),
        ] {
            assert_eq!(tries(repeat, kind).await, expected, "{repeat:?}, {kind:?}");
        }
    }
}
