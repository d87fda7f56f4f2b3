//! Who asks: the little of a request that an answer to it needs, taken before the request moves on.

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, Method};

use super::language::Language;
use super::render::ProblemRenderer;
use crate::policy::ErrorFormat;

/// What a [`Problem`](super::Problem) has to know of the request that it answers. Making one does
/// not allocate.
///
/// The default is somebody who asked by another method than HEAD, for nothing in particular.
#[derive(Clone, Default)]
pub struct Asker {
    is_head: bool,
    language: Language,
    format: ErrorFormat,
    is_grpc: bool,
    renderer: Option<Arc<dyn ProblemRenderer>>,
}

impl Asker {
    /// Who sent a request of this method with these headers, to be answered in this format.
    #[must_use]
    pub fn new(method: &Method, headers: &HeaderMap, format: ErrorFormat) -> Self {
        let (is_head, language) = (method == Method::HEAD, Language::of(headers));
        Self { is_head, language, format, is_grpc: false, renderer: None }
    }

    /// The same, answered by a renderer in place of the format, if there is one.
    #[must_use]
    pub fn renderer(mut self, renderer: Option<Arc<dyn ProblemRenderer>>) -> Self {
        self.renderer = renderer;
        self
    }

    /// The same, answered in gRPC in place of any format or renderer.
    pub(crate) const fn in_grpc(mut self, is_grpc: bool) -> Self {
        self.is_grpc = is_grpc;
        self
    }

    pub(super) const fn is_grpc(&self) -> bool {
        self.is_grpc
    }

    /// Whether the answer must have no body.
    pub(crate) const fn is_head(&self) -> bool {
        self.is_head
    }

    /// The language asked for.
    #[must_use]
    pub const fn language(&self) -> Language {
        self.language
    }

    pub(super) const fn format(&self) -> ErrorFormat {
        self.format
    }

    pub(super) fn own_renderer(&self) -> Option<&dyn ProblemRenderer> {
        self.renderer.as_deref()
    }
}

impl fmt::Debug for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asker")
            .field("is_head", &self.is_head)
            .field("language", &self.language)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}
