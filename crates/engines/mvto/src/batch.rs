//! Declared procedures, and batches of them: transactions that were submitted together, and so may begin together.
//!
//! ```text
//! submitted together   footprints that follow from the arguments
//! enter the lane       ask for all rows of these footprints     read the clock once: t, t + sites, t + 2 sites, ...
//! run                  one after the other, each at its timestamp, commit and release
//! leave the lane       wait for the log once, run again by itself what has met a conflict
//! ```
//!
//! **Strict.** Every timestamp lies between the submission of the batch and its return (M1): the clock is read after the one, and
//! has passed the last of them before any of the batch runs. So it does not matter to anybody outside that some were drawn before
//! others of the batch had run. A timestamp that is drawn before its procedure is submitted would be wrong, even if it is only used
//! to read what is newest: what had committed in between would be missed.
//!
//! **Serial.** They run in the order of their timestamps, so none of the batch reads or writes below another one that has run.
//!
//! **What they read stays (M5).** The lane shows all timestamps of the batch until the last has ended. So the bound waits for the
//! first one: what is replaced meanwhile is kept for as long as the batch runs. A snapshot that begins waits for the whole batch, too.
//!
//! Where the lane is taken, and where transactions do not register in lanes, the procedures run one after the other, each at a timestamp
//! that it draws. So do those that own at the statement or read a settled snapshot: their begin is not that of the others.

use crate::begin::{Core, Seat, thread_number};
use crate::doors::{Attempt, Transaction};
use crate::engine::{Mvto, bump};
use crate::gc::BEGINS_PER_ADVANCE;
use crate::read::prefetch;
use crate::sites::Beginner;
use crate::view::View;
use crate::write::check_limit;
use crate::write_set::Workspace;
use env::Clock;
use model::retry::{self, Failure};
use model::{
    BatchEntry, Begin, Completed, Declared, Footprint, FootprintChecked, FootprintEntry, Interactive, LimitKind,
    LogPosition, Mode, Pending, Procedure, Program, Result, Retry, Ticket, Timestamp,
};
use parts::index::prefetch::SIDE_BY_SIDE;

/// A procedure of a batch.
struct Job<P: Procedure> {
    program: FootprintChecked<P>,
    how: Begin,
    retry: Box<dyn Retry + Send>,
    /// The attempt that it has made together with the others.
    first: Option<Attempt<P::Output, P::Error>>,
    /// Log position that the answer waits for, if that is an error of its own.
    rests_on: LogPosition,
}

impl<P: Procedure> Job<P> {
    fn new(BatchEntry { procedure, how, retry }: BatchEntry<P>) -> Job<P> {
        let program = FootprintChecked::ahead(procedure, how.draws);
        Job { program, how, retry, first: None, rests_on: LogPosition::ZERO }
    }
}

impl<C: Clock> Declared for Mvto<C> {
    fn submit<P: Procedure>(&self, procedure: P, how: Begin, retry: Box<dyn Retry + Send>) -> Ticket<P> {
        Pending::ready(self.complete(Job::new(BatchEntry { procedure, how, retry })))
    }

    fn submit_batch<P: Procedure>(&self, batch: Vec<BatchEntry<P>>) -> Vec<Ticket<P>> {
        if let Err(limit) = check_limit(LimitKind::Batch, self.options.batch, batch.len()) {
            return batch.iter().map(|_| Pending::ready(Err(limit.clone().into()))).collect();
        }
        let mut jobs: Vec<Job<P>> = batch.into_iter().map(Job::new).collect();
        let mut together: Vec<_> = jobs.iter_mut().filter(|job| self.may_enter_lane(job.how.mode)).collect();
        if together.len() > 1 {
            self.attempt_together(&mut together);
        }
        jobs.into_iter().map(|job| Pending::ready(self.complete(job))).collect()
    }
}

impl<C: Clock> Mvto<C> {
    /// Makes the first attempt of each, if the lane is free.
    fn attempt_together<P: Procedure>(&self, jobs: &mut [&mut Job<P>]) {
        let Ok(Some((first, mut seat))) = self.sit_down(jobs) else { return }; // Each will meet the error by itself.
        for (at, job) in self.sites.following(first, jobs.len()).zip(jobs.iter_mut()) {
            let mut transaction = Transaction::seated(self, job.how, at, seat, job.program.footprint().is_some());
            let outcome = job.program.run(&mut transaction);
            let (concluded, rests_on, next) = transaction.conclude_in_batch(outcome);
            (job.first, job.rests_on, seat) = (Some(concluded), rests_on, next);
        }
        self.leave_lane(seat);
        let rests_on = jobs.iter().map(|job| job.rests_on).max().unwrap_or_default();
        if let Err(fault) = self.wait_durable(rests_on) {
            // An error of a procedure's own discloses what it has read.
            for job in jobs.iter_mut().filter(|job| job.rests_on > LogPosition::ZERO) {
                job.first = Some(Err(Failure::Final(fault.clone().into())));
            }
        }
    }

    /// Draws a timestamp for each, and registers them in the lane. `None` if it is taken.
    fn sit_down<P: Procedure>(&self, jobs: &[&mut Job<P>]) -> Result<Option<(Timestamp, Seat)>> {
        self.check_log()?;
        let thread = thread_number();
        let site = self.sites.assign(thread);
        let beginner = Beginner { thread, writes: jobs.iter().any(|job| job.how.mode == Mode::ReadWrite) };
        let entered = self.in_time(|| {
            Ok(self.sites.enter_with(site, &self.time, beginner, jobs.len(), |kept, draw| {
                let work = kept.get_or_insert_with(|| self.new_workspace());
                self.refresh_catalog(work);
                self.bring_near(work, jobs.iter().filter_map(|job| job.program.footprint()));
                draw.now()
            }))
        })?;
        let Some((first, right, kept)) = entered else { return Ok(None) };
        let mut seat = Seat { right, work: kept.unwrap_or_else(|| self.new_workspace()) };
        let last = self.sites.following(first, jobs.len()).last().unwrap_or(first);
        let view = Core::new(Begin::default(), self.options.durability, self.options.wait_limit).view;
        match self.prepare_in_lane(&view, &mut seat.work, (first, last), jobs.len() as u64) {
            Ok(()) => Ok(Some((first, seat))),
            Err(error) => {
                self.leave_lane(seat);
                Err(error)
            }
        }
    }

    /// As `prepare`, for transactions that have entered the lane together, with the catalog as it was before they drew.
    pub(crate) fn prepare_in_lane(
        &self,
        view: &View,
        work: &mut Workspace,
        (first, last): (Timestamp, Timestamp),
        count: u64,
    ) -> Result<()> {
        assert!(first >= self.bound.get(), "M5: nobody begins below the bound");
        self.check_ceiling(view, last)?;
        let begins = bump(&self.sites.shared(self.sites.site_of(first)).begins, count);
        if begins / BEGINS_PER_ADVANCE != (begins - count) / BEGINS_PER_ADVANCE {
            self.advance_bound(false, work);
        }
        Ok(())
    }

    /// Asks for the rows of footprints, so that the waits for memory of all of them overlap.
    pub(crate) fn bring_near<'f>(&self, work: &Workspace, footprints: impl Iterator<Item = &'f Footprint>) {
        let mut entries: Vec<&FootprintEntry> = footprints.flat_map(Footprint::keys).collect();
        entries.sort_by_key(|entry| entry.table);
        entries.chunk_by(|a, b| a.table == b.table).for_each(|of_table| {
            of_table.chunks(SIDE_BY_SIDE).for_each(|together| prefetch(&work.catalog, of_table[0].table, together));
        });
    }

    /// Goes on from the first attempt as if the procedure had been submitted by itself.
    fn complete<P: Procedure>(&self, job: Job<P>) -> Completed<P> {
        let Job { mut program, how, mut retry, mut first, .. } = job;
        let mut attempt = || match first.take() {
            Some(attempt) => attempt,
            None => {
                let mut transaction = self.begin_procedure(program.footprint(), how)?;
                let outcome = program.run(&mut transaction);
                self.conclude(transaction, outcome)
            }
        };
        let done = retry::run(&mut *retry, |_| {
            attempt().inspect_err(|failure| {
                if matches!(failure, Failure::Conflict(_)) {
                    self.expect_conflicts();
                }
            })
        });
        done.map_err(Failure::into_error)
    }
}
