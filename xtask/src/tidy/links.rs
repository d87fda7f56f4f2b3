//! Every relative link of a Markdown file leads somewhere, its heading included.

use super::Fault;
use super::tree::{File, Tree};

/// Links to files, folders and headings that are not there.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.files().filter(|file| file.path.ends_with(".md")) {
        for (index, line) in prose(&file.text) {
            for target in targets(line) {
                let wrong = judge(tree, file, target);
                faults.extend(wrong.map(|what| Fault::new(file, index + 1, what)));
            }
        }
    }
    faults
}

/// The lines outside of fenced code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// What the links of a line lead to: `[text](target)` and `[name]: target`.
fn targets(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    // Odd pieces are inline code; a link whose text is code has its target in an even one.
    for piece in line.split('`').step_by(2) {
        let links = piece.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        found.extend(links);
    }
    if line.starts_with('[')
        && let Some((_, target)) = line.split_once("]: ")
    {
        found.extend(target.split(' ').next());
    }
    found
}

/// What is wrong with a target, if anything.
fn judge(tree: &Tree, from: &File, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, heading) = match target.split_once('#') {
        Some((path, heading)) => (path, Some(heading)),
        None => (target, None),
    };
    let folder = from.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let resolved = if path.is_empty() { Some(from.path.clone()) } else { resolve(folder, path) };
    let Some(resolved) = resolved.filter(|resolved| tree.exists(resolved)) else {
        return Some(format!("links to `{target}`, which is not there: mend the link"));
    };
    let lost = heading.is_some_and(|heading| {
        let there = tree.file(&resolved).filter(|file| file.path.ends_with(".md"));
        there.is_some_and(|file| !headings(&file.text).any(|one| one == heading))
    });
    lost.then(|| format!("links to `{target}`, whose heading is not there: mend the link"))
}

/// A relative path from a folder, from the root on; none if it leads out of the repository.
fn resolve(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The anchors of a file's headings, as forges make them.
fn headings(text: &str) -> impl Iterator<Item = String> + '_ {
    prose(text).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    const OTHER: (&str, &str) = ("docs/http.md", "# The key\n\n## 2. It's `Key`\n");

    fn of(text: &str) -> Vec<String> {
        found(check, &[("docs/a.md", text), OTHER, ("README.md", "")])
    }

    #[test]
    fn links_to_files_folders_and_headings_are_followed() {
        for text in [
            "[a](http.md) [`b`](../docs) [c](../README.md)",
            "[a](http.md#the-key) [b](http.md#2-its-key)",
            "# Here\n[a](#here) [b](https://example.org/x#y)",
            "[a]: http.md",
            "`[a](nowhere)`\n```\n[a](nowhere)\n```",
        ] {
            assert_eq!(of(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn links_to_nowhere_are_faults() {
        for target in ["no.md", "../no/", "../../README.md", "http.md#no", "#no"] {
            assert_eq!(of(&format!("\n[`a`]({target})")).len(), 1, "{target}");
        }
        assert_eq!(
            of("one\n[a]: no.md"),
            ["docs/a.md:2: links to `no.md`, which is not there: mend the link"]
        );
    }
}
