//! Leases that are committed by the caller's own transaction: the same laws on every database, and
//! what each has of its own.

mod caller;
mod ends;
mod errors;
mod kinds;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod locks;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod mysql_or_postgres;
#[cfg(feature = "postgres")]
mod orders;
#[cfg(feature = "postgres")]
mod postgres;
mod rivals;
#[cfg(feature = "sqlite")]
mod sqlite;
