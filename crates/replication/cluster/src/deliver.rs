//! The thread that delivers: the only one that writes the local store.
//!
//! Deliveries are decided one by one, and applied in batches: one local transaction for each, with the rows that users wrote, the
//! entries of the window, and the row of the root that says how far it goes (C1).

use crate::change::Change;
use crate::codes::TableKey;
use crate::core::{Core, Waiting};
use crate::error::{Conflict, damaged, order_failed};
use crate::install;
use crate::options::Limits;
use crate::payload::{self, Payload, Proposal, VERSION};
use crate::read_set::ReadSet;
use crate::replica::{self, Generation, LIVES, Life, PARTS, TABLES, Table, state_key, window_key};
use crate::root::Root;
use crate::spool::Spool;
use crate::states::States;
use crate::status::Member;
use crate::window::{Entry, Window, put_entry};
use crate::writes::Row;
use env::time::Duration;
use foldhash::fast::RandomState;
use model::{
    Access, Columns, Committed, Error, Fault, Finish, Invalid, Key, Limit, LimitKind, LogPosition, Result, RowBuf,
    Schema, TableId, Timestamp,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
};
use total::{Delivered, Event, OrderError, Origin, Position};

/// Events that are taken at a time.
pub(crate) const EVENTS: usize = 256;
/// How long the thread waits before it looks whether the node is closing.
const PATIENCE: Duration = Duration::from_millis(50);
/// Rows and bytes from which on a batch is applied.
const BATCH_ROWS: usize = 10_000;
const BATCH_BYTES: usize = 4 << 20;
/// Bytes of entries of the window from which on the next one begins a row of its own.
const ENTRIES_BYTES: usize = 256 << 10;

/// The thread that delivers.
pub(crate) struct Deliverer {
    pub core: Arc<Core>,
    pub states: Arc<dyn States>,
    pub generation: Arc<Generation>,
    pub root: Root,
    pub lives: BTreeMap<u64, Life>,
    /// Lives and submissions of each node's parts that wait for the last one.
    pub parts: BTreeMap<u64, Vec<(u64, u64)>>,
    /// The rows of the state table that have the window, by their last entries, the oldest first.
    pub window_rows: VecDeque<Position>,
    batch: Batch,
    /// The local store as of the last batch. Ends with the batch.
    applied: Option<Box<dyn model::Transaction>>,
    /// Whether the local log has been asked about its durability, and has not answered.
    is_asked: Arc<AtomicBool>,
    /// What the local log is to be asked about when it has answered: the last batch, if it was applied meanwhile.
    unasked: Option<LogPosition>,
    /// Bytes of payloads that were applied since the local log was last known to be durable.
    undurable: u64,
    /// The local store had a state when this life began.
    has_begun_with_state: bool,
    /// The first payload of this life found no room.
    is_unannounced: bool,
    /// Up to where the order keeps nothing for this node any more, and who may have a state: to be fetched.
    pub behind: Option<(Position, Vec<u64>)>,
    /// What was delivered behind the place that is followed, and is not applied.
    pub spool: Spool,
    /// Deliveries go through the spool, which has everything behind this place: there is, or will be, a state that has what is before.
    pub followed: Option<Position>,
}

/// What was decided and is not applied yet.
#[derive(Default)]
struct Batch {
    rows: Vec<(TableId, Key, Row)>,
    /// Where the last row of each key of users is among them.
    written: HashMap<TableKey, usize, RandomState>,
    /// Entries of the window that are in no row yet, and the place of the last one.
    entries: (Vec<u8>, Position),
    bytes: usize,
    lives: BTreeSet<u64>,
    answers: Vec<(Waiting, Result<Committed>)>,
    is_begun: bool,
}

impl Deliverer {
    pub fn new(
        core: Arc<Core>,
        states: Arc<dyn States>,
        root: Root,
        lives: BTreeMap<u64, Life>,
        parts: BTreeMap<u64, Vec<(u64, u64)>>,
        window_rows: VecDeque<Position>,
        spool: Spool,
    ) -> Deliverer {
        let generation = core.generation();
        Deliverer {
            core,
            states,
            generation,
            root,
            lives,
            parts,
            window_rows,
            batch: Batch::default(),
            applied: None,
            is_asked: Arc::default(),
            unasked: None,
            undurable: 0,
            has_begun_with_state: root.position.is_some(),
            is_unannounced: false,
            behind: None,
            spool,
            followed: None,
        }
    }

    /// Delivers until the node stops.
    pub fn run(mut self) {
        let mut events = Vec::new();
        while self.core.progress.failure().is_none() {
            if let Err(error) = self.go_on(&mut events) {
                return self.stop(&error);
            }
            self.core.tick();
        }
    }

    /// Takes what comes next, and does what it asks for.
    fn go_on(&mut self, events: &mut Vec<Event>) -> Result<()> {
        if let Some((earliest, holders)) = self.behind.take() {
            install::fetch(self, earliest, &holders)?;
        } else if self.followed.is_some() {
            self.apply_kept(events)?;
        } else {
            self.deliver(events)?;
        }
        if self.is_unannounced {
            self.announce()?;
        }
        // Else the order would keep what was delivered before a quiet time.
        self.unasked.take().into_iter().for_each(|log_position| self.ask(log_position));
        Ok(())
    }

    fn deliver(&mut self, events: &mut Vec<Event>) -> Result<()> {
        match self.core.order.deliver(events, EVENTS, PATIENCE) {
            Ok(()) | Err(OrderError::TimedOut) => self.take_all(events),
            Err(error) => Err(order_failed(&error)),
        }
    }

    /// Notes how far the order is known to have come.
    pub fn note_known(&self, events: &[Event]) {
        let furthest = events.iter().rev().find_map(|event| match event {
            Event::Ordered(delivered) => Some(delivered.position),
            _ => None,
        });
        furthest.inspect(|at| self.core.progress.set_known(*at));
    }

    /// Stops the node. Of what was decided and is not applied nobody here knows the outcome.
    fn stop(self, error: &Error) {
        self.core.stop(error);
        for (waiting, _) in self.batch.answers {
            waiting.refuse(self.core.progress.unanswered());
        }
    }

    pub fn take_all(&mut self, events: &mut Vec<Event>) -> Result<()> {
        self.note_known(events);
        for event in events.drain(..) {
            match event {
                Event::Ordered(delivered) => self.take(&delivered)?,
                Event::Barrier(at) => {
                    self.flush()?;
                    self.core.progress.set_reached(at);
                }
                Event::Behind { earliest, holders } => {
                    self.flush()?;
                    self.behind = Some((earliest, holders));
                }
                _ => return Err(Fault::NewerFormat { detail: "an unknown event of the order".into() }.into()),
            }
        }
        self.flush()
    }

    fn take(&mut self, delivered: &Delivered) -> Result<()> {
        if Some(delivered.position) <= self.root.position {
            return Ok(()); // The state has it.
        }
        let newer = |_| {
            Error::from(Fault::NewerFormat {
                detail: format!("node {} sends payloads of another version", delivered.origin.node),
            })
        };
        let payload = Payload::decode(&delivered.payload).map_err(newer)?;
        if matches!(payload, Payload::Create(_) | Payload::Drop(_) | Payload::Part { is_last: true, .. }) {
            // What takes more than a row is applied alone: the root must not name its place before it is there (C1).
            self.flush()?;
        }
        self.batch.is_begun = true;
        self.root.position = Some(delivered.position);
        self.batch.bytes += delivered.payload.len();
        if let Payload::Hello { version, limits, start } = payload {
            return self.begin_life(delivered, (version, limits), start);
        }
        if !self.note_delivery(delivered) {
            // Of a life that another one has replaced, or that was refused (C7).
            if let Some(waiting) = self.own_waiting(delivered) {
                waiting.refuse(Core::closed());
            }
            return Ok(());
        }
        self.take_payload(delivered, payload)?;
        if self.batch.rows.len() >= BATCH_ROWS || self.batch.bytes >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn take_payload(&mut self, delivered: &Delivered, payload: Payload<'_>) -> Result<()> {
        match payload {
            Payload::Hello { .. } => Ok(()),
            Payload::Transaction(proposal) => self.decide(delivered, proposal),
            Payload::Create(schema) => self.create(delivered, schema),
            Payload::Drop(name) => self.drop_table(delivered, name),
            Payload::Part { is_first, is_last, bytes } => self.take_part(delivered, is_first, is_last, bytes),
        }
    }

    fn own_waiting(&self, delivered: &Delivered) -> Option<Waiting> {
        (delivered.origin == self.core.order.origin()).then(|| self.core.take_waiting(delivered.submission)).flatten()
    }

    /// The first payload of a life: the one before ends here, on every node alike (C7). It has the number of its start as far as the node
    /// knew; one that is not greater than the last comes late, of a life that ended before it was ordered, or must be tried again.
    fn begin_life(&mut self, delivered: &Delivered, agreed: (u64, Limits), start: u64) -> Result<()> {
        let Delivered { origin, submission, position, .. } = *delivered;
        let own = self.core.order.origin();
        if self.root.agreed.is_none() {
            self.root.agreed = Some(agreed);
            *self.core.window() = Window::new(agreed.1, self.root.floor);
        }
        if self.root.agreed != Some(agreed) {
            return if origin == own { Err(disagrees(self.root.agreed)) } else { Ok(()) };
        }
        let last = self.lives.get(&origin.node).copied();
        if last.is_some_and(|last| last.life != origin.life && last.start >= start) {
            return if origin == own { self.announce() } else { Ok(()) };
        }
        if last.is_none_or(|last| last.life != origin.life) {
            if origin.node == own.node && last.is_some_and(|last| last.life == own.life) {
                return Err(replaced(own));
            }
            self.lives.insert(origin.node, Life { life: origin.life, start, submission, position });
            self.batch.lives.insert(origin.node);
            self.forget_parts(origin.node);
        }
        self.flush()?;
        if origin == own {
            self.show_doing();
        }
        Ok(())
    }

    /// Proposes the first payload of this life, as a start after those that are known. Without room, later: this thread makes room, by
    /// taking what was proposed before.
    pub fn announce(&mut self) -> Result<()> {
        let last = self.lives.get(&self.core.order.origin().node).map_or(0, |last| last.start);
        self.is_unannounced = !self.core.announce(payload::hello(self.core.options.limits, last + 1))?;
        Ok(())
    }

    /// Returns whether a payload is of the last life of its node.
    fn note_delivery(&mut self, delivered: &Delivered) -> bool {
        let Delivered { origin, submission, position, .. } = *delivered;
        let Some(life) = self.lives.get_mut(&origin.node).filter(|last| last.life == origin.life) else { return false };
        (life.submission, life.position) = (submission, position);
        self.batch.lives.insert(origin.node);
        true
    }

    /// Certifies a transaction at its place (C2): every node comes to the same answer, since it looks at the payload and the window alone.
    fn decide(&mut self, delivered: &Delivered, proposal: Proposal) -> Result<()> {
        self.root.place += 1;
        let waiting = self.own_waiting(delivered);
        let decided = match self.certify(delivered, proposal) {
            Ok(decided) => decided,
            Err(error) => return Err(self.undecided(error, waiting)),
        };
        if decided.is_ok() {
            self.core.counts.commits.fetch_add(1, Relaxed);
        }
        let Some(waiting) = waiting else { return Ok(()) };
        let Waiting::Commit { number, .. } = &waiting else { unreachable!("a transaction is awaited as one") };
        let answer = match decided {
            Ok(()) => Ok(Committed { serial_point: None, log_position: LogPosition::from_raw(self.root.place) }),
            Err(conflict) => {
                self.core.count_abort(conflict.rule);
                let tables = self.generation.tables();
                let schema = |table: TableId| tables.get(&table).map(|table| table.schema.clone());
                Err(conflict.abort(Timestamp(*number), schema).into())
            }
        };
        self.batch.answers.push((waiting, answer));
        Ok(())
    }

    /// The outer error stops the node, the inner one is the answer, the same on every node.
    fn certify(&mut self, delivered: &Delivered, proposal: Proposal) -> Result<std::result::Result<(), Box<Conflict>>> {
        let Proposal { base, read_set, writes } = proposal;
        let tables = self.generation.tables();
        if let Err(conflict) = self.check(&tables, base, &read_set, &writes)? {
            self.core.window().set_place(self.root.place);
            return Ok(Err(conflict));
        }
        let mut entry = Entry {
            position: delivered.position,
            place: self.root.place,
            origin: delivered.origin,
            submission: delivered.submission,
            writes: self.changes(&tables, &writes)?,
        };
        entry.shorten();
        if entry.is_remembered() {
            put_entry(&mut self.batch.entries.0, &entry);
            self.batch.entries.1 = entry.position;
        }
        // Under one latch with the place: who looks at the window is before this transaction or behind it.
        let mut window = self.core.window();
        window.set_place(self.root.place);
        window.push(entry, writes.iter().map(|(key, row)| (key, row)));
        self.root.floor = window.floor();
        drop(window);
        self.remove_forgotten();
        if self.batch.entries.0.len() > ENTRIES_BYTES {
            self.end_entries();
        }
        for (key, row) in writes {
            let local = tables[&key.0].local;
            self.batch.rows.push((local, key.1.clone(), row));
            self.batch.written.insert(key, self.batch.rows.len() - 1);
        }
        Ok(Ok(()))
    }

    /// Removes the rows of which the window has forgotten the last entry, and so all.
    fn remove_forgotten(&mut self) {
        let floor = self.root.floor;
        while let Some(last) = self.window_rows.pop_front_if(|last| *last <= floor) {
            self.batch.rows.push((self.generation.state, window_key(last), None));
        }
    }

    /// Makes a row of the entries that are in none, unless they are forgotten already.
    fn end_entries(&mut self) {
        let (entries, last) = std::mem::take(&mut self.batch.entries);
        if !entries.is_empty() && last > self.root.floor {
            self.batch.rows.push((self.generation.state, window_key(last), Some(RowBuf::from_bytes(&entries))));
            self.window_rows.push_back(last);
        }
    }

    /// Whether a transaction fits its tables, and what it has read still holds at its place.
    fn check(
        &self,
        tables: &replica::Tables,
        base: Position,
        read_set: &ReadSet,
        writes: &[(TableKey, Row)],
    ) -> Result<std::result::Result<(), Box<Conflict>>> {
        let points = read_set.points.keys().map(|(table, _)| table);
        let used = points.chain(read_set.ranges.iter().map(|range| &range.table));
        let mut used = used.chain(writes.iter().map(|((table, _), _)| table));
        if let Some(dropped) = used.find(|table| !tables.contains_key(*table)) {
            return Ok(Err(Conflict::dropped(*dropped)));
        }
        let misfit = |error| damaged(format!("a transaction does not fit its tables: {error}"));
        for range in &read_set.ranges {
            let filter = range.filter.as_ref().map(|filter| &filter.predicate);
            filter.map_or(Ok(()), |filter| tables[&range.table].schema.check_predicate(filter)).map_err(misfit)?;
        }
        for ((table, key), row) in writes {
            let schema = &tables[table].schema;
            row.as_ref().map_or(Ok(()), |row| schema.check_row(key, row.row())).map_err(misfit)?;
        }
        Ok(self.core.window().check(read_set, base))
    }

    /// What a transaction does to the rows that are there at its place. Those are the rows of the batch, and below them the local store as
    /// of the last batch: together what every node has at this place, wherever its batches end.
    fn changes(&mut self, tables: &replica::Tables, writes: &[(TableKey, Row)]) -> Result<Vec<(TableKey, Change)>> {
        let (mut changes, mut found) = (Vec::with_capacity(writes.len()), RowBuf::new());
        for (key, after) in writes {
            let table = &tables[&key.0];
            let before = match self.batch.written.get(key) {
                Some(at) => self.batch.rows[*at].2.as_ref(),
                None => {
                    let core = &self.core;
                    let applied = match &mut self.applied {
                        Some(applied) => applied,
                        none => none.insert(replica::begin_snapshot(&*core.local, Some(core.options.catch_up))?),
                    };
                    applied.read(table.local, &key.1, Columns::All, &mut found)?.then_some(&found)
                }
            };
            let change = Change::of(&table.schema, before.map(RowBuf::row), after.as_ref().map(RowBuf::row));
            changes.push((key.clone(), change));
        }
        Ok(changes)
    }

    /// Creates a table, on all nodes under one number.
    fn create(&mut self, delivered: &Delivered, schema: Schema) -> Result<()> {
        let waiting = self.own_waiting(delivered);
        match (self.try_create(delivered.origin, schema), waiting) {
            (Ok(created), Some(Waiting::Create(promise))) => promise.resolve(created),
            (Err(error), waiting) => return Err(self.undecided(error, waiting)),
            _ => {}
        }
        Ok(())
    }

    /// The outer error stops the node, the inner one is the answer, the same on every node.
    fn try_create(&mut self, creator: Origin, schema: Schema) -> Result<Result<TableId>> {
        let tables = self.generation.tables();
        if tables.values().any(|table| table.schema.name() == schema.name()) {
            return Ok(Err(Invalid::TableExists { table: schema.name().to_owned() }.into()));
        }
        let (limit, actual) = (self.core.options.limits.tables, tables.len() as u64 + 1);
        if actual > limit {
            return Ok(Err(Limit { kind: LimitKind::Tables, limit, actual }.into()));
        }
        let id = TableId(self.root.next_table);
        self.root.next_table += 1;
        // Outside of any transaction: until the row of the table is there, the next life takes it again, or drops it (C5).
        let named = schema.ordered_as(replica::table_name(self.root.generation, id));
        let local = replica::find_or_create(&*self.core.local, named)?;
        let row = RowBuf::from_bytes(&replica::encode_table(creator, &schema));
        let table = Arc::new(Table { id, local, schema: Arc::new(schema), creator });
        self.generation.change(|tables| _ = tables.insert(id, table));
        self.batch.rows.push((self.generation.state, state_key(TABLES, &[id.0.into()]), Some(row)));
        self.flush()?;
        Ok(Ok(id))
    }

    /// Drops a table, on all nodes.
    fn drop_table(&mut self, delivered: &Delivered, name: &str) -> Result<()> {
        let waiting = self.own_waiting(delivered);
        match (self.try_drop(name), waiting) {
            (Ok(dropped), Some(Waiting::Drop(promise))) => promise.resolve(dropped),
            (Err(error), waiting) => return Err(self.undecided(error, waiting)),
            _ => {}
        }
        Ok(())
    }

    /// Answers who waits that the node stops. Returns why it does.
    fn undecided(&self, error: Error, waiting: Option<Waiting>) -> Error {
        self.core.progress.fail(&error);
        waiting.into_iter().for_each(|waiting| waiting.refuse(self.core.progress.unanswered()));
        error
    }

    /// As [`Deliverer::try_create`].
    fn try_drop(&mut self, name: &str) -> Result<Result<()>> {
        let tables = self.generation.tables();
        let Some(table) = tables.values().find(|table| table.schema.name() == name) else {
            return Ok(Err(Invalid::UnknownTable { table: name.to_owned() }.into()));
        };
        self.batch.rows.push((self.generation.state, state_key(TABLES, &[table.id.0.into()]), None));
        self.flush()?;
        self.generation.change(|tables| _ = tables.remove(&table.id));
        self.core.local.drop_table(&replica::table_name(self.root.generation, table.id))?;
        Ok(Ok(()))
    }

    /// A part of a payload. Those that wait for the last one are rows, since a later life has to have them.
    fn take_part(&mut self, delivered: &Delivered, is_first: bool, is_last: bool, bytes: &[u8]) -> Result<()> {
        let Delivered { origin: Origin { node, life }, submission, .. } = *delivered;
        if is_first {
            self.forget_parts(node);
        }
        if !is_last {
            let key = state_key(PARTS, &[node, life, submission]);
            self.batch.rows.push((self.generation.state, key, Some(RowBuf::from_bytes(bytes))));
            self.parts.entry(node).or_default().push((life, submission));
            return Ok(());
        }
        let mut whole = install::read_parts(&self.core, self.generation.state, node, life)?;
        whole.extend_from_slice(bytes);
        self.forget_parts(node);
        match Payload::decode(&whole) {
            Ok(payload @ (Payload::Transaction(_) | Payload::Create(_))) => self.take_payload(delivered, payload),
            _ => Err(damaged("parts of a payload that do not fit together")),
        }
    }

    /// Removes the parts of a node, whose last part has come or will not.
    fn forget_parts(&mut self, node: u64) {
        let Some(submissions) = self.parts.remove(&node) else { return };
        let state = self.generation.state;
        let keys = submissions.into_iter().map(|(life, submission)| state_key(PARTS, &[node, life, submission]));
        self.batch.rows.extend(keys.map(|key| (state, key, None)));
    }

    /// Applies what was decided, in one local transaction, and answers.
    pub fn flush(&mut self) -> Result<()> {
        if !self.batch.is_begun {
            return Ok(());
        }
        self.applied = None;
        self.end_entries();
        let log_position = self.apply()?;
        let batch = std::mem::take(&mut self.batch);
        self.show_members();
        self.core.progress.set_applied(self.root.base(), self.root.place);
        for (waiting, answer) in batch.answers {
            let Waiting::Commit { promise, held, .. } = waiting else {
                unreachable!("only transactions are in a batch")
            };
            drop(held);
            promise.resolve(answer);
        }
        self.keep(log_position, batch.bytes as u64)
    }

    /// Shows the lives of all nodes to whoever asks for the status.
    pub fn show_members(&self) {
        let member = |(node, life): (&u64, &Life)| Member {
            origin: Origin { node: *node, life: life.life },
            last: life.position,
        };
        self.core.progress.set_members(self.lives.iter().map(member).collect());
    }

    fn apply(&self) -> Result<LogPosition> {
        let batch = &self.batch;
        let mut transaction = replica::begin_own(&*self.core.local)?;
        let access: &mut dyn model::Access = &mut transaction;
        for (table, key, row) in &batch.rows {
            match row {
                Some(row) => access.put(*table, key, row.row())?,
                None => _ = access.delete(*table, key)?,
            }
        }
        for node in &batch.lives {
            let row = RowBuf::from_bytes(&self.lives[node].encode());
            access.put(self.generation.state, &state_key(LIVES, &[*node]), row.row())?;
        }
        replica::put_root(access, self.core.root_table, &self.root)?;
        Ok(transaction.commit()?.log_position)
    }

    /// Says what is durable here, without a wait unless the log is far behind.
    fn keep(&mut self, log_position: LogPosition, bytes: u64) -> Result<()> {
        if !self.core.options.is_durable {
            // The order keeps what follows the state that this life began with, until it hears that nobody needs it.
            if self.has_begun_with_state {
                self.core.order.keep_from(self.root.base());
            }
            return Ok(());
        }
        self.undurable += bytes;
        let (order, position) = (self.core.order.clone(), self.root.base());
        if self.undurable > self.core.options.undurable_bytes {
            self.core.local.wait_durable(log_position)?;
            (self.undurable, self.unasked) = (0, None);
            order.keep_from(position);
            return Ok(());
        }
        self.ask(log_position);
        Ok(())
    }

    /// Asks the local log to say when it has what is applied; later, if it has not answered the last question.
    fn ask(&mut self, log_position: LogPosition) {
        if self.is_asked.swap(true, Acquire) {
            self.unasked = Some(log_position);
            return;
        }
        self.unasked = None;
        let (order, position) = (self.core.order.clone(), self.root.base());
        let is_asked = self.is_asked.clone();
        self.core.local.durable(log_position).on_resolved(move |durable| {
            if durable.is_ok() {
                order.keep_from(position);
            }
            is_asked.store(false, Release);
        });
    }
}

fn disagrees(agreed: Option<(u64, Limits)>) -> Error {
    let what = match agreed {
        Some((VERSION, limits)) => format!("the other nodes have other limits: {limits:?}"),
        _ => "the other nodes are of another version".to_owned(),
    };
    Invalid::Option { what }.into()
}

fn replaced(origin: Origin) -> Error {
    let detail = format!("another process takes part as node {} now, instead of its life {}", origin.node, origin.life);
    crate::error::stopped(detail)
}
