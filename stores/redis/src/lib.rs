//! The home of a lease store on Redis or Valkey, for services that run as several instances.
//!
//! **There is no store in this crate yet.** It exports nothing; a service that needs leases beyond
//! one process cannot get them from Leasehold today. What belongs here is an implementation of
//! [`leasehold::LeaseStore`] whose verbs are each one script on the server, so that the server's
//! own atomicity decides every race, and which passes every law of the conformance suite.

#![forbid(unsafe_code)]
