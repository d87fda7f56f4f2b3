//! From a request to the address of its key: everything that scopes it, joined (rule 2.5).
//!
//! Parts are length-prefixed, so no choice of bytes makes two scopes meet. Nothing here may keep a
//! key or a principal beyond the digest.

use leasehold::{Address, Digester};

use crate::key::{self, InvalidKey};
use crate::key_refusal::KeyRefusal;
use crate::owner::Owner;
use crate::policy::{Duplicate, Policy};
use crate::principal;
use crate::resolver::{KeySource, RequestHead, Resolution};

/// Marks in the last part: whether the operation is a name rather than a path, and where the
/// principal is from.
const NAMED: u8 = 1;
const BY_HEADERS: u8 = 2;
const GIVEN: u8 = 4;

/// Bytes that a principal's part has room for from the start: a token of some length fits in.
/// Arbitrary: more is made when it is needed.
const SCOPE_BYTES: usize = 160;

impl Policy {
    /// Where the store keeps the record of a request's key under this policy: for operators' tools,
    /// which peek at records or forget them. `None` if such a request has no record, since it is
    /// not protected.
    ///
    /// The digester must be the layer's. A layer with a [`KeyResolver`](crate::KeyResolver) may
    /// take another address.
    ///
    /// # Errors
    ///
    /// [`KeyRefusal`]: the layer would refuse the request for its key.
    pub fn address(
        &self,
        head: RequestHead<'_>,
        digester: &Digester,
    ) -> Result<Option<Address>, KeyRefusal> {
        if !self.protects(head.method()) {
            return Ok(None);
        }
        let scope = Scope::of(head, &Resolution::by_policy(), self, digester)?;
        Ok(scope.map(|scope| scope.address))
    }
}

/// Where a request's key is kept, and whose request it is.
#[derive(Clone, Copy)]
pub(crate) struct Scope {
    pub(crate) address: Address,
    /// Where replays are for the client of the first run alone, as far as requests tell it.
    pub(crate) owner: Option<Owner>,
}

impl Scope {
    /// The scope of a request's key. `None` if it has no key and the policy requires none.
    pub(crate) fn of(
        head: RequestHead<'_>,
        resolution: &Resolution<'_>,
        policy: &Policy,
        digester: &Digester,
    ) -> Result<Option<Self>, KeyRefusal> {
        let refuse = |reason| KeyRefusal::of_key(policy.header_name.clone(), reason);
        let key = match &resolution.key {
            KeySource::Header => key::read(head.headers(), policy),
            KeySource::Nowhere => Err(InvalidKey::Missing),
            KeySource::Given(bytes) => key::check(bytes, policy),
        };
        let key = match key {
            Ok(key) => key,
            Err(InvalidKey::Missing) if !policy.required => return Ok(None),
            Err(reason) => return Err(refuse(reason)),
        };
        let namespace = policy.namespace.as_str().as_bytes();
        let operation = resolution.operation.as_deref().unwrap_or(head.path()).as_bytes();
        let method = head.method().as_str().as_bytes();
        let scope = rest(head, resolution, policy)?;
        // A principal or a name adds a part; their number counts like the parts themselves.
        let address = match scope {
            None => digester.address(&[namespace, method, operation, key.as_bytes()]),
            Some(scope) => {
                digester.address(&[namespace, method, operation, key.as_bytes(), &scope])
            }
        };
        // A principal tells whose record it is; else what names a client does.
        let has_principal = resolution.principal.is_some() || !policy.principal_headers.is_empty();
        let owner = (policy.duplicate == Duplicate::Replay && !has_principal)
            .then(|| Owner::of_request(digester, key.as_bytes(), head));
        Ok(Some(Self { address, owner }))
    }
}

/// What the four parts of every address leave open, if anything.
fn rest(
    head: RequestHead<'_>,
    resolution: &Resolution<'_>,
    policy: &Policy,
) -> Result<Option<Vec<u8>>, KeyRefusal> {
    let named = if resolution.operation.is_some() { NAMED } else { 0 };
    if let Some(values) = &resolution.principal {
        let mut scope = Vec::with_capacity(SCOPE_BYTES);
        scope.push(named | GIVEN);
        for value in values {
            principal::write_value(&mut scope, value);
        }
        return Ok(Some(scope));
    }
    if !policy.principal_headers.is_empty() {
        let mut scope = Vec::with_capacity(SCOPE_BYTES);
        scope.push(named | BY_HEADERS);
        principal::write_headers(&mut scope, &policy.principal_headers, head)?;
        return Ok(Some(scope));
    }
    Ok((named != 0).then(|| vec![named]))
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, Request};

    use super::*;

    fn of(
        path: &str,
        lines: &[(&str, &str)],
        resolution: &Resolution<'_>,
        principals: &[&'static str],
    ) -> Address {
        let mut request = Request::post(path).header("idempotency-key", "k-1");
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        let request = request.body(()).expect("a valid request");
        let names = principals.iter().map(|name| HeaderName::from_static(name));
        let policy = Policy::default().principal_headers(names);
        Scope::of(RequestHead::of(&request), resolution, &policy, &Digester::plain())
            .expect("a valid key")
            .expect("a key")
            .address
    }

    #[test]
    fn without_principal_and_name_the_address_is_that_of_four_parts() {
        let parts: [&[u8]; 4] = [b"default", b"POST", b"/orders", b"k-1"];
        let plain = of("/orders?q=1", &[], &Resolution::by_policy(), &[]);
        assert_eq!(plain, Digester::plain().address(&parts));
        // Pinned: instances of different releases share a store.
        let by_header =
            of("/orders", &[("x-tenant", "acme")], &Resolution::by_policy(), &["x-tenant"]);
        assert_eq!(by_header.to_string(), PINNED);
    }

    const PINNED: &str = "c3c867043c0f73c2";

    #[test]
    fn no_two_scopes_have_one_address() {
        let policy = Resolution::by_policy;
        let none: [&[u8]; 0] = [];
        let (alice, headers) = (&[("a", "alice")][..], &["a"][..]);
        let all = [
            of("/a", &[], &policy(), &[]),
            of("/a", &[("a", "")], &policy(), headers),
            of("/a", alice, &policy(), headers),
            of("/a", &[], &policy().principal(none), headers),
            of("/a", &[], &policy().principal([&b""[..]]), headers),
            of("/a", &[], &policy().principal([&b"alice"[..]]), headers),
            of("/a", &[], &policy().principal([&b"al"[..], b"ice"]), headers),
            of("/a", &[], &policy().operation("/a"), &[]),
            of("/a", alice, &policy().operation("/a"), headers),
            of("/a", &[], &policy().operation("/a").principal([&b"alice"[..]]), headers),
            of("/a", &[], &policy().operation("/b"), &[]),
            of("/a", &[], &policy().operation(""), &[]),
            of("/b", &[], &policy(), &[]),
            of("/a", &[], &policy().key(&b"k-2"[..]), &[]),
        ];
        for (i, one) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|other| other != one), "{i}");
        }
        let named = |path| of(path, &[], &policy().operation("/orders/{id}"), &[]);
        assert_eq!(named("/orders/1"), named("/orders/2"));
        assert_eq!(of("/a", &[], &policy().key(&b"k-1"[..]), &[]), all[0]);
    }

    #[test]
    fn an_operator_gets_the_address_of_what_is_protected_alone() {
        let request = |method: &str, key: &str| {
            let request = Request::builder().method(method).header("idempotency-key", key);
            request.body(()).expect("a valid request")
        };
        let policy = Policy::default();
        let address =
            |request: &Request<()>| policy.address(RequestHead::of(request), &Digester::plain());
        assert!(matches!(address(&request("POST", "k")), Ok(Some(_))));
        assert!(matches!(address(&request("GET", "k")), Ok(None)));
        assert!(address(&request("POST", "k k")).is_err());
    }
}
