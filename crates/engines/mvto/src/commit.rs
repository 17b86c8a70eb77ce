//! Committing, in named steps: own, settle the place in the serial order, log, install, release.

use crate::begin::{Core, Outcome, is_installed};
use crate::catalog::{Catalog, Table};
use crate::engine::Mvto;
use crate::gc::Garbage;
use crate::ownership::Holder;
use crate::reason::Reason;
use crate::recover::{encode_writes, encoded_size};
use crate::write::{Claim, conflict};
use crate::write_set::{Workspace, Write, WriteSet};
use env::Clock;
use model::{AbortClass, Committed, Durability, Error, Fault, LogPosition, Result, SerialPoint, Timestamp};
use wal::{CallersWaitLimit, Log, LogError};

impl<C: Clock> Mvto<C> {
    /// Commits: the transaction's place is its begin timestamp, drawn now if it has touched nothing, or a later one where it
    /// was pushed.
    pub(crate) fn commit(&self, core: &mut Core) -> Result<Committed> {
        self.start(core)?;
        if !core.work.writes.changes_anything() {
            return self.commit_read_only(core);
        }
        let position = match self.own_all(core).and_then(|()| self.settle(core)).and_then(|()| self.log(core)) {
            Ok(position) => position,
            Err(error) => {
                let error = error.into_abort();
                self.fail(core, &error);
                return Err(error);
            }
        };
        // A version that was read was logged, with its tuple owned, before it could be read.
        assert!(self.log.is_none() || core.view.rests_on < position, "M9: who reads a version is logged after it");
        self.install(&mut core.work, core.view.at, position);
        self.end(core, Outcome::Committed { wrote: true });
        // Whoever reads a version is logged after it (design, rule 3), so the own record covers what was read.
        Ok(committed(core, position))
    }

    /// Read-only transactions always commit. Source: vMVCC, section 2. On a failed log, what was read may never become
    /// durable, and must not be acknowledged (design, rule 4).
    fn commit_read_only(&self, core: &mut Core) -> Result<Committed> {
        let rests_on = core.view.rests_on;
        if rests_on > self.durable()
            && let Err(Error::Fault(Fault::LogFailed { detail })) = self.check_log()
        {
            let error = Error::Fault(Fault::log_failed_at_commit(detail));
            self.fail(core, &error);
            return Err(error);
        }
        self.end(core, Outcome::Committed { wrote: false });
        Ok(committed(core, rests_on))
    }

    /// Owns every tuple that will change. Source: vMVCC, section 2 (`Commit` acquires the tuples).
    ///
    /// Where an older transaction that still executes owns one of them, it gives up all that it owns (M7), waits, and starts again.
    /// It waits for all such owners among its remaining tuples, not only for the first, so that it starts again once and not once
    /// for each of them.
    fn own_all(&self, core: &mut Core) -> Result<()> {
        while let Some(held) = self.own_all_or_nothing(core)? {
            self.wait_for_executing(core, held)?;
        }
        Ok(())
    }

    /// Waits until no older transaction that executes owns a tuple of the write set from position `first` on.
    fn wait_for_executing(&self, core: &Core, first: usize) -> Result<()> {
        let Core { view, work, .. } = core;
        let executes = |holder| matches!(holder, Holder::Executing(owner) if owner < view.at);
        for write in work.writes.entries[first..].iter().filter(|write| is_installed(write)) {
            if let Some(tuple) = &write.tuple {
                self.wait_while(view, table_of(&work.catalog, write), tuple, executes)?;
            }
        }
        Ok(())
    }

    /// Owns every tuple that will change, or none of them if an older transaction that still executes owns one; then returns
    /// the position of that one in the write set. Owning none keeps the others from waiting through a committing transaction for
    /// an idle client (M7).
    fn own_all_or_nothing(&self, core: &mut Core) -> Result<Option<usize>> {
        let Core { view, work, .. } = core;
        let Workspace { catalog, writes, .. } = &mut **work;
        for (at, write) in writes.entries.iter_mut().enumerate().filter(|(_, write)| is_installed(write)) {
            let table = table_of(catalog, write);
            match self.own(view, table, write)? {
                Claim::Owned => {}
                Claim::Late(reason, other) => return Err(conflict(reason, view, table, &write.key, other)),
                Claim::Held => {
                    self.give_up(writes);
                    return Ok(Some(at));
                }
            }
        }
        Ok(None)
    }

    /// Gives up what is owned, which has no new versions yet.
    fn give_up(&self, writes: &mut WriteSet) {
        for write in &mut writes.entries {
            debug_assert!(!write.is_undated, "M3: who owns first owns all that it writes, and gives it up at its end");
            if let (true, Some(tuple)) = (std::mem::take(&mut write.owned), &write.tuple) {
                self.release(tuple);
            }
        }
    }

    /// Hands the redo record to the log while every changed tuple is owned, so that the order of the log is an order of the
    /// versions (design, rule 3). Its space on disk is reserved when this returns: a full disk is a clean abort (rule 4). A large record is
    /// encoded part by part.
    fn log(&self, core: &mut Core) -> Result<LogPosition> {
        let Some(log) = &self.log else { return Ok(LogPosition::ZERO) };
        let Core { view, work, durability, .. } = core;
        let Workspace { writes, record, .. } = &mut **work;
        let logged = view.log_wait(log, |caller| match encode_writes(record, writes, 0, log.part_bytes()) {
            None => log.append_within(view.at.0, record, *durability, caller),
            Some(next) => append_parts(log, view.at, writes, record, next, *durability, caller),
        });
        logged.map_err(|error| match error {
            // No record was appended.
            LogError::Stopped(_) => Fault::LogFailed { detail: error.to_string() }.into(),
            error => view.log_error(error),
        })
    }

    /// Links the new versions and gives each tuple up. A reader that finds one tuple released and another owned waits for the
    /// latter, so it sees all or nothing.
    fn install(&self, work: &mut Workspace, at: Timestamp, position: LogPosition) {
        let bound = self.bound.get();
        work.writes.begin_installing();
        let mut entries = std::mem::take(&mut work.writes.entries);
        // Entries that are not installed may be owned, for a write that was rolled back. `end` releases them.
        for write in entries.iter_mut().filter(|write| is_installed(write)) {
            let Write { table, tuple, buffered, .. } = write;
            let tuple = tuple.take().expect("owned");
            debug_assert!(is_committing(tuple.ownership.holder(), at), "M9: what is installed has been logged");
            assert!(tuple.newest().is_none_or(|newest| newest.begin() < at), "M4: versions are installed in order");
            if tuple.keeps_older() {
                self.prune(&tuple, bound, work);
            }
            let row = work.writes.value(*buffered).expect("installed");
            let replaced = tuple.install(at, position, row, &mut work.pool, bound);
            self.release(&tuple);
            let is_absent = row.is_none();
            work.writes.installed(*buffered);
            if work.note_replaced(replaced, at) || is_absent {
                work.garbage.extend(tuple.queued().map(|tuple| Garbage { table: *table, tuple, at, held: false }));
            } else {
                tuple.unpin();
            }
        }
        work.writes.entries = entries;
    }

    /// Ends a transaction that may not or could not commit.
    pub(crate) fn fail(&self, core: &mut Core, error: &Error) {
        self.abort(core, error.clone(), reason_of(error));
    }
}

/// Appends the first part, which is in `record`, and all that follow from the entry `next` on.
fn append_parts(
    log: &Log,
    at: Timestamp,
    writes: &WriteSet,
    record: &mut Vec<u8>,
    next: usize,
    durability: Durability,
    caller: CallersWaitLimit<'_>,
) -> std::result::Result<LogPosition, LogError> {
    let size = encoded_size(writes);
    let mut large = log.begin_large_within(at.0, size.all, size.largest.max(log.part_bytes()), caller)?;
    let mut next = Some(next);
    while let Some(from) = next {
        large.append(record)?;
        next = encode_writes(record, writes, from, log.part_bytes());
    }
    large.finish(record, durability)
}

/// Returns whether a tuple's holder commits at `at`, or moved there.
fn is_committing(holder: Holder, at: Timestamp) -> bool {
    matches!(holder, Holder::Committing(owner) if owner <= at)
}

/// Returns the table of a written key.
pub(crate) fn table_of<'a>(catalog: &'a Catalog, write: &Write) -> &'a Table {
    catalog.get(write.table).expect("the write found its table in this catalog")
}

fn committed(core: &Core, rests_on: LogPosition) -> Committed {
    Committed { serial_point: Some(SerialPoint(core.view.at.0)), log_position: core.to_await(rests_on) }
}

/// The rule behind an abort, for counting.
pub(crate) fn reason_of(error: &Error) -> Option<Reason> {
    let abort = error.abort()?;
    debug_assert!(abort.class != AbortClass::Priority, "no rule of this protocol has it");
    Reason::ALL.into_iter().find(|reason| reason.rule() == abort.rule)
}
