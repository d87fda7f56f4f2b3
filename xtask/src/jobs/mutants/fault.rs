//! A fault: what it breaks, who finds it, and which text of which file it replaces.
//!
//! One file a fault, named after it:
//!
//! ```text
//! breaks: what no longer holds, in one line
//! killed by: the kind of check, and the test; see `killer`
//! file: engine/src/word.rs
//! --- replace
//! the text, in whole lines, as it stands in the file
//! --- with
//! what stands there instead; perhaps nothing
//! --- end
//! ```
//!
//! Several replacements may follow each other, each in the `file` that was named last. A text that
//! is not found exactly once is an error, so that no fault outlives the code that it was made for.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::killer::Killer;
use super::sources::Sources;
use crate::failure::Failure;

/// Where the faults are, below the root, and how their names end.
const FOLDER: &str = "xtask/faults";
const EXTENSION: &str = "fault";

/// One fault.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) name: String,
    pub(super) breaks: String,
    pub(super) killer: Killer,
    edits: Vec<Edit>,
}

/// One replacement.
#[derive(Debug, Default, PartialEq, Eq)]
struct Edit {
    file: String,
    replace: String,
    with: String,
}

/// All faults, by name.
pub(super) fn all(root: &Path) -> Result<Vec<Fault>, Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("cannot read {FOLDER}: {error}"));
    let mut faults = Vec::new();
    for entry in fs::read_dir(root.join(FOLDER)).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            faults.push(Fault::parse(&name, &fs::read_to_string(&path).map_err(failed)?)?);
        }
    }
    faults.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(faults)
}

/// The killers of some faults, each once.
pub(super) fn killers<'a>(faults: &[&'a Fault]) -> BTreeSet<&'a Killer> {
    faults.iter().map(|fault| &fault.killer).collect()
}

/// Which part of a fault's file a line stands in.
enum Part {
    Head,
    Replace,
    With,
}

impl Fault {
    fn parse(name: &str, text: &str) -> Result<Self, Failure> {
        let wrong = |what: String| Failure::new(format!("the fault `{name}`: {what}"));
        let (mut breaks, mut killer, mut edits) = (String::new(), None, Vec::new());
        let mut file = String::new();
        let mut edit = Edit::default();
        let mut part = Part::Head;
        for line in text.lines() {
            match (&part, line) {
                (Part::Head, "--- replace") => part = Part::Replace,
                (Part::Replace, "--- with") => part = Part::With,
                (Part::With, "--- end") => {
                    let whole = Edit { file: file.clone(), ..std::mem::take(&mut edit) };
                    edits.push(whole);
                    part = Part::Head;
                }
                (Part::Replace, line) => edit.replace.extend([line, "\n"]),
                (Part::With, line) => edit.with.extend([line, "\n"]),
                (Part::Head, line) => match line.split_once(": ") {
                    Some(("breaks", text)) => breaks = text.to_owned(),
                    Some(("killed by", text)) => killer = Killer::parse(text),
                    Some(("file", path)) => file = path.to_owned(),
                    _ => return Err(wrong(format!("`{line}` is not understood"))),
                },
            }
        }
        let is_whole = matches!(part, Part::Head) && !edits.is_empty() && !breaks.is_empty();
        let killer = killer.filter(|_| is_whole).ok_or_else(|| {
            wrong("it does not say what it breaks or who kills it, or its last part is open".into())
        })?;
        Ok(Self { name: name.to_owned(), breaks, killer, edits })
    }

    /// The sources with the fault in them.
    pub(super) fn plant(&self, sources: &Sources) -> Result<Sources, Failure> {
        let mut planted = sources.clone();
        for Edit { file, replace, with } in &self.edits {
            let text = planted.text(file).unwrap_or_default();
            let count = if replace.is_empty() { 0 } else { text.matches(replace.as_str()).count() };
            if count != 1 {
                let name = &self.name;
                return Err(Failure::new(format!(
                    "the fault `{name}` replaces a text that stands {count} times in {file}, not \
                     once:\n{replace}"
                )));
            }
            let replaced = text.replacen(replace.as_str(), with, 1);
            planted.set(file, replaced);
        }
        Ok(planted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "breaks: it\nkilled by: stress\nfile: a.rs\n--- replace\none\n--- with\ntwo\n--- end\n";

    #[test]
    fn every_fault_still_fits_the_sources() {
        let root = crate::workspace::root();
        let sources = Sources::read(&root).expect("the files can be read");
        let faults = all(&root).expect("the faults can be read");
        assert!(faults.len() >= 20);
        for fault in faults {
            let planted = fault.plant(&sources).map(|_| ());
            assert_eq!(planted, Ok(()), "{}", fault.name);
            assert!(sources.has_test(&fault.killer), "{}: {}", fault.name, fault.killer);
        }
    }

    #[test]
    fn a_fault_replaces_what_stands_there_once() {
        let fault = Fault::parse("x", TEXT).expect("it is whole");
        let planted = |text: &str| fault.plant(&Sources::of(&[("a.rs", text)]));
        let once = planted("zero\none\nthree\n").expect("it stands there once");
        assert_eq!(once.text("a.rs"), Some("zero\ntwo\nthree\n"));
        assert!(planted("zero\n").is_err() && planted("one\none\n").is_err());
        assert!(fault.plant(&Sources::of(&[])).is_err());
    }

    #[test]
    fn a_fault_that_is_not_whole_is_refused() {
        for wrong in [
            "",
            "breaks: it\nkilled by: stress\n",
            "breaks: it\nkilled by: stress\nfile: a.rs\n--- replace\none\n",
            "breaks: it\nkilled by: stress\nfile: a.rs\n--- replace\none\n--- with\ntwo\n",
            "breaks: it\nfile: a.rs\n--- replace\none\n--- with\n--- end\n",
            "breaks: it\nkilled by: luck\nfile: a.rs\n--- replace\none\n--- with\n--- end\n",
            "killed by: stress\nfile: a.rs\n--- replace\none\n--- with\n--- end\n",
            "something: else\n",
        ] {
            assert!(Fault::parse("x", wrong).is_err(), "{wrong}");
        }
    }
}
