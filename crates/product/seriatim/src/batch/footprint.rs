//! Declared footprints: what a procedure will touch, in the words of its tables.

use crate::batch::bytes::BytesTable;
use crate::batch::defined::Defined;
use crate::batch::table::{Keyed, Table, TableAt, TableBy};
use crate::batch::transaction::Snapshot;
use crate::range::Span;
use crate::resolve::ResolvedTable;
use crate::{AsKey, AsPrefix, BytesKey, Error, KeyRange, Record, Result};
use model::{Access, FootprintEntry, Key, RowBuf, RowRef, TableId, Touch};
use std::fmt;
use std::ops::Bound;
use tables::Layout;
use tables::entries::{Rows, entry_of};

/// The footprint of a procedure: the records and ranges that it will touch, with the entries of their indexes.
///
/// A procedure that touches anything else ends with [`Invalid::Undeclared`](crate::Invalid::Undeclared). It may declare more than
/// it touches, at the price of a placeholder for each record that it declares to write.
///
/// Mistakes, such as a table of another database, are reported by the procedure's ticket.
///
/// ```
/// use seriatim::{Database, Error, batch, record};
///
/// record! {
///     #[derive(Clone, Debug)]
///     pub struct Account { pub id: i64, pub owner: String, pub balance: i64, }
///     table "accounts";
///     key (id);
///     index by_owner (owner);
/// }
///
/// # fn main() -> Result<(), Error> {
/// let mut builder = Database::builder().engine(batch::Bohm::default());
/// let accounts = builder.table::<Account>()?;
/// let open = builder
///     .procedure("open an account", 1)
///     .footprint(move |footprint, account: &Account| footprint.inserts(accounts, account))
///     .body(move |txn, account: &Account| accounts.insert(txn, account))?;
/// let deposit = builder
///     .procedure("deposit", 1)
///     .footprint(move |footprint, (id, _): &(i64, i64)| footprint.updates(accounts, *id))
///     .body(move |txn, (id, amount): &(i64, i64)| {
///         Ok::<_, Error>(accounts.update(txn, *id, |account| account.balance += amount)?.is_some())
///     })?;
/// let db = builder.in_memory()?;
/// db.call(&open, Account { id: 1, owner: "Ann".into(), balance: 0 })?;
/// assert!(db.call(&deposit, (1, 30))?);
/// # Ok(())
/// # }
/// ```
pub struct Footprint<'f> {
    view: Snapshot<'f>,
    tables: &'f Defined,
    keys: Vec<FootprintEntry>,
    ranges: Vec<(TableId, Bound<Key>, Bound<Key>)>,
    /// The first mistake.
    wrong: Option<Error>,
}

impl<'f> Footprint<'f> {
    pub(crate) fn new(access: &'f mut (dyn Access + 'f), tables: &'f Defined) -> Footprint<'f> {
        let view = Snapshot::new(access, tables);
        Footprint { view, tables, keys: Vec::new(), ranges: Vec::new(), wrong: None }
    }

    /// The engine's footprint, and the first mistake.
    pub(crate) fn finish(self) -> (model::Footprint, Option<Error>) {
        let keys: model::Footprint = self.keys.into_iter().collect();
        let add = |footprint: model::Footprint, (table, lower, upper)| footprint.reads_range(table, lower, upper);
        (self.ranges.into_iter().fold(keys, add), self.wrong)
    }

    /// The state as of the last complete batch, for a footprint that depends on rows: who looks here has only a guess. If it misses,
    /// the procedure has no effect in its place, and gets another one with the footprint that is found then.
    pub fn look(&self) -> &Snapshot<'f> {
        &self.view
    }

    fn note(&mut self, add: impl FnOnce(&mut Self) -> Result<()>) {
        if self.wrong.is_none()
            && let Err(error) = add(self)
        {
            self.wrong = Some(error);
        }
    }

    fn layout(&self, at: TableAt) -> Result<&'f Layout> {
        self.tables.layout(at)
    }

    fn touch(&mut self, at: TableAt, key: &Key, touch: Touch) -> Result<()> {
        let of = self.tables.resolve(at)?;
        self.keys.push(FootprintEntry { table: of.rows(), key: of.stored_key(key.clone())?, touch });
        Ok(())
    }

    /// The procedure reads the record or value under `key`, or finds that there is none.
    pub fn reads<T: Keyed>(&mut self, table: T, key: impl AsKey<T::Key>) {
        self.note(|footprint| footprint.touch(table.at(), &key.to_key(), Touch::Read));
    }

    /// The procedure reads the record under `key` and may change fields of it that are in no index. Of a table of bytes: it may do
    /// anything with the value under `key`.
    pub fn updates<T: Keyed>(&mut self, table: T, key: impl AsKey<T::Key>) {
        self.note(|footprint| footprint.touch(table.at(), &key.to_key(), Touch::Any));
    }

    /// The procedure may delete the value under `key`, in a table of bytes. See [`Footprint::deletes`].
    pub fn deletes_key<K: BytesKey + ?Sized>(&mut self, table: BytesTable<K>, key: impl AsKey<K>) {
        self.note(|footprint| footprint.touch(table.at, &key.to_key(), Touch::Delete));
    }

    /// The procedure may insert or put this record, where none is under its key.
    pub fn inserts<R: Record>(&mut self, table: Table<R>, record: &R) {
        self.note(|footprint| footprint.whole(table.at, record, &[Touch::Any]));
    }

    /// The procedure may delete this record: the fields of its indexes are those that it has then. At the limit on memory such a
    /// procedure goes on where others are refused, since it makes room.
    pub fn deletes<R: Record>(&mut self, table: Table<R>, record: &R) {
        self.note(|footprint| footprint.whole(table.at, record, &[Touch::Delete, Touch::Update]));
    }

    /// The procedure may replace the record `old` by `new` under the same key: for changes of fields that are in indexes.
    pub fn replaces<R: Record>(&mut self, table: Table<R>, old: &R, new: &R) {
        self.note(|footprint| {
            footprint.whole(table.at, old, &[Touch::Any]).and_then(|()| footprint.whole(table.at, new, &[Touch::Any]))
        });
    }

    /// A record with all its entries, and what may be done to them.
    fn whole<R: Record>(&mut self, at: TableAt, record: &R, touches: &[Touch]) -> Result<()> {
        let (layout, key) = (self.layout(at)?, record.key());
        touches.iter().try_for_each(|touch| self.touch(at, &key, *touch))?;
        let (mut row, mut buffer) = (RowBuf::new(), RowBuf::new());
        record.encode(&mut row);
        let stored = layout.stored_row(&key, row.row(), &mut buffer)?;
        self.entries(layout, &layout.stored_key(&key)?, stored, touches[0])
    }

    fn entries(&mut self, layout: &Layout, key: &[u8], stored: RowRef<'_>, touch: Touch) -> Result<()> {
        for index in &layout.table().indexes {
            let found: Result<_, <Layout as Rows>::Error> = entry_of(layout, index, key, stored.bytes());
            if let Some((table, entry)) = found? {
                self.keys.push(FootprintEntry { table, key: entry.key, touch });
            }
        }
        Ok(())
    }

    /// The procedure reads what is under keys in `range`. What it writes there must be declared, too.
    pub fn reads_range<T: Keyed>(&mut self, table: T, range: impl KeyRange<T::Key>) {
        self.note(|footprint| footprint.span(table.at(), |of| Span::keys(of, &range)));
    }

    /// The procedure reads records whose composite keys begin with these components.
    pub fn reads_prefix<R: Record>(&mut self, table: Table<R>, prefix: impl AsPrefix<R::Key>) {
        self.note(|footprint| footprint.span(table.at, |of| Span::prefix(of, &prefix)));
    }

    /// The procedure reads all of a table.
    pub fn reads_all<T: Keyed>(&mut self, table: T) {
        self.note(|footprint| footprint.span(table.at(), |of| Ok(Span::all(of))));
    }

    /// The procedure walks entries of an index whose columns are in `range`. The records that they lead to must be declared, too:
    /// by [`Footprint::reads_all`], or by a [look](Footprint::look) at them.
    pub fn reads_index<R: Record, K>(&mut self, table: TableBy<R, K>, range: impl KeyRange<K>) {
        let at = table.table().at;
        self.note(|footprint| footprint.span(at, |of| Span::entries_between(of, table.id(), range.bounds())));
    }

    fn span(&mut self, at: TableAt, span: impl FnOnce(ResolvedTable<'_>) -> Result<Span>) -> Result<()> {
        let span = span(self.tables.resolve(at)?)?;
        self.ranges.push(span.bounds());
        Ok(())
    }
}

impl fmt::Debug for Footprint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Footprint").field("keys", &self.keys).field("ranges", &self.ranges).finish_non_exhaustive()
    }
}
