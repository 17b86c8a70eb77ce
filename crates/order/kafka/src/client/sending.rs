//! The thread that appends records, and deletes them.

use super::{PAUSE, Producer, Trouble};
use crate::client::topic::Topic;
use crate::shared::{Purpose, Shared, Work};
use env::thread::sleep;

/// Does what there is to do until all has ended.
pub fn send(shared: &Shared, producer: &mut Producer, topic: &Topic) {
    while let Some(work) = shared.wait_for_work(|state| state.next_work()) {
        let done = match work {
            Work::Append(record, purpose) => append(shared, producer, &record, purpose),
            Work::Delete(up_to) => delete(shared, topic, up_to),
        };
        if let Err(why) = done {
            return shared.end(why);
        }
    }
}

/// Appends a record, however often it has to be sent (K2).
fn append(shared: &Shared, producer: &mut Producer, record: &[u8], purpose: Purpose) -> Result<(), String> {
    let offset = until_done(shared, || producer.append(record, || shared.has_ended()))?;
    if let Some(offset) = offset.flatten() {
        shared.change(|state| state.appended(purpose, offset));
    }
    Ok(())
}

fn delete(shared: &Shared, topic: &Topic, up_to: u64) -> Result<(), String> {
    if until_done(shared, || topic.delete(up_to))?.is_some() {
        shared.change(|state| state.deleted(up_to));
    }
    Ok(())
}

/// Tries until it is done. Returns `None` when all has ended, and fails if it cannot be done.
fn until_done<T>(shared: &Shared, mut step: impl FnMut() -> Result<T, Trouble>) -> Result<Option<T>, String> {
    while !shared.has_ended() {
        match step() {
            Ok(done) => return Ok(Some(done)),
            Err(Trouble::End(why)) => return Err(why),
            Err(Trouble::Again(why)) => {
                shared.change(|state| state.problem = Some(why));
                sleep(PAUSE);
            }
        }
    }
    Ok(None)
}
