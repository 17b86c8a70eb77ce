//! Every interleaving of the kernel: the states of a call, with two threads that want to execute it, and one that
//! sleeps for it.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::Relaxed};
use loom::thread;
use parts::wait::WaitTable;
use seriatim_bohm::state::{Begun, CallState};

struct Stage {
    state: CallState,
    table: WaitTable,
    /// How often the body has run to its end; `Relaxed`: the state orders it (B6).
    runs: AtomicU64,
}

fn stage() -> Arc<Stage> {
    let table = WaitTable::new(1);
    Arc::new(Stage { state: CallState::default(), table, runs: AtomicU64::new(0) })
}

impl Stage {
    /// Executes the call if nobody has it; sleeps while somebody has. Returns once it is complete.
    fn see_through(&self, puts_back_once: bool) {
        let mut puts_back = puts_back_once;
        loop {
            match self.state.begin() {
                Begun::Complete => return assert_eq!(self.runs.load(Relaxed), 1, "B6: what it did is published"),
                Begun::Busy => self.state.wait(&self.table),
                Begun::Mine if puts_back => {
                    puts_back = false;
                    self.state.put_back(&self.table);
                }
                Begun::Mine => {
                    // Not atomic on purpose: only one thread at a time executes.
                    self.runs.store(self.runs.load(Relaxed) + 1, Relaxed);
                    self.state.complete(&self.table);
                }
            }
        }
    }
}

#[test]
fn a_call_is_executed_once_and_nobody_sleeps_for_ever() {
    loom::model(|| {
        let stage = stage();
        let other = stage.clone();
        let thread = thread::spawn(move || other.see_through(true));
        stage.see_through(false);
        thread.join().unwrap();
        assert!(stage.state.is_complete() && !stage.state.is_unprocessed());
    });
}

#[test]
fn sleepers_wake_when_a_call_is_put_back() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let stage = stage();
        let threads: Vec<_> = [true, false]
            .map(|puts_back| {
                let stage = stage.clone();
                thread::spawn(move || stage.see_through(puts_back))
            })
            .into();
        stage.see_through(false);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(stage.runs.load(Relaxed), 1);
    });
}
