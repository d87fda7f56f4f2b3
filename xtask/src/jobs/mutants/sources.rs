//! The workspace's files as texts, and a copy of them that changes only where they differ.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

#[cfg(test)]
use super::killer::Killer;
use crate::failure::Failure;
use crate::tidy::tree::Tree;

/// Texts by path from the root.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources(BTreeMap<String, String>);

impl Sources {
    /// Reads what version control would see.
    pub(super) fn read(root: &Path) -> Result<Self, Failure> {
        let tree = Tree::read(root)?;
        Ok(Self(tree.files().map(|file| (file.path.clone(), file.text.clone())).collect()))
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect())
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// Whether a killer's test is written anywhere in the tree.
    #[cfg(test)]
    pub(super) fn has_test(&self, killer: &Killer) -> bool {
        let named = [format!("fn {}(", killer.name()), format!("fn {}<", killer.name())];
        let is_in = |text: &String| named.iter().any(|name| text.contains(name.as_str()));
        killer.name().is_empty() || self.0.values().any(is_in)
    }

    /// The same with another text in one file.
    pub(super) fn set(&mut self, path: &str, text: String) {
        self.0.insert(path.to_owned(), text);
    }

    /// Makes a folder hold these files alone. What is the same already keeps its time, so that
    /// cargo builds nothing again that has not changed.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(format!("cannot write to {}: {error}", folder.display()))
        };
        fs::create_dir_all(folder).map_err(failed)?;
        let there = Self::read(folder)?;
        let paths: BTreeSet<_> = self.0.keys().chain(there.0.keys()).collect();
        for path in paths {
            let file = folder.join(path);
            match self.text(path) {
                None => fs::remove_file(file).map_err(failed)?,
                Some(text) if there.text(path) == Some(text) => {}
                Some(text) => {
                    fs::create_dir_all(file.parent().unwrap_or(folder)).map_err(failed)?;
                    fs::write(file, text).map_err(failed)?;
                }
            }
        }
        Ok(())
    }
}
