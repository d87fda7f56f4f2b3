//! Which policy holds for a path: patterns, tried in order on the raw path.
//!
//! Nothing here decodes a path in order to match it. A path whose meaning depends on who decodes
//! it must never become exempt by that.

use std::str::Split;

use thiserror::Error;

use crate::policy::Policy;

mod dots;

use dots::may_have_dot_segments;

/// A pattern for paths (rule 2.5): exact (`/orders`), with segments that may be anything
/// (`/orders/{id}`), or everything below a prefix (`/api/*`).
///
/// It is compared with the path as it was sent, without the query and without decoding. `{id}`
/// stands for one segment that is not empty. A `*` at the end stands for one or more segments that
/// are not all empty: `/api/*` matches `/api/a` and `/api/a/b`, but neither `/api` nor `/api/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    segments: Vec<Segment>,
    below: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Literal(Box<str>),
    Any,
}

/// Why a pattern was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PatternError {
    /// It does not begin with a slash.
    #[error("pattern does not begin with a slash")]
    NotAbsolute,
    /// It has a byte that no path has: one that is not visible ASCII, or `?` or `#`.
    #[error("pattern has a byte at position {position} that no path has")]
    InvalidByte {
        /// Position of the first such byte, counted from zero.
        position: usize,
    },
    /// A brace that does not enclose a whole segment, or encloses no name.
    #[error("braces in a pattern must enclose one whole segment's name")]
    Brace,
    /// A star that is not the whole last segment.
    #[error("a star in a pattern must be its whole last segment")]
    Star,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    ///
    /// [`PatternError`]; the caller should refuse the configuration that it comes from.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let path = text.strip_prefix('/').ok_or(PatternError::NotAbsolute)?;
        let invalid = |byte: u8| !byte.is_ascii_graphic() || byte == b'?' || byte == b'#';
        if let Some(position) = text.bytes().position(invalid) {
            return Err(PatternError::InvalidByte { position });
        }
        let mut segments = Vec::new();
        let mut below = false;
        for part in path.split('/') {
            if below {
                return Err(PatternError::Star);
            } else if part == "*" {
                below = true;
            } else {
                segments.push(Segment::parse(part)?);
            }
        }
        Ok(Self { segments, below })
    }

    /// Whether the pattern matches a raw path.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        let Some(path) = path.strip_prefix('/') else {
            return false;
        };
        let mut parts = path.split('/');
        self.segments.iter().all(|segment| parts.next().is_some_and(|part| segment.matches(part)))
            && self.end_matches(parts)
    }

    fn end_matches(&self, mut rest: Split<'_, char>) -> bool {
        if self.below { rest.any(|part| !part.is_empty()) } else { rest.next().is_none() }
    }
}

impl Segment {
    fn parse(part: &str) -> Result<Self, PatternError> {
        if part.contains('*') {
            return Err(PatternError::Star);
        }
        if let Some(name) = part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            return if name.is_empty() || name.contains(['{', '}']) {
                Err(PatternError::Brace)
            } else {
                Ok(Self::Any)
            };
        }
        if part.contains(['{', '}']) {
            return Err(PatternError::Brace);
        }
        Ok(Self::Literal(part.into()))
    }

    fn matches(&self, part: &str) -> bool {
        match self {
            Self::Literal(text) => **text == *part,
            Self::Any => !part.is_empty(),
        }
    }
}

/// The policies of all paths: a table of patterns, and a default for the paths that match none.
///
/// The first pattern that matches wins. A path with dot segments, in whatever encoding, may mean
/// another one to the service behind, so it never takes a route that protects less than the
/// default policy, and none that is not enabled. Less is: not to require a key, to read it from
/// another header, to leave out a method, to keep keys, hold or lease for a shorter time, not to
/// renew, to cancel, to fail open, to have other principals, to release unknown outcomes, or to
/// have a status free a key sooner, where the default does otherwise. Such a path takes the next
/// match, or the default.
///
/// ```
/// use leasehold_http::{Pattern, Policy, Routes};
///
/// let routes = Routes::new(Policy::default())
///     .route(Pattern::parse("/health/*")?, Policy::default().enabled(false));
/// # Ok::<(), leasehold_http::PatternError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Routes {
    default: Policy,
    table: Vec<Route>,
}

#[derive(Clone, Debug)]
struct Route {
    pattern: Pattern,
    policy: Policy,
    /// Whether paths whose meaning depends on who reads them may take it.
    takes_dots: bool,
}

impl Routes {
    /// A table without patterns.
    #[must_use]
    pub fn new(default: Policy) -> Self {
        Self { default, table: Vec::new() }
    }

    /// Adds a pattern behind those that are there.
    #[must_use]
    pub fn route(mut self, pattern: Pattern, policy: Policy) -> Self {
        let takes_dots = policy.enabled && policy.is_as_strict_as(&self.default);
        self.table.push(Route { pattern, policy, takes_dots });
        self
    }

    /// The policy for a raw path.
    #[must_use]
    pub fn policy(&self, path: &str) -> &Policy {
        self.find(path).and_then(|index| self.at(index)).unwrap_or(&self.default)
    }

    /// The number of the route that a raw path takes; none for the default.
    pub(crate) fn find(&self, path: &str) -> Option<usize> {
        self.table.iter().position(|route| {
            route.pattern.matches(path) && (route.takes_dots || !may_have_dot_segments(path))
        })
    }

    /// The policies of the patterns, in their order.
    pub(crate) fn table(&self) -> impl Iterator<Item = &Policy> {
        self.table.iter().map(|route| &route.policy)
    }

    pub(crate) const fn default_policy(&self) -> &Policy {
        &self.default
    }

    fn at(&self, index: usize) -> Option<&Policy> {
        self.table.get(index).map(|route| &route.policy)
    }
}

#[cfg(test)]
mod tests;
