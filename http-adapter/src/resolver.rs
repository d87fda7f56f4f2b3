//! Where a request's key comes from, if not from where the policy says: a hook for code.

use std::borrow::Cow;
use std::fmt;

use http::{Extensions, HeaderMap, Method, Request, Uri};

use crate::key_refusal::KeyRefusal;

/// What of a request may tell its key: everything but the body.
#[derive(Clone, Copy)]
pub struct RequestHead<'a> {
    method: &'a Method,
    uri: &'a Uri,
    headers: &'a HeaderMap,
    extensions: &'a Extensions,
}

impl<'a> RequestHead<'a> {
    /// The head of a request.
    #[must_use]
    pub fn of<B>(request: &'a Request<B>) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }

    /// The method.
    #[must_use]
    pub const fn method(&self) -> &'a Method {
        self.method
    }

    /// The target, as the layer sees it.
    #[must_use]
    pub const fn uri(&self) -> &'a Uri {
        self.uri
    }

    /// The path as it was sent, without the query.
    #[must_use]
    pub fn path(&self) -> &'a str {
        self.uri.path()
    }

    /// The headers. The one that carries the key has been marked as sensitive.
    #[must_use]
    pub const fn headers(&self) -> &'a HeaderMap {
        self.headers
    }

    /// What outer layers and the router have put into the request: the matched route, for one.
    #[must_use]
    pub const fn extensions(&self) -> &'a Extensions {
        self.extensions
    }
}

/// Method and path alone: headers may hold a key.
impl fmt::Debug for RequestHead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestHead")
            .field("method", self.method)
            .field("path", &self.path())
            .finish_non_exhaustive()
    }
}

/// Tells what makes up the address of a request's key, where the policy alone cannot: a key from
/// elsewhere than a header, a principal that an outer layer has authenticated, the matched route in
/// place of the path. Given to
/// [`IdempotentLayer::key_resolver`](crate::IdempotentLayer::key_resolver).
///
/// It is asked for requests that are protected, before anything else is done about them. What it
/// does not tell is as the policy says; without a resolver that is everything.
///
/// ```
/// use leasehold_http::{KeyRefusal, KeyResolver, RequestHead, Resolution};
///
/// /// Who an outer layer has found the client to be.
/// #[derive(Clone)]
/// struct User(String);
///
/// struct OfUser;
///
/// impl KeyResolver for OfUser {
///     fn resolve<'a>(&'a self, head: RequestHead<'a>) -> Result<Resolution<'a>, KeyRefusal> {
///         let user = head.extensions().get::<User>();
///         let User(name) = user.ok_or_else(|| KeyRefusal::new("Keys are for users."))?;
///         Ok(Resolution::by_policy().principal([name.as_bytes()]))
///     }
/// }
/// ```
pub trait KeyResolver: Send + Sync + 'static {
    /// Resolves one request's key. It runs where the request is handled: it must neither wait nor
    /// panic, and must not log a key.
    ///
    /// # Errors
    ///
    /// A [`KeyRefusal`] becomes the answer: 400 with code 40010. The handler does not run.
    fn resolve<'a>(&'a self, head: RequestHead<'a>) -> Result<Resolution<'a>, KeyRefusal>;
}

/// What a [`KeyResolver`] tells; whatever it leaves out is as the policy says. `Debug` prints
/// neither key nor principal.
#[derive(Clone, Default, PartialEq, Eq)]
#[must_use = "a resolution is what a resolver returns"]
pub struct Resolution<'a> {
    pub(crate) key: KeySource<'a>,
    pub(crate) principal: Option<Vec<Cow<'a, [u8]>>>,
    pub(crate) operation: Option<Cow<'a, str>>,
}

/// Where the key is.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) enum KeySource<'a> {
    /// In the policy's header.
    #[default]
    Header,
    /// Nowhere: the request has none.
    Nowhere,
    /// Here.
    Given(Cow<'a, [u8]>),
}

impl<'a> Resolution<'a> {
    /// Everything as the policy says.
    pub fn by_policy() -> Self {
        Self::default()
    }

    /// The key itself, which must be one: not empty, at most
    /// [`max_key_length`](crate::Policy::max_key_length) bytes, each visible ASCII. It is taken as
    /// it is: quotes are part of it.
    pub fn key(mut self, key: impl Into<Cow<'a, [u8]>>) -> Self {
        self.key = KeySource::Given(key.into());
        self
    }

    /// The request has no key. It is refused, or passes unprotected where the policy does not
    /// [require](crate::Policy::required) one.
    pub fn no_key(mut self) -> Self {
        self.key = KeySource::Nowhere;
        self
    }

    /// Whose key it is, in one or more values whose order counts; in place of the policy's
    /// [`principal_headers`](crate::Policy::principal_headers), which may then be missing. It never
    /// meets what those would have been: no client can claim it by a header.
    pub fn principal<T: Into<Cow<'a, [u8]>>>(
        mut self,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        self.principal = Some(values.into_iter().map(Into::into).collect());
        self
    }

    /// The operation's name in place of the path: one key then stands for one request among all
    /// that the name covers, `/orders/1` and `/orders/2` alike if it is `/orders/{id}`. A name
    /// never meets a path, not even an equal one.
    pub fn operation(mut self, name: impl Into<Cow<'a, str>>) -> Self {
        self.operation = Some(name.into());
        self
    }
}

impl fmt::Debug for Resolution<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = match self.key {
            KeySource::Header => "in the header",
            KeySource::Nowhere => "none",
            KeySource::Given(_) => "given",
        };
        f.debug_struct("Resolution")
            .field("key", &key)
            .field("principal", &self.principal.as_ref().map(Vec::len))
            .field("operation", &self.operation)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_key_nor_principal_is_printed() {
        let resolution = Resolution::by_policy()
            .key(&b"secret-key"[..])
            .principal([&b"secret-user"[..]])
            .operation("orders");
        let text = format!("{resolution:?}");
        assert!(text.contains("orders") && !text.contains("secret"), "{text}");
        let request = Request::post("/orders?secret").header("idempotency-key", "secret");
        let request = request.body(()).expect("a valid request");
        let text = format!("{:?}", RequestHead::of(&request));
        assert!(text.contains("/orders") && !text.contains("secret"), "{text}");
    }
}
