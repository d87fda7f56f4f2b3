//! The texts that decide by themselves say what the rules say, of every kind of row.

use sqlx::sqlite::{SqliteArguments, SqliteConnection};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use super::row::{self, Row, Settings, bind};
use super::slot::Slot;
use super::texts::Texts;
use crate::record::{Ask, Record, Status};
use crate::rules::{self, Found, Settling};
use crate::table::Table;

const DIGEST: [u8; 32] = [7; 32];

/// Far more than a test takes, so that the clock decides nothing by chance.
const HOUR: i64 = 3_600_000_000;

const ASK: Ask = Ask { attempt: [2; 16], fingerprint: Some([3; 32]), lease_ttl: HOUR };

struct Bench {
    line: SqliteConnection,
    texts: Texts,
    settings: Settings,
}

impl Bench {
    async fn new() -> Self {
        let table = Table::new("t").expect("a plain name");
        let mut line = SqliteConnection::connect("sqlite::memory:").await.expect("it is opened");
        let migration = table.statement(include_str!("../../migrations/sqlite/0001-record.sql"));
        sqlx::raw_sql(AssertSqlSafe(migration)).execute(&mut line).await.expect("it is made");
        let settings = Settings { namespace: "orders".into(), late_grace: HOUR };
        Self { line, texts: Texts::new(&table), settings }
    }

    async fn now(&mut self) -> i64 {
        let rows = self.rows(1).await;
        rows[0].try_get(0).expect("a time")
    }

    /// Runs the text that a group begins with, and ends the transaction.
    async fn rows(&mut self, digests: usize) -> Vec<sqlx::sqlite::SqliteRow> {
        let text = self.texts.begin(digests).expect("a text").sql();
        let query = sqlx::query(text).bind(DIGEST.to_vec());
        let rows = query.fetch_all(&mut self.line).await.expect("an answer");
        sqlx::query("COMMIT").execute(&mut self.line).await.expect("committed");
        rows
    }

    async fn read(&mut self) -> Option<Row> {
        self.rows(3).await.get(1).map(|row| Row::read(row, 0).expect("a row of ours"))
    }

    /// Makes the row by the text that a group ends with.
    async fn write(&mut self, record: &Record, now: i64) {
        let row = Row { record: record.clone(), namespace: "before".into(), created: now };
        let mut arguments = SqliteArguments::default();
        bind(&mut arguments, &DIGEST, &row, now).expect("they are bound");
        sqlx::query("BEGIN").execute(&mut self.line).await.expect("begun");
        let text = self.texts.write(2).expect("a text").sql();
        sqlx::query_with(text, arguments).execute(&mut self.line).await.expect("written");
    }
}

/// Every kind of row, as seen at a time.
fn records(now: i64) -> impl Iterator<Item = Record> {
    let statuses = [Status::Processing, Status::Success, Status::Failed];
    let ends = [(-2, -1), (-1, 1), (1, 1), (1, 2)];
    let tokens = [1, now + HOUR];
    statuses.into_iter().flat_map(move |status| {
        ends.into_iter().flat_map(move |(expires, purge)| {
            tokens.into_iter().flat_map(move |token| {
                [None, Some(now - HOUR)].into_iter().map(move |stuck| Record {
                    status,
                    token: u64::try_from(token).expect("above zero"),
                    attempt: [1; 16],
                    fingerprint: Some([1; 32]),
                    outcome: Some(bytes::Bytes::from_static(b"before")),
                    expires: now + expires * HOUR,
                    purge: now + purge * HOUR,
                    stuck,
                })
            })
        })
    })
}

/// What the text has written is what the rule would have, at most so much later.
fn assert_is(written: Option<Row>, slot: &Slot) {
    let wanted = slot.change().flatten().expect("the rule writes it");
    let written = written.expect("the row is there");
    let (found, rule) = (&written.record, &wanted.record);
    assert_eq!(found.status, rule.status);
    assert_eq!(found.attempt, rule.attempt);
    assert_eq!(found.fingerprint, rule.fingerprint);
    assert_eq!(found.outcome, rule.outcome);
    assert_eq!(found.stuck, rule.stuck);
    assert_eq!(written.namespace, wanted.namespace);
    assert_eq!(found.purge - found.expires, rule.purge - rule.expires);
    for (found, rule) in [(found.expires, rule.expires), (written.created, wanted.created)] {
        assert!((0..HOUR / 2).contains(&(found - rule)), "{found} and {rule}");
    }
}

#[tokio::test]
async fn a_grant_by_a_text_is_the_rules() {
    let mut bench = Bench::new().await;
    let now = bench.now().await;
    for record in records(now) {
        bench.write(&record, now).await;
        let arguments = row::grant(&DIGEST, &ASK, &bench.settings).expect("they are bound");
        let query = sqlx::query_with(bench.texts.grant.sql(), arguments);
        let rows = query.fetch_all(&mut bench.line).await.expect("an answer");
        let is_free = matches!(rules::acquire(Some(&record), &ASK, now), Found::Free { .. });
        assert_eq!(!rows.is_empty(), is_free, "{record:?}");
        let written = bench.read().await;
        if !is_free {
            let token = written.map(|row| row.record.token);
            assert_eq!(token, Some(record.token), "nothing is written: {record:?}");
            continue;
        }
        let token = rows[0].try_get::<i64, _>(0).expect("a token");
        let least = rules::next_token(Some(record.token), now);
        let later = token - i64::try_from(least).expect("a token");
        assert!((0..HOUR / 2).contains(&later), "{token} and {least}");
        let mut slot = Slot::new(Some(Row { record, namespace: "".into(), created: 0 }));
        slot.acquire(&ASK, &bench.settings, now);
        assert_is(written, &slot);
    }
}

#[tokio::test]
async fn a_grant_of_an_absent_row_is_the_rules() {
    let mut bench = Bench::new().await;
    let now = bench.now().await;
    let arguments = row::grant(&DIGEST, &ASK, &bench.settings).expect("they are bound");
    let query = sqlx::query_with(bench.texts.grant.sql(), arguments);
    assert_eq!(query.fetch_all(&mut bench.line).await.expect("an answer").len(), 1);
    let mut slot = Slot::default();
    slot.acquire(&ASK, &bench.settings, now);
    assert_is(bench.read().await, &slot);
}

#[tokio::test]
async fn a_commit_by_a_text_is_the_rules() {
    let mut bench = Bench::new().await;
    let now = bench.now().await;
    let outcome = Some(bytes::Bytes::from_static(b"after"));
    for record in records(now) {
        for token in [record.token, record.token + 1] {
            bench.write(&record, now).await;
            let arguments = row::keep(&DIGEST, token, outcome.as_ref(), HOUR);
            let query = sqlx::query_with(bench.texts.keep.sql(), arguments.expect("bound"));
            let rows = query.fetch_all(&mut bench.line).await.expect("an answer");
            let is_held = rules::commit(Some(&record), token, now) == Settling::Write;
            assert_eq!(!rows.is_empty(), is_held, "{record:?}");
            if is_held {
                let row = Row { record: record.clone(), namespace: "before".into(), created: now };
                let mut slot = Slot::new(Some(row));
                slot.commit(token, outcome.clone(), HOUR, now);
                assert_is(bench.read().await, &slot);
            }
        }
    }
}
