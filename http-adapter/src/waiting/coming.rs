//! Which keys have a response that is still on its way into the store: who wants the response waits
//! for that, beyond the run's end (rule 5.5).

use std::sync::Arc;

use leasehold::Address;

use super::Waiting;

/// A response that is being kept, until this is dropped. Those who wait for its key are told then.
#[derive(Debug)]
pub(crate) struct Coming {
    waiting: Arc<Waiting>,
    address: Address,
}

impl Waiting {
    /// One more response that is being kept; to be called before its run's commit.
    pub(crate) fn coming(self: &Arc<Self>, address: Address) -> Coming {
        *self.coming.lock(&address).entry(address).or_default() += 1;
        Coming { waiting: Arc::clone(self), address }
    }

    /// Whether a response of the key's is being kept.
    pub(crate) fn is_coming(&self, address: &Address) -> bool {
        self.coming.lock(address).contains_key(address)
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        {
            let mut coming = self.waiting.coming.lock(&self.address);
            // A run that has lost its lease may still be keeping its response beside the next one.
            if let Some(count) = coming.get_mut(&self.address) {
                *count -= 1;
                if *count == 0 {
                    coming.remove(&self.address);
                }
            }
        }
        self.waiting.tell(&self.address);
    }
}
