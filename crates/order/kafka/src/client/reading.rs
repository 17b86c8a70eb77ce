//! The thread that reads the log.

use super::begin::find_begin;
use super::reader::{Found, Reader};
use super::{PAUSE, Trouble};
use crate::shared::{Place, Shared};
use env::thread::sleep;
use env::time::Duration;

/// How long a read waits for a record: so long the end of the node may wait for this thread.
const WAIT: Duration = Duration::from_millis(100);

/// Reads until all has ended.
pub fn read(shared: &Shared, reader: &mut Reader) {
    // Where the consumer is behind, until it resumes.
    while let Some(place) = shared.wait_for_work(|state| state.place()) {
        match find_place(shared, reader, place).and_then(|()| follow(shared, reader)) {
            Ok(()) => (),
            Err(Trouble::End(why)) => return shared.end(why),
            Err(Trouble::Again(why)) => {
                shared.change(|state| state.problem = Some(why));
                sleep(PAUSE);
            }
        }
    }
}

/// Finds the place to read from.
fn find_place(shared: &Shared, reader: &mut Reader, place: Place) -> Result<(), Trouble> {
    let bounds = reader.bounds()?;
    if bounds.end < place.read_to {
        return Err(Trouble::End(format!(
            "the log ends at offset {}, but what is below {} was delivered: the topic was made anew, Kafka was restored from a backup, \
             or has lost acknowledged records; begin a new order with another topic",
            bounds.end, place.read_to
        )));
    }
    let (next, nodes) = find_begin(reader, bounds, || shared.has_ended())?;
    // Unless the consumer has moved on meanwhile.
    let begins = shared.change(|state| state.place() == Some(place) && state.begin(next, nodes));
    if begins { reader.seek(next) } else { Ok(()) }
}

/// Takes records as they come, until the place is lost.
fn follow(shared: &Shared, reader: &mut Reader) -> Result<(), Trouble> {
    // Where the consumer's queue is full, until there is room.
    let next = || {
        shared.wait_for_work(|state| (!state.has_place()).then_some(None).or_else(|| state.next_to_read().map(Some)))
    };
    while let Some(Some(_)) = next() {
        let found = match reader.read(WAIT) {
            Ok(found) => found,
            Err(Trouble::End(why)) => return Err(Trouble::End(why)),
            // The library goes on by itself.
            Err(Trouble::Again(why)) => {
                shared.change(|state| state.problem = Some(why));
                continue;
            }
        };
        match found {
            Found::Record(offset, value) => {
                shared.change(|state| state.take(offset, &value)).map_err(Trouble::End)?;
            }
            Found::Nothing => (),
            Found::OutOfRange => {
                shared.change(|state| state.lose_place());
            }
        }
    }
    Ok(())
}
