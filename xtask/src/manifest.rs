//! The parts of a `Cargo.toml` that the jobs need: names, members, features, dependencies.
//!
//! Reads line by line what cargo has already accepted as TOML; it must never be used to decide
//! whether a manifest is valid.

/// What a manifest says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Name of the package; empty in a manifest of a workspace alone.
    pub(crate) package: String,
    /// Folders of the members, in their order.
    pub(crate) members: Vec<String>,
    /// Names of the features, `default` included.
    pub(crate) features: Vec<String>,
    /// Dependencies of every kind and target.
    pub(crate) dependencies: Vec<Dependency>,
}

/// One dependency.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// Name of the package that is depended on.
    pub(crate) package: String,
    /// Line of its entry, counted from one.
    pub(crate) line: usize,
    /// Whether only tests, examples and benches see it.
    pub(crate) dev: bool,
}

/// Which part of the manifest a line stands in.
enum Section {
    Package,
    Workspace,
    Features,
    Dependencies {
        dev: bool,
    },
    /// `[dependencies.name]`, whose entry is the heading itself.
    OneDependency,
    Other,
}

impl Manifest {
    /// Reads a manifest.
    pub(crate) fn parse(text: &str) -> Self {
        let mut manifest = Self::default();
        let mut section = Section::Other;
        // The key whose array goes on over several lines, with its open brackets.
        let mut open: Option<(String, usize)> = None;
        for (number, raw) in text.lines().enumerate() {
            let line = raw.split(" #").next().unwrap_or_default().trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some((key, depth)) = open.take() {
                manifest.take_values(&section, &key, line);
                open = still_open(line, depth).map(|depth| (key, depth));
            } else if let Some(heading) = line.strip_prefix('[') {
                section = manifest.enter(heading.trim_end_matches(']'), number + 1);
            } else if let Some((key, value)) = line.split_once('=') {
                let (key, value) = (key.trim(), value.trim());
                manifest.take(&section, key, value, number + 1);
                manifest.take_values(&section, key, value);
                open = still_open(value, 0).map(|depth| (key.to_owned(), depth));
            }
        }
        manifest
    }

    /// Enters a section, and records the dependency that a heading itself may name.
    fn enter(&mut self, heading: &str, line: usize) -> Section {
        let (parent, last) = heading.rsplit_once('.').unwrap_or(("", heading));
        let parent = parent.rsplit('.').next().unwrap_or_default();
        if heading == "workspace.dependencies" {
            return Section::Other;
        }
        if let Some(dev) = dependency_kind(last) {
            return Section::Dependencies { dev };
        }
        if let Some(dev) = dependency_kind(parent) {
            self.dependencies.push(Dependency { package: unquoted(last), line, dev });
            return Section::OneDependency;
        }
        match heading {
            "package" => Section::Package,
            "workspace" => Section::Workspace,
            "features" => Section::Features,
            _ => Section::Other,
        }
    }

    /// Takes one entry of a section.
    fn take(&mut self, section: &Section, key: &str, value: &str, line: usize) {
        match section {
            Section::Package if key == "name" => self.package = unquoted(value),
            Section::Features => self.features.push(unquoted(key)),
            Section::Dependencies { dev } => {
                let name = key.split('.').next().unwrap_or(key);
                let package = renamed(value).unwrap_or_else(|| unquoted(name));
                self.dependencies.push(Dependency { package, line, dev: *dev });
            }
            Section::OneDependency if key == "package" => {
                if let Some(last) = self.dependencies.last_mut() {
                    last.package = unquoted(value);
                }
            }
            _ => {}
        }
    }

    /// Takes the values of an array, of which this line has some.
    fn take_values(&mut self, section: &Section, key: &str, line: &str) {
        if matches!(section, Section::Workspace) && key == "members" {
            let values = line.split(',').map(|value| value.trim_matches(['[', ']', ' ']));
            self.members.extend(values.filter(|value| !value.is_empty()).map(unquoted));
        }
    }
}

/// Whether a heading is a list of dependencies, and if so whether they are for tests alone.
fn dependency_kind(heading: &str) -> Option<bool> {
    match heading {
        "dependencies" | "build-dependencies" => Some(false),
        "dev-dependencies" => Some(true),
        _ => None,
    }
}

/// The package behind a renamed dependency: `x = { package = "y" }`.
fn renamed(value: &str) -> Option<String> {
    let (_, rest) = value.split_once("package")?;
    rest.trim_start().strip_prefix('=')?.trim_start().split('"').nth(1).map(str::to_owned)
}

fn unquoted(text: &str) -> String {
    text.trim().trim_matches(['"', '\'']).to_owned()
}

/// The number of brackets that are open after a line, if any.
fn still_open(line: &str, before: usize) -> Option<usize> {
    let opened = before + line.matches(['[', '{']).count();
    opened.checked_sub(line.matches([']', '}']).count()).filter(|depth| *depth > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_dependency_is_read() {
        let manifest = Manifest::parse(concat!(
            "[package]\nname = \"x\" # a name\n",
            "[dependencies]\na = \"1\"\nb.workspace = true\nc = { version = \"1\",\n",
            "  features = [\n  \"d\" ] }\n",
            "[dev-dependencies]\ne = { package = \"f\", path = \"../f\" }\n",
            "[target.'cfg(lease_loom)'.dependencies]\ng = \"1\"\n",
            "[build-dependencies.h]\npackage = \"i\"\n",
            "[dependencies.j]\npath = \"../j\"\n",
        ));
        let read: Vec<_> = manifest
            .dependencies
            .iter()
            .map(|one| (one.package.as_str(), one.line, one.dev))
            .collect();
        let normal = |name, line| (name, line, false);
        assert_eq!(
            read,
            [
                normal("a", 4),
                normal("b", 5),
                normal("c", 6),
                ("f", 10, true),
                normal("g", 12),
                normal("i", 13),
                normal("j", 15),
            ]
        );
        assert_eq!(manifest.package, "x");
    }

    #[test]
    fn members_and_features_are_read_on_one_line_and_on_many() {
        let manifest = Manifest::parse(concat!(
            "[workspace]\nmembers = [\"a\", \"b\"]\n",
            "[workspace.dependencies]\nq = \"1\"\n",
            "[features]\ndefault = [\n  \"one\",\n]\none = []\n",
        ));
        assert_eq!(manifest.members, ["a", "b"]);
        assert_eq!(manifest.features, ["default", "one"]);
        assert_eq!(manifest.dependencies, []);
        let many = Manifest::parse("[workspace]\nmembers = [\n    \"a\",\n    \"b/c\",\n]\n");
        assert_eq!(many.members, ["a", "b/c"]);
    }
}
