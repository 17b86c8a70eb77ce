//! Handles of tables in the catalog: the schema that each requests, and the decoded definition that it is resolved to.
//!
//! A transaction reads the version of the definition of each table that it uses, and so conflicts with a change of it (T2 of `tables`).
//! If the version is that of a definition decoded before, nothing is decoded again. All decoded definitions are in one immutable list,
//! which is replaced when one is added. A transaction takes a reference to the list once, so its uses of tables touch no shared
//! counter or lock.

use crate::Schema;
use std::cell::{Cell, OnceCell};
use std::iter;
use std::sync::{Arc, PoisonError, RwLock};
use tables::Layout;

/// The schema that a handle requires, and the layout to which it was last resolved.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    /// The table's identifier.
    pub relation: u32,
    /// The schema that it must have.
    pub schema: Arc<Schema>,
    pub layout: Option<Arc<Layout>>,
}

/// The handles of a database, by number.
#[derive(Debug, Default)]
pub(crate) struct Handles(RwLock<Arc<[Handle]>>);

impl Handles {
    pub fn all(&self) -> Arc<[Handle]> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The number of the handle of a table under a schema.
    pub fn number(&self, relation: u32, schema: Arc<Schema>) -> u32 {
        let find = |all: &[Handle]| all.iter().position(|it| it.relation == relation && it.schema == schema);
        if let Some(known) = find(&self.all()) {
            return known as u32;
        }
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let known = find(&all);
        let number = known.unwrap_or_else(|| {
            let new = Handle { relation, schema: schema.clone(), layout: None };
            *all = all.iter().cloned().chain(iter::once(new)).collect();
            all.len() - 1
        });
        number as u32
    }

    /// Records the layout of a handle, for later transactions.
    pub fn note(&self, number: u32, layout: &Arc<Layout>) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = all.to_vec();
        changed[number as usize].layout = Some(layout.clone());
        *all = changed.into();
    }
}

/// Words of 64 bits for the handles that a transaction has found as they are listed.
const LISTED_WORDS: usize = 4;

/// The handles that a transaction has used: it has read the definitions of these.
#[derive(Debug, Default)]
pub(crate) struct Used {
    /// The list, since the first was used.
    list: OnceCell<Arc<[Handle]>>,
    /// Handles whose layout is that of the list, a bit for each.
    as_listed: [Cell<u64>; LISTED_WORDS],
    /// The other ones: a definition has changed since the list was made, or there are many handles.
    others: OnceCell<Box<Other>>,
}

#[derive(Debug)]
struct Other {
    number: u32,
    layout: Arc<Layout>,
    next: OnceCell<Box<Other>>,
}

impl Used {
    /// The layout of a handle, if the transaction has used it.
    pub fn get(&self, number: u32) -> Option<&Layout> {
        if self.is_as_listed(number) {
            return self.listed(number).map(|layout| &**layout);
        }
        self.others().find(|other| other.number == number).map(|other| &*other.layout)
    }

    /// The layout of a handle when the transaction used its first handle.
    pub fn guess(&self, handles: &Handles, number: u32) -> Option<&Arc<Layout>> {
        self.list.get_or_init(|| handles.all());
        self.listed(number)
    }

    /// Adds a handle whose layout is that of the list: the transaction has read that definition.
    pub fn confirm<'u>(&'u self, number: u32, guess: &'u Arc<Layout>) -> &'u Layout {
        let (word, bit) = place_of(number);
        match self.as_listed.get(word) {
            Some(bits) => {
                bits.set(bits.get() | bit);
                guess
            }
            None => self.add(number, guess.clone()),
        }
    }

    /// Adds a handle whose layout differs from the list's.
    pub fn add(&self, number: u32, layout: Arc<Layout>) -> &Layout {
        let end = iter::successors(Some(&self.others), |at| at.get().map(|other| &other.next)).last();
        let end = end.expect("the first place is always there");
        &end.get_or_init(|| Box::new(Other { number, layout, next: OnceCell::new() })).layout
    }

    fn is_as_listed(&self, number: u32) -> bool {
        let (word, bit) = place_of(number);
        self.as_listed.get(word).is_some_and(|bits| bits.get() & bit != 0)
    }

    fn listed(&self, number: u32) -> Option<&Arc<Layout>> {
        self.list.get()?.get(number as usize)?.layout.as_ref()
    }

    fn others(&self) -> impl Iterator<Item = &Other> {
        iter::successors(self.others.get(), |other| other.next.get()).map(|other| &**other)
    }

    /// The layouts of the handles that it has used.
    pub fn layouts(&self) -> impl Iterator<Item = &Layout> {
        let handles = self.list.get().map_or(0, |list| list.len() as u32);
        let listed = (0..handles).filter(|number| self.is_as_listed(*number)).filter_map(|number| self.listed(number));
        let listed = listed.map(|layout| &**layout);
        listed.chain(self.others().map(|other| &*other.layout))
    }
}

fn place_of(number: u32) -> (usize, u64) {
    (number as usize / 64, 1 << (number % 64))
}

impl Drop for Used {
    /// Drops them one after the other: dropping a chain of boxes would recurse.
    fn drop(&mut self) {
        let mut next = self.others.take();
        while let Some(mut other) = next {
            next = other.next.take();
        }
    }
}
