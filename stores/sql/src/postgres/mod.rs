//! Records in PostgreSQL: one statement a verb in the usual case.
//!
//! The database alone decides, by its clock; nothing of this process's clock is ever sent.

mod failure;
mod migrate;
mod options;
mod records;
mod row;
mod texts;

use std::sync::Arc;

use crate::config::{ConnectError, SqlConfig};
use crate::lines::Lines;
use crate::record::micros;
use crate::records::Records;
use crate::table::Table;

pub(crate) use failure::read;
pub(crate) use migrate::migrate;
pub(crate) use options::for_verbs;

/// Opens the records. Nothing is asked of the database yet.
#[expect(clippy::unused_async, reason = "other databases have something to wait for")]
pub(crate) async fn open(
    config: &SqlConfig,
    table: &Table,
) -> Result<Box<dyn Records>, ConnectError> {
    let options = options::for_verbs(config)?;
    let lines = Lines::new(options, failure::read, config.connections, config.store_timeout);
    Ok(Box::new(records::PgRecords {
        lines: Arc::new(lines),
        texts: Arc::new(texts::Texts::new(table)),
        namespace: Arc::from(config.namespace.as_str()),
        late_grace: micros(config.late_grace),
        stuck_retention: micros(config.stuck_retention),
    }))
}
