//! The SQL store against real databases, which these tests make, start and stop.

#[cfg(feature = "postgres")]
mod faults;
#[cfg(feature = "postgres")]
mod keys;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
mod subject;
