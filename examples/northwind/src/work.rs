//! The threads: clerks that place orders, and the auditor.

use crate::failure::{Failure, Outcome};
use crate::ids::Ids;
use crate::journal::Journal;
use crate::options::Options;
use crate::place::{Refused, place, restock};
use crate::progress::{Counters, Progress};
use crate::shop::Shop;
use crate::tables::Restock;
use env::Randomness;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

impl Shop {
    /// Lets the threads and the auditor work until time or orders are up, somebody stops it, or something fails.
    pub fn work(&self, options: &Options, progress: &mut Progress) -> Outcome {
        let deadline = options.orders.is_none().then(|| Instant::now() + Duration::from_secs(options.seconds));
        let every = Duration::try_from_secs_f64(options.every).map_err(Failure::trouble)?;
        std::thread::scope(|scope| {
            let clerks: Vec<_> =
                (0..usize::from(options.threads)).map(|thread| scope.spawn(move || self.clerk(thread))).collect();
            let auditor = scope.spawn(|| self.auditor());
            let mut next_line = Instant::now() + every;
            while !self.stop.load(Ordering::Relaxed) && !clerks.iter().all(|clerk| clerk.is_finished()) {
                let now = Instant::now();
                if deadline.is_some_and(|deadline| now >= deadline) {
                    break;
                }
                if now >= next_line {
                    progress.show(&self.counters, &self.db);
                    next_line = now + every;
                }
                sleep(Duration::from_millis(5));
            }
            self.stop.store(true, Ordering::Relaxed);
            let outcomes: Vec<Outcome> = clerks.into_iter().chain([auditor]).map(finished).collect();
            progress.show(&self.counters, &self.db);
            outcomes.into_iter().collect()
        })
    }

    /// Places orders.
    fn clerk(&self, thread: usize) -> Outcome {
        let outcome = self.place_orders(thread);
        if outcome.is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        outcome
    }

    fn place_orders(&self, thread: usize) -> Outcome {
        let mut journal = Journal::open(&self.data, thread)?;
        let (mut orders, mut restocks) = (Ids::of(self.run, thread), Ids::of(self.run, thread));
        let mut randomness = Randomness::from_entropy();
        while !self.stop.load(Ordering::Relaxed) && self.budget.fetch_sub(1, Ordering::Relaxed) > 0 {
            let id = orders.draw();
            loop {
                let draft = self.catalogue.draft(id, &mut randomness);
                match self.db.try_run(|txn| place(txn, &self.tables, &draft)) {
                    Ok(()) => {
                        journal.acknowledge(id)?;
                        Counters::add(&self.counters.orders, 1);
                        Counters::add(&self.counters.units, draft.units().unsigned_abs());
                        break;
                    }
                    Err(Refused::Short(product_id)) => {
                        Counters::add(&self.counters.refused, 1);
                        let units = 100 + randomness.in_range(0..200) as i64;
                        let arrival = Restock { restock_id: restocks.draw(), product_id, units };
                        self.db.run(|txn| restock(txn, &self.tables, &arrival))?;
                        Counters::add(&self.counters.restocks, 1);
                    }
                    Err(Refused::Database(error)) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// Audits until everything stops.
    fn auditor(&self) -> Outcome {
        while !self.stop.load(Ordering::Relaxed) {
            let began = Instant::now();
            if let Err(failure) = self.audit() {
                self.stop.store(true, Ordering::Relaxed);
                return Err(failure);
            }
            Counters::add(&self.counters.audits, 1);
            // Half of the auditor's time is the others': on a small machine it would be a core of its own.
            let pause = began.elapsed().clamp(Duration::from_millis(10), Duration::from_secs(1));
            let until = Instant::now() + pause;
            while !self.stop.load(Ordering::Relaxed) && Instant::now() < until {
                sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }
}

/// A thread's outcome; its panic goes on here.
fn finished(thread: std::thread::ScopedJoinHandle<'_, Outcome>) -> Outcome {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
