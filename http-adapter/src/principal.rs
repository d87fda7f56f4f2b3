//! Whose key it is: the request headers that a policy names (rule 2.5b).
//!
//! Values may be credentials: nothing here is printed, and no error holds one.

use http::header::{COOKIE, HOST};
use http::{HeaderMap, HeaderName, Uri};

use crate::key_refusal::KeyRefusal;
use crate::resolver::RequestHead;

/// Writes what the named headers say behind what is in `out`: of each header its name, the number
/// of its lines, and the lines in their order, each with its length before it.
///
/// All lines count: whichever of them a service believes, a client that has put one before the
/// line that a proxy adds has another principal than the one it names. Cookies alone are one value
/// however many lines they came in: HTTP/2 splits them as it likes (RFC 9113, 8.2.3).
pub(crate) fn write_headers(
    out: &mut Vec<u8>,
    names: &[HeaderName],
    head: RequestHead<'_>,
) -> Result<(), KeyRefusal> {
    for name in names {
        let count = lines(name, head).count() as u64;
        if count == 0 {
            return Err(KeyRefusal::of_principal(name.clone()));
        }
        write_value(out, name.as_str().as_bytes());
        if *name == COOKIE {
            out.extend_from_slice(&1_u64.to_le_bytes());
            write_value(out, &lines(name, head).collect::<Vec<_>>().join(&b"; "[..]));
            continue;
        }
        out.extend_from_slice(&count.to_le_bytes());
        for line in lines(name, head) {
            write_value(out, line);
            if *name == HOST {
                // Hosts are the same in any letter case (RFC 3986, 3.2.2).
                let start = out.len().saturating_sub(line.len());
                out[start..].make_ascii_lowercase();
            }
        }
    }
    Ok(())
}

/// Writes a value with its length before it.
pub(crate) fn write_value(out: &mut Vec<u8>, value: &[u8]) {
    out.extend_from_slice(&(value.len() as u64).to_le_bytes());
    out.extend_from_slice(value);
}

/// What a header says. Whom a request is for is also said by its target's authority, which is all
/// that HTTP/2 sends, and which goes before a header that says something else; a service may
/// believe either.
fn lines<'a>(name: &HeaderName, head: RequestHead<'a>) -> impl Iterator<Item = &'a [u8]> {
    let authority = if *name == HOST { host(head.uri()) } else { None };
    let lines = head.headers().get_all(name).into_iter().map(|line| line.as_bytes());
    let is_said = move |line: &[u8]| authority.is_some_and(|said| said.eq_ignore_ascii_case(line));
    authority.into_iter().chain(lines.filter(move |line| !is_said(line)))
}

/// The host and port of a target that has them. A user and a password are no part of a host.
pub(crate) fn host(uri: &Uri) -> Option<&[u8]> {
    let authority = uri.authority()?.as_str();
    Some(authority.rsplit_once('@').map_or(authority, |(_, host)| host).as_bytes())
}

/// Marks the values of the headers that tell whose key it is as sensitive, so that whoever prints
/// the request's headers later prints no credentials. A host is none.
pub(crate) fn conceal(headers: &mut HeaderMap, names: &[HeaderName]) {
    if names.is_empty() {
        return;
    }
    for (name, value) in headers.iter_mut() {
        if name != HOST && names.contains(name) {
            value.set_sensitive(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn written(
        names: &[&'static str],
        target: &str,
        lines: &[(&str, &str)],
    ) -> Result<Vec<u8>, KeyRefusal> {
        let mut request = Request::post(target);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        let request = request.body(()).expect("a valid request");
        let names: Vec<_> = names.iter().map(|name| HeaderName::from_static(name)).collect();
        let mut out = Vec::new();
        write_headers(&mut out, &names, RequestHead::of(&request)).map(|()| out)
    }

    /// Names of headers, and the lines of a request.
    type Case = (&'static [&'static str], &'static [(&'static str, &'static str)]);

    #[test]
    fn no_two_principals_are_written_alike() {
        let all: [Case; 12] = [
            (&["a"], &[("a", "")]),
            (&["a"], &[("a", "x")]),
            (&["a"], &[("a", "xx")]),
            (&["a"], &[("a", "x"), ("a", "x")]),
            (&["a"], &[("a", "x"), ("a", "y")]),
            (&["a"], &[("a", "y"), ("a", "x")]),
            (&["a"], &[("a", "x, y")]),
            (&["b"], &[("b", "x")]),
            (&["a", "b"], &[("a", "x"), ("b", "y")]),
            (&["b", "a"], &[("a", "x"), ("b", "y")]),
            (&["a", "b"], &[("a", "x"), ("a", "y"), ("b", "z")]),
            (&["a", "b"], &[("a", "x"), ("b", "y"), ("b", "z")]),
        ];
        let all = all.map(|(names, lines)| written(names, "/", lines).expect("all are there"));
        for (i, one) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|other| other != one), "{i}");
        }
    }

    #[test]
    fn cookies_are_one_value_however_they_are_split() {
        let cookies = |lines: &[&str]| {
            let lines: Vec<_> = lines.iter().map(|line| ("cookie", *line)).collect();
            written(&["cookie"], "/", &lines).expect("cookies")
        };
        assert_eq!(cookies(&["a=1", "b=2"]), cookies(&["a=1; b=2"]));
        assert_ne!(cookies(&["b=2", "a=1"]), cookies(&["a=1; b=2"]));
        assert!(written(&["cookie"], "/", &[]).is_err());
    }

    #[test]
    fn a_header_that_is_missing_is_named() {
        let header = HeaderName::from_static("b");
        assert_eq!(written(&["a", "b"], "/", &[("a", "x")]), Err(KeyRefusal::of_principal(header)));
        assert_eq!(
            written(&["host"], "/", &[]),
            Err(KeyRefusal::of_principal(HOST)),
            "HTTP/1.0 may have none"
        );
    }

    #[test]
    fn the_host_is_the_targets_or_the_headers_and_both_where_they_differ() {
        let host = |target: &str, lines: &[&str]| {
            let lines: Vec<_> = lines.iter().map(|line| ("host", *line)).collect();
            written(&["host"], target, &lines).expect("a host")
        };
        let plain = host("/", &["a:80"]);
        assert_eq!(host("http://a:80/", &[]), plain);
        assert_eq!(host("http://a:80/", &["a:80"]), plain);
        assert_eq!(host("http://user:pass@a:80/", &[]), plain);
        assert_eq!(host("/", &["A:80"]), plain);
        assert_eq!(host("http://A:80/", &["a:80"]), plain);
        assert_eq!(host("http://B/", &["A:80"]), host("http://b/", &["a:80"]));
        assert_ne!(host("http://b/", &["a:80"]), plain);
        assert_ne!(host("http://b/", &["a:80"]), host("http://b/", &[]));
        assert_ne!(host("/", &["a"]), plain);
    }

    #[test]
    fn credentials_are_concealed_and_hosts_are_not() {
        let mut request = Request::post("/").header("host", "open").header("other", "open");
        request = request.header("authorization", "secret-1").header("authorization", "secret-2");
        let mut request = request.body(()).expect("a valid request");
        let names = [HOST, http::header::AUTHORIZATION];
        conceal(request.headers_mut(), &names);
        let text = format!("{request:?}");
        assert!(!text.contains("secret") && text.matches("open").count() == 2, "{text}");
    }
}
