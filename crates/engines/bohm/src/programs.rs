//! The door for programs, which have no footprint: a trial run on a settled state finds their reads and writes, and a
//! procedure repeats the reads in its place before it writes.
//!
//! Beyond the paper, for loading, for audits and for rare transactions: a program whose reads have changed runs again.

use crate::Bohm;
use crate::read::{Boundary, Trial};
use codec::{put_bytes32, put_u32};
use model::{
    Abort, AbortClass, Access, Begin, Columns, Committed, Declared, Decoder, Delta, Direction, Draws, Duplicate, Error,
    Footprint, FootprintEntry, Invalid, Item, Key, LogPosition, Malformed, Mode, OwnWrites, Procedure, Program,
    Reexecutable, Result, Retry, RowBuf, RowRef, Rows, Scan, ScanEnd, TableId, Target, Timestamp, Touch, decode_bound,
    encode_bound,
    retry::{self, Failure},
};
use std::ops::{Bound, ControlFlow};

/// Who is shown the rows of a scan.
type Visit<'v> = &'v mut dyn FnMut(Item<'_>) -> ControlFlow<()>;

/// What a range held.
#[derive(Debug)]
struct SeenRange {
    table: TableId,
    lower: Bound<Key>,
    upper: Bound<Key>,
    direction: Direction,
    /// Keys and rows, one behind the other, each with its length.
    rows: Vec<u8>,
}

/// A trial run: reads the state, keeps writes to itself, and notes both.
struct Recorded<'e> {
    trial: Trial<'e, Boundary<'e>>,
    reads: Rows,
    ranges: Vec<SeenRange>,
    writes: OwnWrites,
    is_read_only: bool,
}

/// Repeats what a trial run has read, and writes what it has written if all is as it was.
#[derive(Debug)]
pub(crate) struct Repeat {
    reads: Rows,
    ranges: Vec<SeenRange>,
    writes: Rows,
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn put_item(out: &mut Vec<u8>, key: &[u8], row: RowRef<'_>) {
    put_bytes(out, key);
    put_bytes(out, row.bytes());
}

impl Recorded<'_> {
    /// Reads a whole row: the own one, or the state's, which is noted.
    fn whole(&mut self, table: TableId, key: &[u8]) -> Result<Option<RowBuf>> {
        if let Some(own) = self.writes.get(table, key) {
            return Ok(own.cloned());
        }
        let place = (table, Key::from_bytes(key));
        if let Some(known) = self.reads.get(&place) {
            return Ok(known.clone());
        }
        let mut row = RowBuf::new();
        let found = self.trial.read(table, key, Columns::All, &mut row)?.then_some(row);
        self.reads.insert(place, found.clone());
        Ok(found)
    }

    fn write(&mut self, table: TableId, key: &[u8], row: Option<RowBuf>) -> Result<()> {
        if self.is_read_only {
            return Err(Invalid::ReadOnly.into());
        }
        self.trial.state.shared.tables.find(table)?.schema.check_key(key)?;
        self.writes.write(table, key, row);
        Ok(())
    }

    fn check_row(&self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        let schema = &self.trial.state.shared.tables.find(table)?.schema;
        schema.check_key(key)?;
        Ok(schema.check_row(key, row)?)
    }
}

impl Access for Recorded<'_> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        row.clear();
        self.trial.state.shared.tables.find(table)?.schema.check_columns(columns)?;
        let found = self.whole(table, key)?;
        if let Some(found) = &found {
            row.project(found.row(), columns);
        }
        Ok(found.is_some())
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.check_row(table, key, row)?;
        self.write(table, key, Some(RowBuf::from_bytes(row.bytes())))
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.check_row(table, key, row)?;
        if self.whole(table, key)?.is_some() {
            let schema = self.trial.state.shared.tables.find(table)?.schema.clone();
            return Err(Duplicate { table: schema, key: key.into() }.into());
        }
        self.write(table, key, Some(RowBuf::from_bytes(row.bytes())))
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        let Some(before) = self.whole(table, key)? else { return Ok(false) };
        let schema = self.trial.state.shared.tables.find(table)?.schema.clone();
        let mut after = RowBuf::new();
        schema.change(before.row(), delta, &mut after)?;
        schema.check_changed(key, delta, after.row())?;
        self.write(table, key, Some(after))?;
        Ok(true)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        let is_there = self.whole(table, key)?.is_some();
        if is_there {
            self.write(table, key, None)?;
        }
        Ok(is_there)
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.trial.state.shared.tables.find(scan.table)?.schema.check_scan(scan)?;
        let Recorded { trial, ranges, writes, .. } = self;
        let mut rows = Vec::new();
        let state = |scan: &Scan<'_>, visit: Visit<'_>| {
            trial.scan(scan, &mut |item| {
                put_item(&mut rows, item.key, item.row);
                visit(item)
            })
        };
        let end = writes.scan(scan, state, visit)?;
        let Scan { table, lower, upper, direction, .. } = scan.clone();
        ranges.push(SeenRange { table, lower, upper, direction, rows });
        Ok(end)
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.trial.draws()
    }
}

impl Program for Repeat {
    type Output = ();
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<()> {
        let mut row = RowBuf::new();
        for ((table, key), seen) in &self.reads {
            let found = access.read(*table, key, Columns::All, &mut row)?;
            if found.then_some(&row) != seen.as_ref() {
                return Err(changed(Target::Key(key.clone())));
            }
        }
        for SeenRange { table, lower, upper, direction, rows } in &self.ranges {
            let (lower, upper, direction) = (lower.clone(), upper.clone(), *direction);
            let scan = Scan { direction, ..Scan::table(*table).between(lower.clone(), upper.clone()) };
            let mut now = Vec::new();
            access.scan(&scan, &mut |item| {
                put_item(&mut now, item.key, item.row);
                ControlFlow::Continue(())
            })?;
            if now != *rows {
                return Err(changed(Target::Range(lower, upper)));
            }
        }
        for ((table, key), row) in &self.writes {
            match row {
                Some(row) => access.put(*table, key, row.row())?,
                None => _ = access.delete(*table, key)?,
            }
        }
        Ok(())
    }
}

impl Procedure for Repeat {
    const NAME: &'static str = "repeat of a trial run";

    /// All that was read, so that it ends in the log as it ended in its place.
    fn encode_arguments(&self, out: &mut Vec<u8>) {
        encode_rows(&self.reads, out);
        put_u32(out, self.ranges.len() as u32);
        for SeenRange { table, lower, upper, direction, rows } in &self.ranges {
            put_u32(out, table.0);
            encode_bound(lower, out);
            encode_bound(upper, out);
            out.push(u8::from(*direction == Direction::Backward));
            put_bytes32(out, rows);
        }
        encode_rows(&self.writes, out);
    }

    fn decode_arguments(arguments: &[u8]) -> std::result::Result<Repeat, Malformed> {
        let mut from = Decoder::new(arguments);
        let reads = decode_rows(&mut from)?;
        let ranges = (0..from.u32()?).map(|_| decode_range(&mut from)).collect::<std::result::Result<_, _>>()?;
        let writes = decode_rows(&mut from)?;
        from.end()?;
        Ok(Repeat { reads, ranges, writes })
    }

    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        let read = self.reads.keys().map(|(table, key)| (table, key, Touch::Read));
        let touch = |row: &Option<RowBuf>| if row.is_some() { Touch::Overwrite } else { Touch::Delete };
        let written = self.writes.iter().map(|((table, key), row)| (table, key, touch(row)));
        let entry =
            |(table, key, touch): (&TableId, &Key, Touch)| FootprintEntry { table: *table, key: key.clone(), touch };
        let keys: Footprint = read.chain(written).map(entry).collect();
        let ranges = self.ranges.iter().map(|range| (range.table, range.lower.clone(), range.upper.clone()));
        Ok(ranges.fold(keys, |footprint, (table, lower, upper)| footprint.reads_range(table, lower, upper)))
    }
}

fn encode_rows(rows: &Rows, out: &mut Vec<u8>) {
    put_u32(out, rows.len() as u32);
    for ((table, key), row) in rows {
        put_u32(out, table.0);
        put_bytes32(out, key);
        out.push(u8::from(row.is_some()));
        row.iter().for_each(|row| put_bytes32(out, row.bytes()));
    }
}

fn decode_rows(from: &mut Decoder<'_>) -> std::result::Result<Rows, Malformed> {
    let row = |from: &mut Decoder<'_>| {
        let place = (TableId(from.u32()?), Key::from_bytes(from.bytes32()?));
        match from.u8()? {
            0 => Ok((place, None)),
            1 => Ok((place, Some(RowBuf::from_bytes(from.bytes32()?)))),
            _ => Err(Malformed),
        }
    };
    (0..from.u32()?).map(|_| row(from)).collect()
}

fn decode_range(from: &mut Decoder<'_>) -> std::result::Result<SeenRange, Malformed> {
    let (table, lower, upper) = (TableId(from.u32()?), decode_bound(from)?, decode_bound(from)?);
    let direction = match from.u8()? {
        0 => Direction::Forward,
        1 => Direction::Backward,
        _ => return Err(Malformed),
    };
    Ok(SeenRange { table, lower, upper, direction, rows: from.bytes32()?.to_vec() })
}

fn changed(target: Target) -> Error {
    let abort = Abort {
        class: AbortClass::ReadWrite,
        rule: "trial-outdated",
        explanation: "what the trial run had read was changed before the place of the transaction",
        table: None,
        target,
        transaction: Timestamp(0),
        other: None,
        met: None,
    };
    abort.into()
}

impl Bohm {
    fn try_program<P: Program>(
        &self,
        program: &mut P,
        how: Begin,
    ) -> std::result::Result<(P::Output, Committed), Failure<Error, P::Error>> {
        if how.mode != Mode::Snapshot {
            self.settle();
        }
        let mut trial = Trial::new(Boundary::new(&self.shared), how.draws.map(Draws::restarted));
        let place = self.shared.pipeline.readers.place(trial.state.pin()?);
        let is_read_only = matches!(how.mode, Mode::ReadOnly | Mode::Snapshot);
        let (reads, writes) = (Rows::new(), OwnWrites::default());
        let mut run = Recorded { trial, reads, ranges: Vec::new(), writes, is_read_only };
        // A body that fails has seen one state, which was the latest when it began.
        let output = program.run(&mut run).map_err(Failure::Final)?;
        let Recorded { trial, reads, ranges, writes, .. } = run;
        drop(trial);
        if writes.is_empty() {
            let committed = Committed { serial_point: Some(place.serial_point()), log_position: LogPosition::ZERO };
            return Ok((output, committed));
        }
        let repeat = Repeat { reads, ranges, writes: writes.into_rows() };
        let how = Begin { durability: how.durability, ..Begin::default() };
        let ((), committed) = self.call(repeat, how, |_: u32, _: &Error| false)?;
        Ok((output, committed))
    }
}

impl Reexecutable for Bohm {
    /// Waits for what was submitted before, runs the program on that state, and has a procedure repeat its reads in its
    /// place. A program that writes nothing ends with the trial run.
    fn execute<P: Program>(
        &self,
        program: &mut P,
        how: Begin,
        retry: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error> {
        retry::run(retry, |_| self.try_program(program, how)).map_err(Failure::into_error)
    }
}
