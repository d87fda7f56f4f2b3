//! The gateway from outside: the built binary as a process, a scripted upstream, plain clients.

mod gateway;
