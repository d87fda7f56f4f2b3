//! The SQL store against real databases, which these tests make, start and stop.

#[cfg(any(feature = "postgres", feature = "mysql"))]
mod faults;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod keys;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod subject;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
mod transaction;
