//! Reconnaissance: the footprint of a procedure, found by running its body once without effect.
//!
//! Source: Thomson et al., "Calvin", SIGMOD 2012, section 3.2.1 (optimistic lock location prediction).

use model::{
    Access, Columns, Delta, Error, Footprint, FootprintEntry, Invalid, Item, Key, OwnWrites, Program, Result, RowBuf,
    RowRef, Scan, ScanEnd, TableId, Touch,
};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

/// An [`Access`] that reads, keeps writes to itself, and notes what is touched.
///
/// A scan does not show the body's own writes: procedures that read a range behind their own writes in it need a footprint of
/// their own.
struct Trial<'a, A: ?Sized> {
    inner: &'a mut A,
    touched: BTreeMap<(TableId, Key), Touch>,
    ranges: Vec<(TableId, Bound<Key>, Bound<Key>)>,
    written: OwnWrites,
}

/// Returns the footprint of a body, from one run of it, and tells what the body would write. Where the body gives up, what it touched
/// until then.
///
/// # Errors
/// Errors of `access`.
pub fn footprint<P: Program<Error = Error>, A: Access + ?Sized>(mut body: P, access: &mut A) -> Result<Footprint> {
    let mut trial =
        Trial { inner: access, touched: BTreeMap::new(), ranges: Vec::new(), written: OwnWrites::default() };
    let outcome = body.run(&mut trial);
    let Trial { touched, ranges, written, inner } = trial;
    match outcome {
        Err(error) if !gives_up(&error) => return Err(error),
        Err(_) => {}
        Ok(_) => written.into_rows().iter().for_each(|((table, key), row)| {
            inner.foresee(*table, key, row.as_ref().map(RowBuf::row));
        }),
    }
    let entries = touched.into_iter().map(|((table, key), touch)| FootprintEntry { table, key, touch });
    let footprint: Footprint = entries.collect();
    Ok(ranges.into_iter().fold(footprint, |it, (table, lower, upper)| it.reads_range(table, lower, upper)))
}

/// Returns whether the body itself ended its run.
fn gives_up(error: &Error) -> bool {
    matches!(error, Error::Aborted(abort) if abort.class == model::AbortClass::Requested)
}

impl<A: Access + ?Sized> Trial<'_, A> {
    /// Notes a touch; several of one key are all declared by one.
    fn touch(&mut self, table: TableId, key: &[u8], touch: Touch) {
        let known = self.touched.entry((table, Key::from_bytes(key))).or_insert(touch);
        *known = match (*known, touch) {
            (known, touch) if known == touch => known,
            (Touch::Read | Touch::Update | Touch::Overwrite, Touch::Update)
            | (Touch::Update, Touch::Read | Touch::Overwrite)
            | (Touch::Read, Touch::Overwrite)
            | (Touch::Overwrite, Touch::Read) => Touch::Update,
            (Touch::Read, Touch::Insert) | (Touch::Insert, Touch::Read) => Touch::Insert,
            (Touch::Read, Touch::Delete) | (Touch::Delete, Touch::Read) => Touch::Delete,
            _ => Touch::Any,
        };
    }

    fn look(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        let Trial { inner, written, .. } = self;
        written.read((table, key), columns, row, |row| inner.read(table, key, columns, row))
    }
}

impl<A: Access + ?Sized> Access for Trial<'_, A> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.touch(table, key, Touch::Read);
        self.look(table, key, columns, row)
    }

    fn read_for_update(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.touch(table, key, Touch::Update);
        self.look(table, key, columns, row)
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.touch(table, key, Touch::Overwrite);
        self.written.write(table, key, Some(RowBuf::from_bytes(row.bytes())));
        Ok(())
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.touch(table, key, Touch::Insert);
        self.written.write(table, key, Some(RowBuf::from_bytes(row.bytes())));
        Ok(())
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.touch(table, key, Touch::Update);
        let (mut old, mut new) = (RowBuf::new(), RowBuf::new());
        let found = self.look(table, key, Columns::All, &mut old)?;
        if found {
            let name = || format!("number {}", table.0);
            new.apply(old.row(), delta)
                .map_err(|column| Invalid::Row { table: name(), what: format!("cannot change column {column}") })?;
            self.written.write(table, key, Some(new));
        }
        Ok(found)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.touch(table, key, Touch::Delete);
        let found = self.look(table, key, Columns::None, &mut RowBuf::new())?;
        self.written.write(table, key, None);
        Ok(found)
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.ranges.push((scan.table, scan.lower.clone(), scan.upper.clone()));
        self.inner.scan(scan, visit)
    }

    fn draws(&mut self) -> Option<&mut model::Draws> {
        self.inner.draws()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Schema;
    use model::twin::Twin;

    /// Reads 1; reads and overwrites 2; overwrites 3; inserts 4; deletes what the row of 1 names; reads its own 4.
    struct Body(TableId);

    impl Program for Body {
        type Output = ();
        type Error = Error;

        fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<()> {
            let (table, mut row) = (self.0, RowBuf::new());
            let key = |number: u64| number.to_be_bytes();
            access.read(table, &key(1), Columns::All, &mut row)?;
            let named: [u8; 8] = row.bytes().try_into().expect("a row of eight bytes");
            access.read(table, &key(2), Columns::All, &mut row)?;
            access.put(table, &key(2), RowRef::new(b"two"))?;
            access.put(table, &key(3), RowRef::new(b"three"))?;
            access.insert(table, &key(4), RowRef::new(b"four"))?;
            access.delete(table, &named)?;
            assert!(access.read(table, &key(4), Columns::All, &mut row)? && row.bytes() == b"four");
            assert!(!access.read(table, &named, Columns::All, &mut row)?, "deleted by itself");
            Ok(())
        }
    }

    #[test]
    fn a_trial_finds_the_footprint_and_has_no_effect() {
        let mut twin = Twin::new();
        let table = twin.create_table(Schema::bytes("t").u64_key().build().unwrap());
        twin.put(table, &1u64.to_be_bytes(), RowRef::new(&9u64.to_be_bytes())).unwrap();
        twin.put(table, &9u64.to_be_bytes(), RowRef::new(b"nine")).unwrap();
        twin.commit();
        let found = footprint(Body(table), &mut twin).unwrap();
        let expected = Footprint::default()
            .reads(table, 1)
            .touches(table, 2, Touch::Update)
            .touches(table, 3, Touch::Overwrite)
            .touches(table, 4, Touch::Insert)
            .touches(table, 9, Touch::Delete);
        assert_eq!(found, expected);
        assert_eq!(twin.rows(table).count(), 2);
    }
}
