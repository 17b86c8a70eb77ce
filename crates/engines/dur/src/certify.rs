//! Certification: whether a transaction commits at its place. Every node comes to the same answer, since it looks at committed
//! versions alone, and every node has committed the same ones before.
//!
//! A read holds if the committed version is the one that was read: of the same writer, whether it was speculative when it was read or
//! not. A range holds if each row that was seen in it holds, and it has as many rows as then (D8).

use crate::Core;
use crate::contention::Contentions;
use crate::host::Step;
use crate::object::Version;
use crate::payload::{CROSSES, Record};
use crate::turn::{OriginId, Place, Seen, Turn, Writer};
use model::{Abort, AbortClass, Direction, Error, Key, TableId, Target, Timestamp};
use parts::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use total::Origin;

/// The state of certification. One thread has it.
pub(crate) struct Certifier {
    contentions: Contentions,
}

/// What a transaction has read that does not hold.
pub(crate) struct Conflict {
    table: TableId,
    target: Target,
}

impl Certifier {
    pub fn new() -> Certifier {
        Certifier { contentions: Contentions::default() }
    }

    /// Decides on a transaction at a place, and applies what it has written if it commits.
    ///
    /// # Errors
    /// The conflict.
    pub fn decide(&mut self, core: &Core, record: &Record<'_>, origin: Origin, place: Place) -> Result<(), Conflict> {
        self.contentions.note_life(origin, place);
        let crosses = record.flags & CROSSES != 0;
        let skips = core.options.skips_validation
            && core.options.partition.is_some()
            && self.contentions.may_skip(origin, record.base, crosses);
        if skips {
            core.counts.skipped.fetch_add(1, Relaxed);
        }
        if !skips || core.options.checks_skips {
            let own = core.origins.intern(origin);
            let lives: Vec<OriginId> = record.lives.iter().map(|life| core.origins.intern(*life)).collect();
            let reads = record.reads.len() + record.ranges.len();
            let conflict = core.metered.step(Step::Certify, reads, || validate(core, record, own, &lives));
            assert!(!skips || conflict.is_none(), "D7: what is skipped would have passed");
            if let Some(conflict) = conflict {
                self.contentions.note_abort(origin, place);
                return Err(conflict);
            }
        }
        core.metered.step(Step::Apply, record.writes.len(), || apply(core, record, origin, place));
        if let Some(partition) = core.options.partition.as_deref().filter(|_| crosses) {
            for (table, key, _) in &record.writes {
                self.contentions.note_write(partition.home(*table, key), origin, place);
            }
        }
        Ok(())
    }
}

/// The first read that does not hold.
fn validate(core: &Core, record: &Record<'_>, own: OriginId, lives: &[OriginId]) -> Option<Conflict> {
    for read in &record.reads {
        let writer = |(life, turn): (usize, Turn)| {
            let origin = if life == 0 { own } else { lives[life - 1] };
            Writer { origin, turn }
        };
        let seen = read.seen.map_or(Seen::Absent, |seen| Seen::Row(writer(seen)));
        let object = core.tables.find(read.table).ok().and_then(|table| table.get(read.key));
        if !object.map_or(seen == Seen::Absent, |object| object.is_still(seen)) {
            return Some(Conflict { table: read.table, target: Target::Key(Key::from_bytes(read.key)) });
        }
    }
    for scanned in &record.ranges {
        let Ok(table) = core.tables.find(scanned.table) else { continue };
        let objects = table.range(&scanned.range, Direction::Forward, usize::MAX);
        let rows = objects.iter().filter(|object| object.committed().row.is_some()).count();
        if rows as u64 != scanned.rows {
            let target = Target::Range(scanned.range.lower.clone(), scanned.range.upper.clone());
            return Some(Conflict { table: scanned.table, target });
        }
    }
    None
}

/// Makes the writes of a transaction the committed versions, at once for snapshots.
fn apply(core: &Core, record: &Record<'_>, origin: Origin, place: Place) {
    let origin = core.origins.intern(origin);
    let writer = Writer { origin, turn: record.turn };
    let own = (origin == OriginId::OWN).then_some(record.turn);
    let mut snapshots = core.snapshots.begin_commit(place);
    for (id, key, row) in &record.writes {
        let Ok(table) = core.tables.find(*id) else { continue };
        let object = table.get_or_insert(key);
        let version = Version { row: row.map(Arc::from), writer: Some(writer), place };
        if object.commit(version, own, &core.slots, snapshots.oldest()) {
            snapshots.keep(object);
        } else {
            table.sweep(object);
        }
    }
}

impl Conflict {
    /// As the abort of the transaction.
    pub fn into_error(self, core: &Core, turn: Turn) -> Error {
        let abort = Abort {
            class: AbortClass::ReadWrite,
            rule: "certification",
            explanation: "a transaction of another node that was ordered before changed what this one had read",
            table: core.tables.find(self.table).ok().map(|table| table.schema.clone()),
            target: self.target,
            transaction: Timestamp(turn.0),
            other: None,
            met: None,
        };
        abort.into()
    }
}
