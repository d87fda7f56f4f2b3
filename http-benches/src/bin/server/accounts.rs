//! The processor time of a process and its children, by the kernel's account of each.

use std::fs;
use std::time::Duration;

/// The unit of the account: a hundredth of a second, for every program on x86-64 and ARM64.
const TICK: Duration = Duration::from_millis(10);

/// Processor time that was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    /// By the programs themselves.
    pub(crate) user: Duration,
    /// By the kernel for them.
    pub(crate) system: Duration,
}

/// What is read of one process.
#[derive(Debug, PartialEq, Eq)]
struct Account {
    parent: u32,
    used: Used,
}

impl Used {
    /// By a process and its children so far.
    pub(crate) fn by(id: u32) -> Result<Self, String> {
        let own = read(id).ok_or_else(|| format!("process {id} has ended"))?;
        let folders = fs::read_dir("/proc").map_err(|error| format!("no /proc: {error}"))?;
        let ids = folders.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let children = ids.filter_map(read).filter(|account| account.parent == id);
        Ok(children.fold(own.used, |sum, child| sum.and(child.used)))
    }

    /// What was used from then on.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
        }
    }

    /// Both parts.
    pub(crate) fn all(self) -> Duration {
        self.user + self.system
    }

    fn and(self, other: Self) -> Self {
        Self { user: self.user + other.user, system: self.system + other.system }
    }
}

fn read(id: u32) -> Option<Account> {
    parse(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

/// The name of the program is in brackets and may hold anything, so the last one ends it.
fn parse(text: &str) -> Option<Account> {
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<_> = rest.split_whitespace().collect();
    let ticks = |at: usize| Some(TICK * fields.get(at)?.parse().ok()?);
    let used = Used { user: ticks(11)?, system: ticks(12)? };
    Some(Account { parent: fields.get(1)?.parse().ok()?, used })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_moves_no_field() {
        let text = "7 (a) b) S 3 7 7 0 -1 4194560 1 2 3 4 150 25 9 9 20 0 1 0 5 6";
        let used = Used { user: 150 * TICK, system: 25 * TICK };
        assert_eq!(parse(text), Some(Account { parent: 3, used }));
        assert_eq!(parse("7 (a) S 3"), None);
    }

    #[test]
    fn this_process_has_an_account_and_one_that_is_gone_has_none() {
        let own = Used::by(std::process::id()).expect("an account");
        assert!(Used::by(std::process::id()).expect("an account").all() >= own.all());
        assert!(Used::by(u32::MAX).is_err());
    }
}
