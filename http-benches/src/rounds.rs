//! Rounds: in each one every entrant is measured once, and the order moves on by one, so that a
//! slow minute of the machine meets all of them alike.

/// Measures an entrant once.
pub type Measure<'a, T> = Box<dyn FnMut() -> Result<T, String> + 'a>;

/// One of those that are compared.
pub struct Entrant<'a, T> {
    /// The name in tables.
    pub name: &'static str,
    /// Measures it once.
    pub measure: Measure<'a, T>,
}

impl<'a, T> Entrant<'a, T> {
    /// An entrant with its measurement.
    pub fn new(name: &'static str, measure: impl FnMut() -> Result<T, String> + 'a) -> Self {
        Self { name, measure: Box::new(measure) }
    }
}

/// What every entrant came to in each of so many rounds, in the order in which they were given.
///
/// # Errors
///
/// The first measurement's that failed, with its entrant's name.
pub fn interleave<T>(
    rounds: usize,
    entrants: &mut [Entrant<'_, T>],
) -> Result<Vec<(&'static str, Vec<T>)>, String> {
    let mut all: Vec<_> = entrants.iter().map(|entrant| (entrant.name, Vec::new())).collect();
    for round in 0..rounds {
        for turn in 0..entrants.len() {
            let at = (round + turn) % entrants.len();
            if let (Some(entrant), Some((name, found))) = (entrants.get_mut(at), all.get_mut(at)) {
                found.push((entrant.measure)().map_err(|error| format!("{name}: {error}"))?);
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn the_order_moves_on_and_every_round_has_everybody() {
        let seen = RefCell::new(String::new());
        let entrant = |name: &'static str| {
            let seen = &seen;
            Entrant::new(name, move || {
                seen.borrow_mut().push_str(name);
                Ok(1)
            })
        };
        let found = interleave(3, &mut [entrant("a"), entrant("b")]);
        assert_eq!(found, Ok(vec![("a", vec![1; 3]), ("b", vec![1; 3])]));
        assert_eq!(*seen.borrow(), "abbaab");
    }

    #[test]
    fn a_failure_ends_the_rounds_and_names_its_entrant() {
        let mut entrants = [Entrant::<()>::new("a", || Err("why".to_owned()))];
        assert_eq!(interleave(2, &mut entrants), Err("a: why".to_owned()));
    }
}
