//! The SQL store against real databases, which these tests make, start and stop.

#[cfg(any(feature = "postgres", feature = "mysql"))]
mod faults;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
mod keys;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
mod subject;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
mod transaction;
