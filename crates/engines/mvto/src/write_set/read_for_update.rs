//! Tuples that a transaction has read for update, pinned until it writes them or ends: so that the write need not look its key
//! up again.

use crate::store::{Pinned, Tuple};
use model::TableId;
use parts::index::Entry;

/// Tuples that are kept at once, at most: they are searched from front to back. Others are looked up again.
const MOST: usize = 16;

/// The last few tuples that were read for update and have not been written.
#[derive(Debug, Default)]
pub(crate) struct ReadForUpdate(Vec<(TableId, Pinned)>);

impl ReadForUpdate {
    /// Keeps a tuple that was found under a guard, if it lives and there is room.
    pub fn keep(&mut self, table: TableId, tuple: &Tuple) {
        let is_new = || self.0.iter().all(|(_, kept)| !std::ptr::eq(&**kept, tuple));
        if self.0.len() < MOST && is_new() {
            self.0.extend(Pinned::new(tuple).map(|pinned| (table, pinned)));
        }
    }

    /// Takes the tuple of a key for the write, with its pin.
    pub fn take(&mut self, table: TableId, key: &[u8]) -> Option<Pinned> {
        let at = self.0.iter().position(|(of, tuple)| *of == table && tuple.key() == key)?;
        Some(self.0.swap_remove(at).1)
    }

    /// Returns whether none is kept.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives up the others, at the end of the transaction. Their pins are the caller's.
    pub fn drain(&mut self) -> impl Iterator<Item = (TableId, Pinned)> {
        self.0.drain(..)
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;
    use crate::doors::Transaction;
    use crate::engine::Mvto;
    use crate::options::Options;
    use model::{Access, Begin, Columns, Finish, Interactive, Key, Mode, RowBuf, RowRef, Schema};
    use parts::epoch;

    fn engine() -> (Mvto, TableId) {
        let engine = Mvto::in_memory(Options::default()).expect("nothing can fail in memory");
        let table = engine.create_table(Schema::bytes("rows").u64_key().build().expect("a good schema"));
        let table = table.expect("a new table");
        let mut loader = begin(&engine, Mode::ReadWrite);
        (0..100).for_each(|key| put(&mut loader, table, key));
        loader.commit().expect("alone");
        (engine, table)
    }

    fn begin(engine: &Mvto, mode: Mode) -> Transaction<&Mvto> {
        engine.begin(Begin { mode, ..Begin::default() }).expect("room for one more")
    }

    fn put(open: &mut Transaction<&Mvto>, table: TableId, key: u64) {
        open.put(table, &Key::from_u64(key), RowRef::new(b"row")).expect("nobody in the way");
    }

    fn read_for_update(open: &mut Transaction<&Mvto>, table: TableId, key: u64) -> bool {
        open.read_for_update(table, &Key::from_u64(key), Columns::All, &mut RowBuf::new()).expect("nobody in the way")
    }

    fn kept(open: &Transaction<&Mvto>) -> usize {
        open.parts().1.work.kept.0.len()
    }

    #[test]
    fn what_is_read_for_update_is_kept_until_it_is_written() {
        let (engine, table) = engine();
        let mut open = begin(&engine, Mode::ReadWrite);
        (0..10).chain(0..10).for_each(|key| assert!(read_for_update(&mut open, table, key)));
        assert_eq!(kept(&open), 10, "each once");
        (5..15).for_each(|key| put(&mut open, table, key));
        assert_eq!(kept(&open), 5);
        (0..100).for_each(|key| assert!(read_for_update(&mut open, table, key)));
        assert_eq!(kept(&open), MOST);
        open.commit().expect("alone");
        for mode in [Mode::ReadOnly, Mode::OwnAtStatement] {
            let mut open = begin(&engine, mode);
            assert!(read_for_update(&mut open, table, 1));
            assert_eq!(kept(&open), 0, "{mode:?} looks nothing up again");
        }
    }

    #[test]
    fn a_deleted_row_that_is_kept_is_collected_when_its_reader_has_ended() {
        let (engine, table) = engine();
        let mut deleter = begin(&engine, Mode::ReadWrite);
        assert!(deleter.delete(table, &Key::from_u64(7)).expect("nobody in the way"));
        deleter.commit().expect("alone");
        let has_tuple = || {
            let catalog = engine.catalog();
            let space = catalog.get(table).expect("it is there").space();
            space.get(&Key::from_u64(7), &epoch::pin()).is_some()
        };
        let mut reader = begin(&engine, Mode::ReadWrite);
        assert!(!read_for_update(&mut reader, table, 7));
        engine.collect();
        assert!(has_tuple(), "it is pinned (S1)");
        reader.commit().expect("it has only read");
        engine.collect();
        assert!(!has_tuple(), "who unpins what is left of a row leaves it queued (S3)");
    }
}
