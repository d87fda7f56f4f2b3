//! Every invariant of the accounts, walked while nothing runs.

use super::Accounts;

impl Accounts {
    /// Whether no place is in hand, and each is free or an entry's.
    ///
    /// # Errors
    ///
    /// The first invariant that does not hold, in words.
    pub(crate) fn validate(&self, entries: usize, max_entries: usize) -> Result<(), String> {
        if self.begun_if_idle().is_none() {
            return Err("a thread is busy although nothing runs".to_owned());
        }
        let in_accounts: u64 = self.all().map(|account| account.places().count()).sum();
        let free = self.pool.count() + in_accounts;
        let counted = self.entries();
        if free + entries as u64 != max_entries as u64 || counted != entries {
            return Err(format!(
                "{entries} entries, {counted} counted, and {free} free places of {max_entries}"
            ));
        }
        Ok(())
    }
}
