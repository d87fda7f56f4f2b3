//! One transaction of many verbs: takes the lock, reads the time and the rows, has each verb decide
//! on the row as those before it have left it, writes what has changed, and commits.
//!
//! Two texts do all of it, whatever the number of verbs. Nothing here answers anybody.

use std::collections::HashMap;

use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{Arguments as _, Row as _};

use super::failure::{Cause, is_busy};
use super::row::{Row, bind};
use super::slot::Slot;
use super::texts::Texts;
use super::verb::Verb;
use crate::record::Digest;

/// What became of a transaction.
pub(super) enum Ended {
    /// It is committed, or nothing was to be written.
    Well,
    /// Another has the lock; nothing was begun.
    Busy,
    /// It failed.
    Badly(Cause),
}

/// One transaction of many verbs.
pub(super) struct Group<'g> {
    pub(super) line: &'g mut SqliteConnection,
    pub(super) texts: &'g Texts,
    /// Those whose callers have gone by the time of the lock are taken out.
    pub(super) verbs: &'g mut Vec<Box<dyn Verb>>,
}

impl Group<'_> {
    pub(super) async fn run(&mut self) -> Ended {
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
    async fn begin(
        &mut self,
        slots: &HashMap<Digest, Slot>,
    ) -> Result<Vec<SqliteRow>, sqlx::Error> {
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
