//! The user that a server runs as: oneself, unless that is root.

use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Another user; `None` is oneself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account(Option<(u32, u32)>);

impl Account {
    /// For a server whose files are in `folder`, which is one's own: the user `name` if one is
    /// root. The folder is theirs then.
    pub(crate) fn of(name: &str, folder: &Path) -> Self {
        let owner = std::fs::metadata(folder).expect("the folder was made just now").uid();
        if owner != 0 {
            return Self(None);
        }
        let (user, group) = (id("-u", name), id("-g", name));
        chown(folder, Some(user), Some(group)).expect("root may give a folder away");
        Self(Some((user, group)))
    }

    /// A command that runs as this user.
    pub(crate) fn command(self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        if let Self(Some((user, group))) = self {
            command.uid(user).gid(group);
        }
        command
    }
}

fn id(which: &str, name: &str) -> u32 {
    let output = Command::new("id").args([which, name]).output().expect("`id` can be started");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().unwrap_or_else(|_| panic!("there is no user `{name}` to run a server as"))
}
