//! SQLite: files in temporary folders.

mod child;
mod conformance;
mod crowd;
mod dropped;
mod files;
mod keys;
mod killed;
mod locks;
mod records;
mod room;
