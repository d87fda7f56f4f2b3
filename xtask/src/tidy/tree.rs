//! The files that the checks read: every text file below the root that version control would see.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::lexer::{self, Line};
use crate::failure::Failure;

/// One file.
#[derive(Debug)]
pub(crate) struct File {
    /// Path from the root, with forward slashes.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
    /// Its lines taken apart; empty unless it is Rust.
    pub(crate) lines: Vec<Line>,
}

impl File {
    fn new(path: String, text: String) -> Self {
        let mut lines = if path.ends_with(".rs") { lexer::lines(&text) } else { Vec::new() };
        if is_test_file(&path) {
            lines.iter_mut().for_each(|line| line.in_test = true);
        }
        Self { path, text, lines }
    }

    /// Whether it is Rust.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Its last name.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Whether it lies in one of these folders, or is one of these files.
    pub(crate) fn is_in(&self, places: &[&str]) -> bool {
        places.iter().any(|place| self.path == *place || self.below(place).is_some())
    }

    /// Its path from a folder that it lies in.
    pub(crate) fn below(&self, folder: &str) -> Option<&str> {
        self.path.strip_prefix(folder)?.strip_prefix('/')
    }

    /// Its lines with their numbers, counted from one.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.lines.iter().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// Whether a path is a file of tests alone.
fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.ends_with("_tests.rs") || path.contains("/tests/")
}

/// All files, by path.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, File>,
}

impl Tree {
    /// Reads everything below a root but `.git` and what the root's `.gitignore` names. A file
    /// that is not UTF-8 has no text, but is there to be linked to.
    pub(crate) fn read(root: &Path) -> Result<Self, Failure> {
        let ignore = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let mut skipped: Vec<&str> =
            ignore.lines().map(|line| line.trim().trim_matches('/')).collect();
        skipped.push(".git");
        let mut tree = Self::default();
        tree.walk(root, "", &skipped).map_err(|error| {
            Failure::new(format!("cannot read the files below {}: {error}", root.display()))
        })?;
        Ok(tree)
    }

    fn walk(&mut self, folder: &Path, prefix: &str, skipped: &[&str]) -> std::io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let path = format!("{prefix}{name}");
            if skipped.contains(&path.as_str()) {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.walk(&entry.path(), &format!("{path}/"), skipped)?;
            } else if kind.is_file() {
                let text = String::from_utf8(fs::read(entry.path())?).unwrap_or_default();
                self.files.insert(path.clone(), File::new(path, text));
            }
        }
        Ok(())
    }

    /// A tree of given paths and texts.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| {
            ((*path).to_owned(), File::new((*path).to_owned(), (*text).to_owned()))
        };
        Self { files: files.iter().map(file).collect() }
    }

    /// All files, in the order of their paths.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.values()
    }

    /// All Rust files.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files().filter(|file| file.is_rust())
    }

    /// One file.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.get(path)
    }

    /// Whether a path is a file or a folder with files.
    pub(crate) fn exists(&self, path: &str) -> bool {
        path.is_empty()
            || self.files.contains_key(path)
            || self.files().any(|file| file.below(path).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_is_read_without_what_it_ignores() {
        let tree = Tree::read(&crate::workspace::root()).expect("the files can be read");
        assert!(tree.file("xtask/src/tidy/tree.rs").is_some());
        assert!(tree.files().all(|file| file.below("target").is_none()));
    }

    #[test]
    fn files_of_tests_are_tests_throughout() {
        let tree = Tree::of(&[("engine/src/index/tests.rs", "a"), ("engine/src/word.rs", "a")]);
        let marks: Vec<_> = tree.files().map(|file| file.lines[0].in_test).collect();
        assert_eq!(marks, [true, false]);
    }
}
