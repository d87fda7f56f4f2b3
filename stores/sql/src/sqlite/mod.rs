//! Records in sqlite. (Skeleton.)

use crate::config::{ConnectError, SqlConfig};
use crate::migration::Migration;
use crate::records::Records;
use crate::table::Table;

pub(crate) async fn open(_: &SqlConfig, _: &Table) -> Result<Box<dyn Records>, ConnectError> {
    todo!()
}

pub(crate) async fn migrate(
    _: &SqlConfig,
    _: &Table,
    _: &[Migration],
) -> Result<u32, ConnectError> {
    todo!()
}
