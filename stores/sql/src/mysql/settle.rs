//! The verbs of a holder: one statement, and a look at what is there only if it has matched
//! nothing.

use std::sync::Arc;

use sqlx::MySql;
use sqlx::mysql::{MySqlArguments, MySqlConnection};
use sqlx::query::Query;

use super::row::seen;
use super::statement::Statements;
use super::transaction::write;
use super::verbs::MySqlRecords;
use crate::failure::Failure;
use crate::lines::{Repeat, Work};
use crate::record::{Digest, Record};
use crate::rules::Settling;

/// A statement with what is bound to it.
type Statement = Query<'static, MySql, MySqlArguments>;

impl MySqlRecords {
    /// Runs what `statement` makes; if it has written nothing, `rule` tells why.
    pub(super) fn settle(
        &self,
        digest: Digest,
        repeat: Repeat,
        statement: impl Fn(&Statements) -> Statement + Send + Sync + 'static,
        rule: impl Fn(Option<&Record>, i64) -> Settling + Send + Sync + 'static,
    ) -> Work<'_, Settling> {
        let statements = Arc::clone(&self.statements);
        let both = Arc::new((statement, rule));
        Box::pin(self.lines.call(repeat, move |line| {
            let (statements, both) = (Arc::clone(&statements), Arc::clone(&both));
            Box::pin(async move {
                let (statement, rule) = &*both;
                let written = write(line, &statements, &digest, statement(&statements)).await?;
                if written.rows_affected() > 0 {
                    return Ok(Settling::Done);
                }
                explain(line, &statements, &digest, rule).await
            })
        }))
    }
}

async fn explain(
    line: &mut MySqlConnection,
    statements: &Statements,
    digest: &Digest,
    rule: &(impl Fn(Option<&Record>, i64) -> Settling + Sync),
) -> Result<Settling, Failure> {
    let settling = match seen(line, &statements.look, digest).await? {
        Some((record, now)) => rule(Some(&record), now),
        None => rule(None, 0),
    };
    if settling == Settling::Write {
        // It was not to be written a moment ago: the clock has been set back.
        return Err(Failure::moved());
    }
    Ok(settling)
}
