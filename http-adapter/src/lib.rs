//! The HTTP side.
