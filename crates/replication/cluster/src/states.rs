//! States that nodes give each other, as streams of bytes.
//!
//! ```text
//!   state   the line MAGIC, then pieces: head, rows (of the state table first), end
//!   piece   its length (4 bytes), a checksum of its bytes (4 bytes), its bytes
//! ```
//! A piece has rows of some [`PIECE_BYTES`], so a state takes little memory on either side, however long it is.

use crate::codes::put_position;
use crate::core::{Core, Snapshot};
use crate::error::damaged;
use crate::payload::VERSION;
use crate::replica::{self, WINDOW};
use crate::root::Root;
use crate::window;
use codec::{put_bytes, put_number};
use env::Disk;
use env::time::Duration;
use model::{Access, Error, Fault, Finish, Key, Result, Scan, ScanEnd, TableId};
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use total::Position;

/// Where a node gets the states of others.
pub trait States: Send + Sync {
    /// Opens the stream that [`crate::Cluster::write_state`] of a holder writes, of a state that has everything up to `at_least`. Reads
    /// fail, or end, when the holder is gone; they must not last for ever.
    ///
    /// # Errors
    /// The holder cannot be reached, or has no such state now; another one is asked.
    fn fetch(&self, holder: u64, at_least: Position) -> io::Result<Box<dyn Read + Send>>;

    /// Where to keep what is delivered while a state is fetched: a directory that nobody else uses. None: in memory.
    fn spool(&self) -> Option<Arc<dyn Disk>> {
        None
    }
}

/// No node has a state: for a cluster of one, and for tests.
#[derive(Clone, Copy, Debug)]
pub struct NoStates;

impl States for NoStates {
    fn fetch(&self, _: u64, _: Position) -> io::Result<Box<dyn Read + Send>> {
        Err(io::Error::new(io::ErrorKind::NotFound, "there are no other nodes"))
    }
}

/// The first bytes of a state.
const MAGIC: &[u8] = b"seriatim state 3\n";
/// Bytes of rows after which a piece ends.
pub(crate) const PIECE_BYTES: usize = 256 << 10;
/// The longest piece that is read: one row and its key, and some more.
const LONGEST_PIECE: u32 = 16 << 20;

const HEAD: u8 = 1;
const ROWS: u8 = 2;
const END: u8 = 3;
/// Which table rows are of: the state table, or a number that is one more than that of a table of users.
const STATE_TABLE: u64 = 0;

/// A piece that was read.
#[derive(Debug)]
pub(crate) enum Piece {
    Head(Box<(Position, Root)>),
    /// Rows of the state table (`None`) or of a table of users.
    Rows(Option<TableId>, Vec<(Key, Vec<u8>)>),
    /// How many rows there were.
    End(u64),
}

fn failed(error: &io::Error) -> Error {
    Fault::Disk { detail: format!("sending a state: {error}") }.into()
}

fn write_piece(out: &mut dyn Write, bytes: &[u8]) -> Result<()> {
    let length = u32::try_from(bytes.len()).ok().filter(|length| *length <= LONGEST_PIECE);
    let length = length.ok_or_else(|| damaged("a row is too long to be sent"))?;
    let write = |out: &mut dyn Write| {
        out.write_all(&length.to_le_bytes())?;
        out.write_all(&crc32c::crc32c(bytes).to_le_bytes())?;
        out.write_all(bytes)
    };
    write(out).map_err(|error| failed(&error))
}

/// Writes the state of a node, of one snapshot. The node need not take part yet: its state is whole up to where it has come, and the order
/// may stand still until a node that leads it has got this state. But it has to have one.
pub(crate) fn write(core: &Core, at_least: Position, longest: Duration, out: &mut dyn Write) -> Result<()> {
    core.progress.wait_applied(at_least, longest)?;
    // Before the snapshot, which has all that: a barrier may have come further than the last payload.
    let reached = core.progress.state().reached;
    let generation = core.generation();
    let mut snapshot = core.snapshot()?;
    let Some(root) = replica::read_root(&mut snapshot.local, core.root_table)? else { return Err(damaged("its root")) };
    if root.generation != generation.number {
        return Err(crate::error::behind("its own state was just replaced"));
    }
    out.write_all(MAGIC).map_err(|error| failed(&error))?;
    let mut head = vec![HEAD];
    put_position(&mut head, reached.max(root.base()));
    root.encode_shared(&mut head);
    write_piece(out, &head)?;
    let mut rows = write_rows(&mut snapshot, generation.state, STATE_TABLE, Some(root.floor), out)?;
    let tables = snapshot.tables.clone();
    for table in tables.values() {
        rows += write_rows(&mut snapshot, table.local, u64::from(table.id.0) + 1, None, out)?;
    }
    snapshot.local.abort();
    let mut end = vec![END];
    put_number(&mut end, rows);
    write_piece(out, &end)?;
    out.flush().map_err(|error| failed(&error))
}

/// Writes the rows of a table, each piece with no latch of the store held. `floor`: it is the state table, of which the rows of the window
/// are sent as every node has them alike, one for each entry that is remembered.
fn write_rows(
    snapshot: &mut Snapshot,
    local: TableId,
    number: u64,
    floor: Option<Position>,
    out: &mut dyn Write,
) -> Result<u64> {
    let (mut left, mut total) = (Scan::table(local), 0);
    loop {
        let (mut bytes, mut count, mut is_damaged) = (Vec::new(), 0, false);
        let end = snapshot.local.scan(&left, &mut |item| {
            if let Some(floor) = floor.filter(|_| item.key.first() == Some(&WINDOW)) {
                match window::split(item.row.bytes(), floor, &mut bytes) {
                    Ok(entries) => count += entries,
                    Err(_) => is_damaged = true,
                }
            } else {
                put_bytes(&mut bytes, item.key);
                put_bytes(&mut bytes, item.row.bytes());
                count += 1;
            }
            if bytes.len() < PIECE_BYTES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if is_damaged {
            return Err(damaged("entries of the window"));
        }
        if count > 0 {
            let mut piece = vec![ROWS];
            put_number(&mut piece, number);
            piece.extend_from_slice(&bytes);
            write_piece(out, &piece)?;
            total += count;
        }
        match end {
            ScanEnd::Finished => return Ok(total),
            ScanEnd::Stopped(key) => left = left.resume(key),
        }
    }
}

/// Reads the pieces of a state.
pub(crate) struct Pieces {
    input: Box<dyn Read + Send>,
}

impl Pieces {
    /// # Errors
    /// The stream is no state of this version.
    pub fn new(mut input: Box<dyn Read + Send>) -> Result<Pieces> {
        let mut magic = [0; MAGIC.len()];
        input.read_exact(&mut magic).map_err(|error| failed(&error))?;
        if magic != *MAGIC {
            return Err(damaged(format!("what was sent is no state of version {VERSION}")));
        }
        Ok(Pieces { input })
    }

    /// The next piece, whole and as it was sent.
    pub fn read_next(&mut self) -> Result<Piece> {
        let mut header = [0; 8];
        self.input.read_exact(&mut header).map_err(|error| failed(&error))?;
        let (length, sum) = (codec::u32_at(&header, 0), codec::u32_at(&header, 4));
        if length > LONGEST_PIECE {
            return Err(damaged("a piece that was sent is too long"));
        }
        let mut bytes = Vec::new();
        let read = (&mut self.input).take(length.into()).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
        if read != length as usize || crc32c::crc32c(&bytes) != sum {
            return Err(damaged("a piece that was sent arrived damaged"));
        }
        decode(&bytes).map_err(|_| damaged("a piece that was sent cannot be read"))
    }
}

fn decode(bytes: &[u8]) -> std::result::Result<Piece, model::Malformed> {
    let mut from = model::Decoder::new(bytes);
    match from.u8()? {
        HEAD => Ok(Piece::Head(Box::new(crate::load::decode_head(from.rest())?))),
        ROWS => {
            let number = from.number()?;
            let table = number.checked_sub(STATE_TABLE + 1).map(u32::try_from).transpose();
            let mut rows = Vec::new();
            while !from.is_empty() {
                rows.push((Key::from_bytes(from.bytes()?), from.bytes()?.to_vec()));
            }
            Ok(Piece::Rows(table.map_err(|_| model::Malformed)?.map(TableId), rows))
        }
        END => Ok(Piece::End(from.number()?)),
        _ => Err(model::Malformed),
    }
}
