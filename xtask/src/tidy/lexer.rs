//! Tells Rust code from comments and from the contents of strings, line by line.
//!
//! The checks look for words; a word inside a string or a comment is not a use of it. This module
//! must never judge what it reads.

/// One line of a Rust file, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// The code, with the contents of strings and characters left out.
    pub(crate) code: String,
    /// The text of all comments on the line, their slashes left out.
    pub(crate) comment: String,
    /// Whether it belongs to an item that exists in tests alone.
    pub(crate) in_test: bool,
}

/// What the reader is inside of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Code,
    LineComment,
    BlockComment { depth: usize },
    Text,
    RawText { hashes: usize },
}

/// Takes a file apart.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut state = State::Code;
    for raw in text.lines() {
        let mut line = Line::default();
        if state == State::LineComment {
            state = State::Code;
        }
        let chars: Vec<char> = raw.chars().collect();
        let mut at = 0;
        while at < chars.len() {
            let rest = chars.get(at..).unwrap_or_default();
            at += step(rest, &mut state, &mut line);
        }
        lines.push(line);
    }
    mark_tests(&mut lines);
    lines
}

/// Takes what stands first in `rest`, and gives how many characters that was.
fn step(rest: &[char], state: &mut State, line: &mut Line) -> usize {
    match *state {
        State::Code => code(rest, state, line),
        State::LineComment => {
            line.comment.extend(rest.first());
            1
        }
        State::BlockComment { depth } => match rest {
            ['*', '/', ..] if depth == 1 => {
                *state = State::Code;
                2
            }
            ['*', '/', ..] => {
                *state = State::BlockComment { depth: depth - 1 };
                2
            }
            ['/', '*', ..] => {
                *state = State::BlockComment { depth: depth + 1 };
                2
            }
            _ => {
                line.comment.extend(rest.first());
                1
            }
        },
        State::Text => match rest {
            ['\\', _, ..] => 2,
            ['"', ..] => {
                line.code.push('"');
                *state = State::Code;
                1
            }
            _ => 1,
        },
        State::RawText { hashes } => {
            let closed = rest.first() == Some(&'"') && hashes_at(rest, 1) >= hashes;
            if !closed {
                return 1;
            }
            line.code.push('"');
            *state = State::Code;
            1 + hashes
        }
    }
}

/// The same for what stands in code.
fn code(rest: &[char], state: &mut State, line: &mut Line) -> usize {
    match rest {
        ['/', '/', ..] => {
            *state = State::LineComment;
            2
        }
        ['/', '*', ..] => {
            *state = State::BlockComment { depth: 1 };
            2
        }
        ['r', ..] if opens_raw(rest, line) => {
            let hashes = hashes_at(rest, 1);
            line.code.push_str("r\"");
            *state = State::RawText { hashes };
            2 + hashes
        }
        ['"', ..] => {
            line.code.push('"');
            *state = State::Text;
            1
        }
        ['\'', '\\', _, tail @ ..] => {
            let end = tail.iter().position(|c| *c == '\'').map_or(tail.len(), |end| end + 1);
            line.code.push_str("''");
            3 + end
        }
        ['\'', _, '\'', ..] => {
            line.code.push_str("''");
            3
        }
        [first, ..] => {
            line.code.push(*first);
            1
        }
        [] => 1,
    }
}

/// Whether an `r` opens a raw string: it may follow a `b` or a `c`, but no other part of a name.
fn opens_raw(rest: &[char], line: &Line) -> bool {
    let prefix_is_free = match line.code.chars().next_back() {
        Some('b' | 'c') => !line.code.chars().rev().nth(1).is_some_and(is_word),
        Some(before) => !is_word(before),
        None => true,
    };
    prefix_is_free && rest.get(1 + hashes_at(rest, 1)) == Some(&'"')
}

fn hashes_at(rest: &[char], at: usize) -> usize {
    rest.iter().skip(at).take_while(|c| **c == '#').count()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Marks the lines of every item under `#[cfg(test)]` or `#[test]`, up to its closing brace or
/// semicolon.
fn mark_tests(lines: &mut [Line]) {
    let mut depth: Option<usize> = None;
    for line in lines {
        let start = line.code.trim_start();
        let opens =
            ["#[cfg(test)]", "#[cfg(all(test", "#[test]"].iter().any(|it| start.starts_with(it));
        if depth.is_none() && opens {
            depth = Some(0);
        }
        let Some(mut open) = depth else { continue };
        line.in_test = true;
        let mut ended = false;
        for c in line.code.chars() {
            match c {
                '{' | '(' | '[' => open += 1,
                '}' | ')' | ']' => {
                    open = open.saturating_sub(1);
                    ended |= open == 0 && c == '}';
                }
                ';' => ended |= open == 0,
                _ => {}
            }
        }
        depth = (!ended).then_some(open);
    }
}

/// Whether `code` names `word`, as a whole: `unsafe` is not in `unsafe_code`. A word may contain
/// `::` and end in punctuation.
pub(crate) fn names(code: &str, word: &str) -> bool {
    positions(code, word).next().is_some()
}

/// Where `code` names `word`, in bytes.
pub(crate) fn positions<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let before = code.get(..*at).and_then(|text| text.chars().next_back());
        let after = code.get(at + word.len()..).and_then(|text| text.chars().next());
        let open_start = word.starts_with(is_word) && before.is_some_and(is_word);
        let open_end = word.ends_with(is_word) && after.is_some_and(is_word);
        !open_start && !open_end
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(text: &str) -> String {
        lines(text).into_iter().map(|line| line.code).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn strings_characters_and_comments_are_not_code() {
        assert_eq!(
            code_of(r#"a("un\"safe", 'x', '\'', b'"'); // unsafe"#),
            r#"a("", '', '', b''); "#
        );
        assert_eq!(code_of("a /* b /* c */ d */ e"), "a  e");
        assert_eq!(code_of("r#\"a\"b\n\"# c"), "r\"\n\" c");
        assert_eq!(code_of("br\"a\\\" c"), "br\"\" c");
        assert_eq!(code_of("\"a\nunsafe\" b"), "\"\n\" b");
    }

    #[test]
    fn lifetimes_are_code() {
        assert_eq!(code_of("fn f<'a>(x: &'a str) -> &'a str"), "fn f<'a>(x: &'a str) -> &'a str");
    }

    #[test]
    fn a_comment_keeps_its_text() {
        assert_eq!(lines("a // [W1] why")[0].comment, " [W1] why");
        assert_eq!(lines("/* one\ntwo */ b")[1].comment, "two ");
    }

    #[test]
    fn test_items_are_marked_to_their_end_and_no_further() {
        let text = "a;\n#[cfg(test)]\nmod tests {\n    fn f(x: [u8; 4]) { g(\"}\"); }\n}\nb;\n\
                    #[cfg(test)]\nmod more;\nc;";
        let marked: Vec<_> = lines(text).iter().map(|line| line.in_test).collect();
        assert_eq!(marked, [false, true, true, true, true, false, true, true, false]);
    }

    #[test]
    fn words_are_whole() {
        assert!(names("unsafe { x }", "unsafe"));
        assert!(!names("#![forbid(unsafe_code)]", "unsafe"));
        assert!(names("use std::sync::atomic::AtomicU8;", "std::sync::atomic"));
        assert!(!names("Atomic::null()", "atomic"));
        assert!(names("todo!()", "todo!"));
    }
}
