//! Fetching the state of another node, in place of one's own.
//!
//! It is written into tables of the next generation, beside those that count. One local transaction makes the root name it, once all of
//! it is there; a stop before that leaves tables that nothing names, and the next life begins again (C5).
//!
//! Where a state ends is the first thing that is known of it. From then on the order's deliveries behind that place are kept in a spool, so
//! that it does not matter how long the state takes. A state that breaks off is replaced by one of any holder that ends there or behind.

use crate::core::{Core, Waiting};
use crate::deliver::Deliverer;
use crate::error::{behind, damaged, order_failed, unknown};
use crate::incoming::Incoming;
use crate::load::{self, Loaded};
use crate::replica::{self, PARTS, TABLES, decode_table, numbers_of, state_key, state_name, table_name};
use crate::root::Root;
use crate::states::Piece;
use crate::status::Doing;
use env::time::Duration;
use model::{Access, Committed, Error, Fault, Finish, Key, LogPosition, Result, RowRef, Schema, Store, TableId};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use total::{OrderError, Position};

/// How long to wait before the holders are asked again: at first, and at most. It doubles, since what cannot be had whole may cost whoever
/// sends it a long time again.
const AGAIN: Duration = Duration::from_millis(100);
const AGAIN_AT_MOST: Duration = Duration::from_secs(2);
/// How long a wait for a piece lasts, or for another attempt, before deliveries are looked after.
const LOOK: Duration = Duration::from_millis(20);
/// Rows that are installed by one local transaction, at most.
const ROWS_AT_ONCE: usize = 10_000;

/// The parts of a payload of a node that have come.
pub(crate) fn read_parts(core: &Core, state: TableId, node: u64, life: u64) -> Result<Vec<u8>> {
    let parts = load::rows_under(&*core.local, state, state_key(PARTS, &[node, life]))?;
    Ok(parts.concat())
}

/// Why there is no state.
enum Failed {
    /// It did not come whole, or cannot be used: another one may.
    Sent(Error),
    /// This node cannot have it, or has stopped: it would be the same with each.
    Own(Error),
}

/// A failure of the local store; what it says of keys, rows and definitions it says of what was sent.
fn of_store(error: Error) -> Failed {
    if matches!(error, Error::Invalid(_)) { Failed::Sent(error) } else { Failed::Own(error) }
}

/// Fetches a state that has everything up to `earliest`. What follows it is in the spool then. Ends without one if the order has forgotten
/// what follows meanwhile, since a younger one is needed.
///
/// # Errors
/// The local store failed; the spool has no room; the node has stopped, or its order.
pub(crate) fn fetch(deliverer: &mut Deliverer, earliest: Position, holders: &[u64]) -> Result<()> {
    let core = deliverer.core.clone();
    core.progress.set_doing(Doing::FetchingState);
    let own = core.order.origin().node;
    // The order may not know who has a state; then whoever has taken part is asked.
    let known: Vec<u64> = deliverer.lives.keys().copied().filter(|node| *node != own).collect();
    let asked = if holders.is_empty() { &known[..] } else { holders };
    let mut again = AGAIN;
    loop {
        for holder in asked {
            go_on(deliverer)?;
            if deliverer.behind.is_some() {
                return Ok(());
            }
            match receive(deliverer, *holder, earliest) {
                Ok(()) => return Ok(()),
                Err(Failed::Own(error)) => return Err(error),
                Err(Failed::Sent(error)) => core.progress.set_trouble(error.to_string()),
            }
        }
        pause(deliverer, again)?;
        again = (again * 2).min(AGAIN_AT_MOST);
    }
}

/// Waits for so long, unless there is a reason to go on.
fn pause(deliverer: &mut Deliverer, longest: Duration) -> Result<()> {
    let core = deliverer.core.clone();
    let began = core.host.now();
    loop {
        go_on(deliverer)?;
        let left = longest.saturating_sub(core.host.since(began));
        if left.is_zero() || deliverer.behind.is_some() {
            return Ok(());
        }
        core.progress.wait_stopped(left.min(LOOK));
    }
}

/// Between two steps of a fetch, which may last for hours: ends what has lasted too long, and keeps what is delivered.
///
/// # Errors
/// The spool has no room; the node has stopped, or its order: before a place is followed nothing is delivered that would say so.
fn go_on(deliverer: &mut Deliverer) -> Result<()> {
    if deliverer.followed.is_some() {
        deliverer.follow()?;
    }
    let core = &deliverer.core;
    core.tick();
    if let Some(failure) = core.progress.failure() {
        return Err(failure);
    }
    match core.order.room(Duration::ZERO) {
        Err(error @ OrderError::Stopped(_)) => Err(order_failed(&error)),
        _ => Ok(()),
    }
}

/// Receives a state, and makes it the one that counts.
fn receive(deliverer: &mut Deliverer, holder: u64, earliest: Position) -> std::result::Result<(), Failed> {
    let core = deliverer.core.clone();
    // What is kept for a state that has broken off serves this one, too, if it ends there or behind.
    let earliest = deliverer.followed.unwrap_or(earliest);
    let incoming = Incoming::open(&core, deliverer.states.clone(), holder, earliest).map_err(Failed::Own)?;
    let (complete_to, root) = begin(deliverer, &incoming, (holder, earliest))?;
    // Not where it is complete to: that may be a barrier of its holder, which no other node is delivered. If this state breaks off, the
    // others may have no such place for as long as nobody writes.
    follow(deliverer, root.base().max(earliest))?;
    // What an earlier attempt has left.
    replica::drop_others(&*core.local, deliverer.root.generation, |_| true).map_err(Failed::Own)?;
    write_tables(deliverer, &root, &incoming)?;
    let loaded = load::load(&*core.local, root, core.options.limits).map_err(of_load)?;
    publish(deliverer, loaded, complete_to).map_err(Failed::Own)
}

/// From here on, what is delivered behind this place is kept, unless it is already.
fn follow(deliverer: &mut Deliverer, after: Position) -> std::result::Result<(), Failed> {
    if deliverer.followed.is_some() {
        return Ok(());
    }
    match deliverer.core.order.follow(after) {
        Ok(()) => deliverer.followed = Some(after),
        Err(OrderError::Missed) => return Err(Failed::Sent(behind("the state that is sent is too old".to_owned()))),
        Err(error) => return Err(Failed::Own(order_failed(&error))),
    }
    Ok(())
}

/// The next piece of a state. What is delivered until it comes is kept.
fn next_piece(deliverer: &mut Deliverer, incoming: &Incoming) -> std::result::Result<Piece, Failed> {
    loop {
        go_on(deliverer).map_err(Failed::Own)?;
        if deliverer.behind.is_some() {
            return Err(Failed::Sent(behind(
                "the others have forgotten what follows the state that was sent".to_owned(),
            )));
        }
        if let Some(piece) = incoming.take(LOOK) {
            return piece.map_err(Failed::Sent);
        }
    }
}

/// Reads the head of a state that another node sends: up to where it has everything, and the root that it will have here.
fn begin(
    deliverer: &mut Deliverer,
    incoming: &Incoming,
    (holder, earliest): (u64, Position),
) -> std::result::Result<(Position, Root), Failed> {
    let Piece::Head(head) = next_piece(deliverer, incoming)? else {
        return Err(Failed::Sent(damaged("what was sent has no head")));
    };
    let (complete_to, shared) = *head;
    if complete_to < earliest || shared.position < deliverer.root.position {
        return Err(Failed::Sent(behind(format!("node {holder} is not further itself"))));
    }
    Ok((complete_to, Root { generation: deliverer.root.generation + 1, ..shared }))
}

/// What was written and cannot be read was sent so.
fn of_load(error: Error) -> Failed {
    match error {
        Error::Fault(Fault::Corruption { .. } | Fault::NewerFormat { .. }) => Failed::Sent(error),
        other => of_store(other),
    }
}

/// Writes what comes into tables of the next generation, to its end.
fn write_tables(deliverer: &mut Deliverer, root: &Root, incoming: &Incoming) -> std::result::Result<(), Failed> {
    let local = deliverer.core.local.clone();
    let store = &*local;
    let schema = Schema::bytes(state_name(root.generation)).build().map_err(|error| of_store(error.into()))?;
    let state = store.create_table(schema).map_err(of_store)?;
    let mut tables = BTreeMap::new();
    let mut total = 0;
    loop {
        match next_piece(deliverer, incoming)? {
            Piece::Head(_) => return Err(Failed::Sent(damaged("what was sent has two heads"))),
            Piece::Rows(table, rows) => {
                if table.is_none() {
                    create_tables(store, root, &rows, &mut tables)?;
                }
                let local = table.map_or(Some(state), |table| tables.get(&table).copied());
                let local = local.ok_or_else(|| Failed::Sent(damaged("rows of a table that was not named")))?;
                rows.chunks(ROWS_AT_ONCE).try_for_each(|rows| write_rows(store, local, rows)).map_err(of_store)?;
                total += rows.len() as u64;
            }
            Piece::End(count) if count == total => return Ok(()),
            Piece::End(_) => return Err(Failed::Sent(damaged("what was sent lacks rows"))),
        }
    }
}

/// Creates the tables that rows of the state table name.
fn create_tables(
    store: &dyn Store,
    root: &Root,
    rows: &[(Key, Vec<u8>)],
    tables: &mut BTreeMap<TableId, TableId>,
) -> std::result::Result<(), Failed> {
    for (key, row) in rows.iter().filter(|(key, _)| key.first() == Some(&TABLES)) {
        let number = numbers_of(key).first().and_then(|number| u32::try_from(*number).ok());
        let id = TableId(number.ok_or_else(|| Failed::Sent(damaged("the number of a table")))?);
        let (_, schema) = decode_table(row).map_err(|_| Failed::Sent(damaged("a table")))?;
        tables.insert(id, store.create_table(schema.ordered_as(table_name(root.generation, id))).map_err(of_store)?);
    }
    Ok(())
}

fn write_rows(store: &dyn Store, table: TableId, rows: &[(Key, Vec<u8>)]) -> Result<()> {
    let mut transaction = replica::begin_own(store)?;
    rows.iter().try_for_each(|(key, row)| transaction.put(table, key, RowRef::new(row)))?;
    transaction.commit().map(drop)
}

/// Makes a state that is there the one that counts, and answers those whose place it has passed.
fn publish(deliverer: &mut Deliverer, loaded: Loaded, complete_to: Position) -> Result<()> {
    let core = deliverer.core.clone();
    let (root, generation) = (loaded.root, loaded.generation.clone());
    core.replace(generation.clone(), loaded.window, || {
        let mut transaction = replica::begin_own(&*core.local)?;
        replica::put_root(&mut transaction, core.root_table, &root)?;
        let committed = transaction.commit()?;
        if core.options.is_durable { core.local.wait_durable(committed.log_position) } else { Ok(()) }
    })?;
    (deliverer.root, deliverer.generation) = (root, generation);
    (deliverer.lives, deliverer.parts) = (loaded.lives, loaded.parts);
    deliverer.window_rows = loaded.window_rows;
    core.counts.fetched.fetch_add(1, Relaxed);
    deliverer.show_members();
    core.progress.set_applied(root.base(), root.place);
    core.progress.set_reached(complete_to);
    if core.options.is_durable {
        core.order.keep_from(root.base());
    }
    deliverer.show_doing();
    match deliverer.own_life() {
        Some(own) => answer_passed(&core, own.submission),
        // The first payload of this life may have been refused where the state comes from.
        None => deliverer.announce()?,
    }
    // Snapshots that are open go on reading them as long as the store lets them.
    replica::drop_others(&*core.local, root.generation, |_| true)
}

/// Answers the own submissions that were delivered to the holder: those of the window have committed, and of others nobody knows.
fn answer_passed(core: &Core, submission: u64) {
    for (submission, waiting) in core.take_waiting_up_to(submission) {
        let found = core.window().find(core.order.origin(), submission).map(|entry| entry.place);
        match (waiting, found) {
            (Waiting::Commit { promise, held, .. }, Some(place)) => {
                drop(held);
                let log_position = LogPosition::from_raw(place);
                promise.resolve(Ok(Committed { serial_point: None, log_position }));
            }
            (waiting, _) => waiting.refuse(unknown("this node was behind when it was decided")),
        }
    }
}
