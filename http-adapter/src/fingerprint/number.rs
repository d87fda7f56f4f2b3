//! Numbers of a JSON text, exactly: two have the same form if and only if they have the same value.
//!
//! A double must never stand for a number here, as it does in RFC 8785: two integers beyond 2^53
//! would become one, and two payments the same.

/// The numbers of a text that is known to be JSON, in their order.
pub(super) struct Numbers<'a> {
    rest: &'a [u8],
}

impl<'a> Numbers<'a> {
    pub(super) const fn new(text: &'a [u8]) -> Self {
        Self { rest: text }
    }
}

impl<'a> Iterator for Numbers<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let (&first, after) = self.rest.split_first()?;
            match first {
                b'"' => self.rest = after_string(after),
                b'-' | b'0'..=b'9' => {
                    let is_part =
                        |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                    let end = self.rest.iter().position(|byte| !is_part(byte));
                    let (number, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
                    self.rest = rest;
                    return Some(number);
                }
                _ => self.rest = after,
            }
        }
    }
}

/// What follows a string whose first quote was taken.
fn after_string(mut text: &[u8]) -> &[u8] {
    // Ends: each turn shortens the text.
    loop {
        match text {
            [b'\\', _, rest @ ..] => text = rest,
            [b'"', rest @ ..] => return rest,
            [_, rest @ ..] => text = rest,
            [] => return text,
        }
    }
}

/// Writes a number as its sign, its significant digits, and a power of ten: `-1.50` as `-15e-1`,
/// every zero as `0`. An exponent of more than 64 bits stays as it was written.
pub(super) fn write(number: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    if write_exact(number, out).is_none() {
        out.truncate(start);
        out.extend_from_slice(number);
    }
}

fn write_exact(number: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (negative, magnitude) = match number.strip_prefix(b"-") {
        Some(magnitude) => (true, magnitude),
        None => (false, number),
    };
    let mut halves = magnitude.splitn(2, |byte| matches!(byte, b'e' | b'E'));
    let mantissa = halves.next().unwrap_or_default();
    let exponent = halves.next();
    let mut parts = mantissa.splitn(2, |byte| *byte == b'.');
    let (whole, fraction) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let digits = || whole.iter().chain(fraction).copied();
    let Some(first) = digits().position(|digit| digit != b'0') else {
        out.push(b'0');
        return Some(());
    };
    let zeros_behind = digits().rev().take_while(|digit| *digit == b'0').count();
    let count = whole.len() + fraction.len();
    let exponent: i64 = match exponent {
        Some(text) => std::str::from_utf8(text).ok()?.parse().ok()?,
        None => 0,
    };
    let exponent = exponent
        .checked_sub(i64::try_from(fraction.len()).ok()?)?
        .checked_add(i64::try_from(zeros_behind).ok()?)?;
    if negative {
        out.push(b'-');
    }
    out.extend(digits().skip(first).take(count - zeros_behind - first));
    out.push(b'e');
    out.extend_from_slice(exponent.to_string().as_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(number: &str) -> String {
        let mut out = Vec::new();
        write(number.as_bytes(), &mut out);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn equal_values_have_one_form() {
        for (form_of_all, numbers) in [
            ("0", &["0", "-0", "0.0", "0e5", "0E-99999999999999999999", "-0.000"][..]),
            ("1e0", &["1", "1.0", "1e0", "10e-1", "0.1E+1", "0.01e2", "1.000"]),
            ("-15e-1", &["-1.5", "-1.50", "-15e-1", "-0.15e1"]),
            ("12e2", &["1200", "1.2e3", "1200.00"]),
            ("1e400", &["1e400", "10e399", "1E+400"]),
            ("101e0", &["101", "101.0", "1.01e2"]),
            ("1e2", &["1e00000000000000000000002", "100"]),
        ] {
            for number in numbers {
                assert_eq!(form(number), form_of_all, "{number}");
            }
        }
    }

    #[test]
    fn different_values_have_different_forms() {
        let numbers = [
            "9007199254740992",
            "9007199254740993",
            "18446744073709551616",
            "18446744073709551617",
            "1e400",
            "1e401",
            "-1e400",
            "1e99999999999999999999",
            "1e99999999999999999998",
            "1e-99999999999999999999",
            "0.1",
            "0.10000000000000000001",
            "1",
            "-1",
            "10",
            "11",
            "101",
            "0",
        ];
        for (index, one) in numbers.iter().enumerate() {
            for other in &numbers[index + 1..] {
                assert_ne!(form(one), form(other), "{one} {other}");
            }
        }
    }

    #[test]
    fn numbers_are_found_in_their_order_and_never_in_strings() {
        let text = br#"{"1":-2.5e+3,"a\"4":[5,true,null,"\\",6E1],"e":"7"}8"#;
        let found: Vec<_> = Numbers::new(text).collect();
        assert_eq!(found, [&b"-2.5e+3"[..], b"5", b"6E1", b"8"]);
        assert_eq!(Numbers::new(b"\"\\").count(), 0);
    }
}
