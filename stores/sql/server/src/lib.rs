//! Real PostgreSQL and MariaDB servers for tests and benches.

#![forbid(unsafe_code)]
