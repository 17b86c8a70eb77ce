//! Threads that move between planning and execution, one batch at a time.
//!
//! The keys are in partitions as ever, each with its planner: memory, garbage, how far it has come. A thread that looks for work takes a
//! partition whose next batch can be planned, if nobody has it, plans that one batch, and gives the partition back; the first one seals its
//! batch before. If there is nothing to plan it executes a batch, and if there is nothing to execute it sleeps. So there is always a thread
//! for what holds the others up, and a body that takes long holds no partition.

use crate::Shared;
use crate::execute::Executor;
use crate::plan::Planner;
use parts::sync::Mutex;
use std::sync::PoisonError;

/// The planners, each of which goes from thread to thread. The latch hands over what one has left (B2); whoever takes it has claimed the
/// partition, so nobody waits for it.
pub(crate) type Partitions = Box<[Mutex<Planner>]>;

/// Plans and executes until the engine is closed. `number`: that of the thread.
pub(crate) fn run(partitions: &Partitions, shared: &Shared, number: usize) {
    shared.memory.add_thread();
    let mut executor = Executor::new(shared, number);
    loop {
        let seen = shared.pipeline.pokes();
        if !plan_one(partitions, shared, number) && !executor.execute_or_plan(seen) {
            return;
        }
    }
}

/// Plans a batch of the first partition that nobody plans, the thread's own before others: what it has touched is near. Returns whether
/// there was one.
fn plan_one(partitions: &Partitions, shared: &Shared, number: usize) -> bool {
    let mut order = (0..partitions.len()).map(|at| (number + at) % partitions.len());
    order.any(|partition| {
        if !shared.pipeline.claim(partition) {
            return false;
        }
        let mut planner = partitions[partition].lock().unwrap_or_else(PoisonError::into_inner);
        let has_planned = planner.plan_now();
        let last = planner.last();
        drop(planner);
        shared.pipeline.give_back(partition, last);
        has_planned
    })
}
