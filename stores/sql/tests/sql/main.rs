//! The SQL store against real databases, which these tests make, start and stop.

#[cfg(feature = "postgres")]
mod faults;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod keys;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod subject;
