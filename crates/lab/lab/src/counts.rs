//! Counts by name.

use std::collections::BTreeMap;

/// Counts by name. Few names, counted often: a list, searched from the front.
#[derive(Clone, Debug, Default)]
pub struct Counts(Vec<(&'static str, u64)>);

impl Counts {
    /// Counts one.
    pub fn count(&mut self, name: &'static str) {
        self.add_some(name, 1);
    }

    fn add_some(&mut self, name: &'static str, some: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += some,
            None => self.0.push((name, some)),
        }
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// By name.
    pub fn by_name(&self) -> BTreeMap<String, u64> {
        self.0.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    /// Forgets all, keeping the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds those of another client.
    pub fn add(&mut self, other: &Counts) {
        other.0.iter().for_each(|&(name, count)| self.add_some(name, count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_clients_add_up() {
        let (mut one, mut other) = (Counts::default(), Counts::default());
        one.count("a");
        other.count("a");
        other.count("b");
        one.add(&other);
        assert_eq!(one.by_name(), BTreeMap::from([("a".to_owned(), 2), ("b".to_owned(), 1)]));
        assert_eq!(one.total(), 3);
    }
}
