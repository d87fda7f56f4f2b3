//! A small number for each live thread, the lowest that is free.
//!
//! Two live threads must never have the same one: accounts rest on their single writer. A crate
//! exists for this, `thread_local`; its first call in a thread-local's destructor panics, and so
//! aborts the process. Here such a thread simply has no number.

#[cfg(not(lease_loom))]
pub(super) use self::real::of_this_thread;

/// Threads that can have a number at once. Arbitrary; those beyond share an account.
pub(super) const THREADS_MOST: usize = 4096;

/// The model's: threads are numbered as they come.
#[cfg(lease_loom)]
pub(super) fn of_this_thread() -> Option<usize> {
    Some(crate::sync::thread_number())
}

#[cfg(not(lease_loom))]
mod real {
    use super::THREADS_MOST;
    use crate::sync::plain::{AtomicU64, Ordering};

    const WORD_BITS: usize = u64::BITS as usize;
    const WORDS: usize = THREADS_MOST / WORD_BITS;

    /// Which numbers are in use, one bit each.
    struct Numbers([AtomicU64; WORDS]);

    static NUMBERS: Numbers = Numbers::new();

    thread_local!(static NUMBER: Number = Number(NUMBERS.draw()));

    /// A thread's number, until its thread-locals are destroyed.
    struct Number(Option<usize>);

    impl Drop for Number {
        fn drop(&mut self) {
            if let Some(number) = self.0 {
                NUMBERS.put_back(number);
            }
        }
    }

    /// The calling thread's number; `None` if its thread-locals are destroyed already, or if all
    /// numbers are in use.
    #[inline]
    pub(in super::super) fn of_this_thread() -> Option<usize> {
        NUMBER.try_with(|number| number.0).ok().flatten()
    }

    impl Numbers {
        const fn new() -> Self {
            Self([const { AtomicU64::new(0) }; WORDS])
        }

        fn draw(&self) -> Option<usize> {
            self.0.iter().enumerate().find_map(|(index, word)| {
                // [N5] `Relaxed`: a guess for the exchange that follows.
                let mut used = word.load(Ordering::Relaxed);
                // Ends: each turn means that another thread drew or put back.
                while used != u64::MAX {
                    let free = used.trailing_ones();
                    let drawn = used | 1 << free;
                    // [N5] `Acquire`: what the number's last thread wrote is seen, as if this
                    // thread had written it. Pairs with `put_back`.
                    match word.compare_exchange(used, drawn, Ordering::Acquire, Ordering::Relaxed) {
                        Ok(_) => return Some(index * WORD_BITS + free as usize),
                        Err(now) => used = now,
                    }
                }
                None
            })
        }

        fn put_back(&self, number: usize) {
            // [N5] `Release`: the accounts that this thread wrote are the next one's.
            self.0[number / WORD_BITS].fetch_and(!(1 << (number % WORD_BITS)), Ordering::Release);
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn numbers_are_drawn_lowest_first_and_used_again() {
            let numbers = Numbers::new();
            for number in 0..130 {
                assert_eq!(numbers.draw(), Some(number));
            }
            numbers.put_back(70);
            numbers.put_back(3);
            assert_eq!([(); 3].map(|()| numbers.draw()), [Some(3), Some(70), Some(130)]);
        }

        #[test]
        fn when_all_are_in_use_there_is_none() {
            let numbers = Numbers::new();
            (0..THREADS_MOST).for_each(|number| assert_eq!(numbers.draw(), Some(number)));
            assert_eq!(numbers.draw(), None);
            numbers.put_back(THREADS_MOST - 1);
            assert_eq!(numbers.draw(), Some(THREADS_MOST - 1));
        }

        #[test]
        fn live_threads_never_share_a_number() {
            let numbers = Numbers::new();
            let in_use = [const { AtomicU64::new(0) }; 4];
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..20_000 {
                            let number = numbers.draw().expect("four threads, many numbers");
                            assert_eq!(in_use[number].swap(1, Ordering::Relaxed), 0);
                            in_use[number].store(0, Ordering::Relaxed);
                            numbers.put_back(number);
                        }
                    });
                }
            });
        }
    }
}
