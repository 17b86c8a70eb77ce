//! Attempts to catch the database out: plans that outlive what they were made for, cursors over what has changed or never
//! was, acknowledgements of what did not happen, statements that happen twice.

mod common;

use common::{Answer, Client, database, database_twopl, database_with_versions, databases, store, subject};
use model::{
    Access, Begin, Columns, Committed, Durability, Error, Fault, Finish, Got, LogPosition, Pending,
    Result as EngineResult, RetryPolicy, RowBuf, Schema, TableId, Tables,
};
use seriatim_sql::database::{Database, Options};
use seriatim_sql::session::{Outcome, Status};
use seriatim_sql::store::{Store, Transaction};
use seriatim_sql::types::Encoding;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testing::Engine;

/// A client's extended protocol: prepares and binds without parameters.
fn bind(client: &mut Client, portal: &str, sql: &str) {
    client.session.parse(portal, sql, &[]).expect("it can be prepared");
    client.session.bind(portal, portal, &[], Encoding::Utf8).expect("it can be bound");
}

/// Executes a portal; its rows as [`Client::show`] gives them.
fn execute(client: &mut Client, portal: &str, sync_follows: bool) -> Result<String, seriatim_sql::SqlError> {
    let mut answer = Answer::default();
    let outcome = client.session.execute(portal, 0, sync_follows, &mut answer)?;
    assert_eq!(outcome, Outcome::Done);
    Ok(answer.rows.iter().map(|row| row.join("|")).collect::<Vec<_>>().join("\n"))
}

/// What a text was answered with before it failed.
fn failing(client: &mut Client, sql: &str) -> (Answer, seriatim_sql::SqlError) {
    let mut answer = Answer::default();
    let error = client.session.simple(sql, &mut answer).expect_err("it fails");
    (answer, error)
}

// Plans and what they rest on.

#[test]
fn a_repeated_text_follows_the_settings() {
    let mut client = Client::new(&database());
    let instant = "select extract(epoch from timestamptz '2020-01-01 00:00')::int8";
    let (utc, vienna) = ("1577836800", "1577833200");
    let show = |client: &mut Client, expected: &str, after: &str| assert_eq!(client.show(instant), expected, "{after}");
    show(&mut client, utc, "at first");
    client.run("begin; set timezone = 'Europe/Vienna'");
    show(&mut client, vienna, "set in a block");
    client.run("rollback");
    show(&mut client, utc, "rolled back");
    client.run("begin; set local timezone = 'Europe/Vienna'");
    show(&mut client, vienna, "set local");
    client.run("commit");
    show(&mut client, utc, "committed");
    client.run("set timezone = 'Europe/Vienna'");
    show(&mut client, vienna, "set");
    client.run("reset all");
    show(&mut client, utc, "reset all");
    client.run("select set_config('timezone', 'Europe/Vienna', false)");
    show(&mut client, vienna, "set_config");
    client.run("begin; savepoint s; set timezone = 'UTC'");
    show(&mut client, utc, "in a savepoint");
    client.run("rollback to s");
    show(&mut client, vienna, "rolled back to the savepoint");
    client.run("rollback");
    client.run("discard all");
    show(&mut client, utc, "discard all");
}

#[test]
fn a_repeated_text_has_its_own_now() {
    let mut client = Client::new(&database());
    for _ in 0..3 {
        assert_eq!(client.show("select timestamptz 'now' = now(), 'today'::date = current_date"), "t|t");
    }
}

#[test]
fn a_repeated_text_follows_the_definitions() {
    let database = database();
    let (mut client, mut other) = (Client::new(&database), Client::new(&database));
    client.run("create table t (a int); insert into t values (1)");
    assert_eq!(client.run("select * from t").columns, ["a"]);
    other.run("alter table t rename column a to b");
    assert_eq!(client.run("select * from t").columns, ["b"]);
    other.run("alter table t add column c int default 2");
    assert_eq!(client.show("select * from t"), "1|2");
    other.run("alter table t alter column b type text");
    assert_eq!(client.run("select * from t").columns, ["b", "c"]);
    other.run("drop table t; create table t (z int)");
    assert_eq!(client.run("select * from t").columns, ["z"]);
    other.run("drop table t");
    assert_eq!(client.fails("select * from t").code(), "42P01");
}

#[test]
fn a_prepared_statement_keeps_its_columns_or_fails() {
    let database = database();
    let (mut client, mut other) = (Client::new(&database), Client::new(&database));
    client.run("create table t (a int); insert into t values (1); prepare p as select * from t");
    assert_eq!(client.show("execute p"), "1");
    other.run("alter table t add column b int");
    assert_eq!(client.fails("execute p").code(), "0A000");
    other.run("alter table t drop column b");
    assert_eq!(client.show("execute p"), "1");
    other.run("alter table t rename column a to b");
    assert_eq!(client.fails("execute p").message(), "cached plan must not change result type");
}

#[test]
fn a_plan_follows_views_and_what_is_behind_them() {
    let database = database();
    let (mut client, mut other) = (Client::new(&database), Client::new(&database));
    client.run(
        "create table t (a int8); insert into t values (1); create sequence s;
        create view v as select a from t; create view w as select a from v",
    );
    client.run("prepare p as select a from w");
    for _ in 0..2 {
        assert_eq!((client.show("select a from w"), client.show("execute p")), ("1".into(), "1".into()));
    }
    other.run("create or replace view v as select a + 1 as a from t");
    assert_eq!((client.show("select a from w"), client.show("execute p")), ("2".into(), "2".into()));
    // The new plan moves a sequence, which the transaction of one that only reads would not allow.
    other.run("create or replace view v as select nextval('s') as a from t");
    assert_eq!((client.show("select a from w"), client.show("execute p")), ("1".into(), "2".into()));
    other.run("create or replace view v as select a from t for update");
    assert_eq!((client.show("select a from w"), client.show("execute p")), ("1".into(), "1".into()));
}

#[test]
fn a_plan_follows_the_search_path_and_what_comes_to_hide_its_table() {
    let database = database();
    let (mut client, mut other) = (Client::new(&database), Client::new(&database));
    client.run(
        "create table t (a text); insert into t values ('public'); create schema x; create table x.t (a text);
        insert into x.t values ('x'); create schema y; prepare p as select a from t",
    );
    let both = |client: &mut Client| (client.show("select a from t"), client.show("execute p"));
    assert_eq!(both(&mut client), ("public".into(), "public".into()));
    client.run("set search_path = y, x, public");
    assert_eq!(both(&mut client), ("x".into(), "x".into()));
    other.run("create table y.t (a text); insert into y.t values ('y')");
    assert_eq!(both(&mut client), ("y".into(), "y".into()));
    client.run("create temp table t (a text); insert into t values ('temp')");
    assert_eq!(both(&mut client), ("temp".into(), "temp".into()));
    client.run("discard temp");
    assert_eq!(both(&mut client), ("y".into(), "y".into()));
    other.run("drop table y.t");
    assert_eq!(both(&mut client), ("x".into(), "x".into()));
}

#[test]
fn a_definition_that_was_rolled_back_leaves_no_trace() {
    let database = database();
    let (mut client, mut other) = (Client::new(&database), Client::new(&database));
    client.run("create table t (a int primary key); insert into t values (1)");
    client.run("prepare p as select * from t");
    client.run("begin; alter table t add column b int default 5");
    assert_eq!(client.show("select * from t"), "1|5");
    client.run("savepoint s; alter table t drop column b; alter table t add column c text default 'c'");
    assert_eq!(client.show("select * from t"), "1|c");
    client.run("rollback to s");
    assert_eq!(client.show("select * from t"), "1|5");
    client.run("rollback");
    assert_eq!(client.run("select * from t").columns, ["a"]);
    assert_eq!(client.show("execute p"), "1");
    assert_eq!(other.show("select * from t"), "1");
    client.run("begin; create table u (a int); insert into u values (1); select * from u; rollback");
    other.run("create table u (a text); insert into u values ('other')");
    assert_eq!(client.show("select * from u"), "other");
}

#[test]
fn defaults_checks_and_sequences_are_those_of_the_transaction() {
    let database = database();
    let (mut client, mut other) = (Client::new(&database), Client::new(&database));
    client.run("create sequence s; create table t (a int default nextval('s'), b int default 1)");
    let insert = "insert into t values (default, default) returning *";
    assert_eq!(client.show(insert), "1|1");
    other.run("alter table t alter column b set default 2");
    assert_eq!(client.show(insert), "2|2");
    other.run("alter sequence s restart with 50");
    assert_eq!(client.show(insert), "50|2");
    other.run("alter table t add check (a < 51)");
    assert_eq!(client.fails(insert).code(), "23514");
    other.run("alter table t alter column a drop default; drop sequence s; create sequence s start 7");
    assert_eq!(client.show("insert into t values (nextval('s'), default) returning *"), "7|2");
    other.run("drop sequence s; create sequence s start 9");
    assert_eq!(client.show("insert into t values (nextval('s'), default) returning *"), "9|2");
}

#[test]
fn a_restart_that_was_rolled_back_gives_no_value_twice() {
    let database = database();
    let mut client = Client::new(&database);
    client.run("create sequence s; select nextval('s')");
    client.run("begin; alter sequence s restart with 100");
    assert_eq!(client.show("select nextval('s')"), "100");
    client.run("rollback");
    assert_eq!(client.show("select nextval('s')"), "2");
    client.run("alter sequence s restart with 200");
    assert_eq!(client.show("select nextval('s')"), "200");
}

// Portals and cursors.

#[test]
fn preparing_one_statement_does_not_end_the_portal_of_another() {
    let mut client = Client::new(&database());
    client.run("create table t (a int)");
    bind(&mut client, "p", "insert into t values (1)");
    bind(&mut client, "q", "select count(*) from t");
    assert_eq!(execute(&mut client, "p", false).unwrap(), "");
    assert_eq!(execute(&mut client, "q", true).unwrap(), "1");
    client.session.sync(false).unwrap();
    assert_eq!(client.show("select count(*) from t"), "1");
}

#[test]
fn a_cursor_sees_the_state_at_its_declaration() {
    for database in databases() {
        let mut client = Client::new(&database);
        client.run("create table t (a int primary key); insert into t select generate_series(1, 20)");
        client.run("begin; declare c cursor for select a from t; declare d cursor for select count(*) from t");
        client.run("insert into t values (21); delete from t where a < 20");
        assert_eq!(client.run("fetch all from c").rows.len(), 20);
        assert_eq!(client.show("fetch all from d"), "20");
        client.run("declare e cursor for select a from t order by a; alter table t add column b int; truncate t");
        assert_eq!(client.show("fetch all from e"), "20\n21");
        client.run("rollback");
    }
}

#[test]
fn a_bound_portal_sees_the_state_at_its_binding() {
    let mut client = Client::new(&database());
    client.run("create table t (a int)");
    client.run("begin");
    bind(&mut client, "p", "select count(*) from t");
    client.run("insert into t values (1)");
    assert_eq!(execute(&mut client, "p", false).unwrap(), "0");
    client.run("commit");
}

#[test]
fn cursors_end_with_the_savepoint_in_which_they_began() {
    let mut client = Client::new(&database());
    client.run("create table t (a int); insert into t values (1)");
    client.run("begin; declare before cursor for select a from t");
    client.run("savepoint s; insert into t values (2); declare inside cursor for select a from t");
    assert_eq!(client.show("fetch 1 from inside"), "1");
    client.run("rollback to s");
    assert_eq!(client.fails("fetch inside").code(), "34000", "what it reads never was");
    client.run("rollback to s");
    assert_eq!(client.show("fetch all from before"), "1", "an error does not end a cursor of before");
    client.run("declare released cursor for select 7 as a; savepoint t; declare kept cursor for select 8; release t");
    client.run("savepoint u");
    client.fails("select 1/0");
    client.run("rollback to u");
    assert_eq!(client.show("fetch released; fetch kept"), "8");
    client.run("rollback to s");
    assert_eq!(client.fails("fetch kept").code(), "34000");
    client.run("rollback");
}

const DEFERRED: &str = "create table parent (id int primary key);
    create table child (p int references parent deferrable initially deferred)";

#[test]
fn cursors_with_hold_hold_what_was_committed() {
    let mut client = Client::new(&database());
    client.run(DEFERRED);
    client.run("begin; insert into child values (1); declare c cursor with hold for select p from child");
    assert_eq!(client.fails("commit").code(), "23503");
    assert_eq!(client.fails("fetch c").code(), "34000", "the rows never were");
    client.run("insert into parent values (1); begin; insert into child values (1)");
    client.run("declare c cursor with hold for select p from child; commit");
    client.run("delete from child");
    assert_eq!(client.show("fetch all from c"), "1");
}

#[test]
fn copy_of_a_deletion_is_a_deletion() {
    let mut client = Client::new(&database());
    client.run("create table t (a int); insert into t select generate_series(1, 20)");
    client.run("begin read only");
    assert_eq!(client.fails("copy (delete from t returning a) to stdout").code(), "25006");
    client.run("rollback; begin; declare c cursor for select a from t");
    client.run("fetch 1 from c; copy (delete from t returning a) to stdout");
    assert_eq!(client.run("fetch all from c").rows.len(), 19);
    client.run("rollback");
}

// What is reported is so.

#[test]
fn a_statement_is_told_complete_only_when_it_is_committed() {
    let mut client = Client::new(&database());
    client.run(DEFERRED);
    let (answer, error) = failing(&mut client, "insert into child values (1)");
    assert_eq!((answer.tags, error.code()), (vec![], "23503"));
    let (answer, error) = failing(&mut client, "insert into parent values (1); insert into child values (2)");
    assert_eq!((answer.tags, error.code()), (vec!["INSERT 0 1".to_owned()], "23503"));
    assert_eq!(client.show("select count(*) from parent"), "0");
    let (answer, error) = failing(&mut client, "begin; insert into child values (1); commit");
    assert_eq!((answer.tags.len(), error.code()), (2, "23503"));
    assert_eq!(client.session.status(), Status::Idle);
}

/// An engine whose commits and waits fail when they are told to.
struct Faulty {
    engine: Arc<dyn Store>,
    state: Arc<Faults>,
}

#[derive(Default)]
struct Faults {
    /// So many commits of transactions that wrote will conflict.
    conflicts: AtomicU32,
    /// Nothing becomes durable any more.
    is_stopped: AtomicBool,
    /// Commits are late: nobody hears what becomes of them.
    is_cut_off: AtomicBool,
    late: Mutex<Vec<Box<dyn Transaction>>>,
    armed: AtomicBool,
    /// How often the list of all tables was asked for.
    listed: AtomicU32,
    /// How often a transaction was begun as a snapshot.
    snapshots: AtomicU32,
    /// How many keys were announced.
    announced: AtomicU32,
    /// Where the commits conflict.
    table: std::sync::OnceLock<Arc<Schema>>,
}

struct FaultyTransaction {
    inner: Box<dyn Transaction>,
    state: Arc<Faults>,
    wrote: bool,
}

fn faulty() -> (Arc<Database>, Arc<Faults>) {
    faulty_on(store())
}

fn faulty_on(engine: Arc<dyn Store>) -> (Arc<Database>, Arc<Faults>) {
    let state = Arc::new(Faults::default());
    let options = Options { retry: RetryPolicy::attempts(101), ..Options::default() };
    let store = Arc::new(Faulty { engine, state: state.clone() });
    (Database::open(store, options).expect("a database"), state)
}

impl Store for Faulty {
    fn begin(&self, how: Begin) -> EngineResult<Box<dyn Transaction>> {
        // The sequences' transactions are of another mode, and left alone.
        let own = how.mode == model::Mode::OwnAtStatement;
        self.state.snapshots.fetch_add(u32::from(how.mode == model::Mode::Snapshot), Ordering::SeqCst);
        let inner = self.engine.begin(how)?;
        if !own {
            return Ok(inner);
        }
        Ok(Box::new(FaultyTransaction { inner, state: self.state.clone(), wrote: false }))
    }

    fn get(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> EngineResult<Got> {
        model::read_alone::<dyn Store>(self, table, key, columns, row)
    }

    fn wait_durable(&self, position: LogPosition) -> EngineResult<()> {
        if self.state.is_stopped.load(Ordering::SeqCst) {
            return Err(Fault::OutcomeUnknown { detail: "the disk is gone".into() }.into());
        }
        self.engine.wait_durable(position)
    }

    fn wait_durable_unless(&self, position: LogPosition, is_over: &dyn Fn() -> bool) -> EngineResult<bool> {
        self.wait_durable(position)?;
        self.engine.wait_durable_unless(position, is_over)
    }

    fn recheck_waits(&self) {
        self.engine.recheck_waits();
    }

    fn durable(&self, position: LogPosition) -> Pending<EngineResult<()>> {
        Pending::ready(self.wait_durable(position))
    }

    fn ddl(&self) -> Option<&dyn Tables> {
        Some(self)
    }

    fn snapshots(&self) -> Option<&dyn model::Snapshots> {
        self.engine.snapshots()
    }
}

impl Tables for Faulty {
    fn create_table_unlisted(&self, schema: Schema) -> EngineResult<TableId> {
        self.engine.create_table(schema)
    }

    fn drop_table(&self, name: &str) -> EngineResult<()> {
        self.engine.drop_table(name)
    }

    fn tables(&self) -> Vec<(TableId, Arc<Schema>)> {
        self.state.listed.fetch_add(1, Ordering::SeqCst);
        self.engine.tables()
    }

    fn usage(&self) -> Option<model::Usage> {
        self.engine.usage()
    }

    fn checkpoint(&self) -> EngineResult<()> {
        self.engine.checkpoint()
    }
}

impl Access for FaultyTransaction {
    fn read(
        &mut self,
        table: TableId,
        key: &[u8],
        columns: model::Columns<'_>,
        row: &mut model::RowBuf,
    ) -> EngineResult<bool> {
        self.inner.read(table, key, columns, row)
    }

    fn prefetch(&mut self, table: TableId, keys: &[model::Key]) {
        self.state.announced.fetch_add(keys.len() as u32, Ordering::SeqCst);
        self.inner.prefetch(table, keys);
    }

    fn read_for_update(
        &mut self,
        table: TableId,
        key: &[u8],
        columns: model::Columns<'_>,
        row: &mut model::RowBuf,
    ) -> EngineResult<bool> {
        self.inner.read_for_update(table, key, columns, row)
    }

    fn put(&mut self, table: TableId, key: &[u8], row: model::RowRef<'_>) -> EngineResult<()> {
        self.wrote = true;
        self.inner.put(table, key, row)
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: model::RowRef<'_>) -> EngineResult<()> {
        self.wrote = true;
        self.inner.insert(table, key, row)
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &model::Delta) -> EngineResult<bool> {
        self.wrote = true;
        self.inner.update(table, key, delta)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> EngineResult<bool> {
        self.wrote = true;
        self.inner.delete(table, key)
    }

    fn scan(
        &mut self,
        scan: &model::Scan<'_>,
        visit: &mut dyn FnMut(model::Item<'_>) -> std::ops::ControlFlow<()>,
    ) -> EngineResult<model::ScanEnd> {
        self.inner.scan(scan, visit)
    }
}

impl Finish for FaultyTransaction {
    fn poison(&self) -> Option<&Error> {
        self.inner.poison()
    }

    fn rests_on(&self) -> LogPosition {
        self.inner.rests_on()
    }

    fn timestamp(&self) -> Option<model::Timestamp> {
        self.inner.timestamp()
    }

    fn set_durability(&mut self, durability: Durability) {
        self.inner.set_durability(durability);
    }

    fn set_wait_limit(&mut self, limit: Option<Duration>) {
        self.inner.set_wait_limit(limit);
    }

    fn start(&mut self) -> EngineResult<()> {
        self.inner.start()
    }

    fn savepoints(&mut self) -> Option<&mut dyn model::Savepoints> {
        self.inner.savepoints()
    }

    fn supervised(&mut self) -> Option<&mut dyn model::Supervised> {
        self.inner.supervised()
    }

    fn set_reads_wait(&mut self, wait: bool) {
        self.inner.set_reads_wait(wait);
    }

    fn begin_commit(self) -> Pending<EngineResult<Committed>> {
        let conflicts = &self.state.conflicts;
        let armed = self.state.armed.load(Ordering::SeqCst);
        let take = |left: u32| left.checked_sub(1);
        if (self.wrote || armed) && conflicts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok() {
            self.inner.abort();
            let conflict = model::Abort {
                class: model::AbortClass::ReadWrite,
                rule: "later-reader",
                explanation: "a test wants it so",
                table: self.state.table.get().cloned(),
                target: model::Target::None,
                transaction: model::Timestamp(1),
                other: None,
                met: None,
            };
            return Pending::ready(Err(conflict.into()));
        }
        if self.wrote && self.state.is_cut_off.load(Ordering::SeqCst) {
            self.state.late.lock().unwrap().push(self.inner);
            return Pending::ready(Err(Fault::OutcomeUnknown { detail: "no answer".into() }.into()));
        }
        // In memory nothing waits.
        let durable_later = |committed| Committed { log_position: LogPosition::from_raw(1), ..committed };
        self.inner.begin_commit().map(move |decided| decided.map(durable_later))
    }

    fn abort(self) {
        self.inner.abort();
    }
}

/// A read-only block does not wait for a writer that is not about to end. Two-phase locking has no snapshots.
#[test]
fn a_read_only_block_is_no_snapshot_beside_an_old_writer() {
    let (database, faults) = faulty_on(subject(Engine::of_tests_with_versions()).store);
    let (mut writer, mut reader) = (Client::new(&database), Client::new(&database));
    writer.run("create table t (a int primary key); insert into t values (1)");
    let snapshots = |reader: &mut Client| {
        let before = faults.snapshots.load(Ordering::SeqCst);
        assert_eq!(reader.show("begin read only; select a from t; commit"), "1");
        faults.snapshots.load(Ordering::SeqCst) - before
    };
    assert_eq!(snapshots(&mut reader), 1, "nobody writes");
    writer.run("begin; update t set a = 2; select pg_sleep(0.03)");
    assert_eq!(snapshots(&mut reader), 0, "the writer has been open for longer than anybody would wait");
    writer.run("rollback");
    assert_eq!(snapshots(&mut reader), 1);
    writer.run("begin read only; select a from t; select pg_sleep(0.03)");
    assert_eq!(snapshots(&mut reader), 1, "readers are not waited for");
}

/// Rows that are read one by one, and no others: keys of a list, and rows to which an index leads once several were read.
#[test]
fn rows_that_a_statement_will_read_are_announced() {
    let (database, faults) = faulty();
    let mut client = Client::new(&database);
    client.run(
        "create table t (a int primary key, b int, c int); create index on t (b); create unique index on t (c);
         insert into t select i, i % 2, i from generate_series(1, 100) i",
    );
    let mut announced = |sql: &str, answer: &str| {
        let before = faults.announced.load(Ordering::SeqCst);
        client.run("begin");
        assert_eq!(client.show(sql), answer, "{sql}");
        client.run("rollback");
        faults.announced.load(Ordering::SeqCst) - before
    };
    assert_eq!(announced("select b from t where a = 7", "1"), 0);
    let list = "(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 300)";
    assert_eq!(announced(&format!("select count(*), sum(b) from t where a in {list}"), "18|18"), 19);
    assert_eq!(announced(&format!("select count(*), sum(b) from t where c in {list}"), "18|18"), 19);
    assert_eq!(announced("select a from t where b = 1 limit 1", "1"), 0);
    let all = announced("select count(*), sum(c) from t where b = 1", "50|2500");
    assert!((40..=50).contains(&all), "{all}");
    assert_eq!(announced("select count(*), sum(b) from t", "100|50"), 0, "a scan of the rows themselves");
}

/// To say where a conflict was takes a look at all tables, of which there may be thousands.
#[test]
fn a_conflict_is_explained_only_when_somebody_hears_of_it() {
    let (database, faults) = faulty();
    let mut client = Client::new(&database);
    client.run("create table t (a int primary key)");
    // The rows' table is the last that was made.
    let (_, rows) = database.store.tables().into_iter().max_by_key(|(id, _)| id.0).expect("it is there");
    faults.table.set(rows).unwrap();
    let run = |client: &mut Client, conflicts: u32, sql: &str| {
        faults.conflicts.store(conflicts, Ordering::SeqCst);
        let before = faults.listed.load(Ordering::SeqCst);
        let outcome = client.try_run(sql).map(|answer| answer.tags).map_err(|error| error.fields().detail.clone());
        faults.conflicts.store(0, Ordering::SeqCst);
        (outcome, faults.listed.load(Ordering::SeqCst) - before)
    };
    let (outcome, listed) = run(&mut client, 5, "insert into t values (1)");
    assert_eq!((outcome.unwrap(), listed), (vec!["INSERT 0 1".to_owned()], 0));
    let (outcome, listed) = run(&mut client, 1000, "insert into t values (2)");
    let detail = outcome.unwrap_err().unwrap();
    assert!(detail.contains("table \"t\"") && detail.contains("The server ran the statement 101 times."), "{detail}");
    assert_eq!(listed, 1, "it leaves once");
    let (outcome, listed) = run(&mut client, 1, "begin; insert into t values (2); commit");
    assert!(outcome.unwrap_err().unwrap().contains("table \"t\""));
    assert_eq!(listed, 1, "in a block it leaves at once");
}

#[test]
fn a_statement_that_is_repeated_happens_once() {
    let (database, faults) = faulty();
    let mut client = Client::new(&database);
    client.run("create table t (a int); create sequence s");
    let conflict = |times| faults.conflicts.store(times, Ordering::SeqCst);
    conflict(2);
    assert_eq!(client.run("insert into t values (1), (2)").tags, ["INSERT 0 2"]);
    assert_eq!(client.show("select count(*) from t"), "2");
    conflict(2);
    assert_eq!(client.show("insert into t values (nextval('s')) returning a"), "3", "a sequence does not go back");
    conflict(2);
    bind(&mut client, "", "insert into t values (9) returning a");
    let mut answer = Answer::default();
    client.session.execute("", 0, true, &mut answer).unwrap();
    client.session.sync(false).unwrap();
    assert_eq!((answer.rows.len(), client.show("select count(*) from t where a = 9")), (1, "1".into()));
}

#[test]
fn a_statement_that_is_repeated_says_its_notices_once() {
    let (database, faults) = faulty();
    let mut client = Client::new(&database);
    client.run("create table t (a int); create table c (a int primary key); create table d (a int references c)");
    faults.conflicts.store(2, Ordering::SeqCst);
    let answer = client.run("drop table if exists nothing, t");
    assert_eq!(answer.notices, ["NOTICE: table \"nothing\" does not exist, skipping"]);
    faults.conflicts.store(2, Ordering::SeqCst);
    assert_eq!(client.run("drop table c cascade").notices.len(), 1);
}

#[test]
fn a_cursor_with_hold_outside_a_block_is_declared_once() {
    let (database, faults) = faulty();
    let mut client = Client::new(&database);
    client.run("create table t (a int); insert into t values (1)");
    faults.armed.store(true, Ordering::SeqCst);
    faults.conflicts.store(2, Ordering::SeqCst);
    client.run("declare c cursor with hold for select a from t");
    assert_eq!(client.show("fetch all from c"), "1");
}

#[test]
fn several_statements_that_conflict_are_not_repeated() {
    let (database, faults) = faulty();
    let mut client = Client::new(&database);
    client.run("create table t (a int)");
    for several in ["insert into t values (1); insert into t values (2)", "begin; insert into t values (1); commit"] {
        faults.conflicts.store(1, Ordering::SeqCst);
        assert_eq!(client.fails(several).code(), "40001", "{several}");
        assert_eq!((client.session.status(), client.show("select count(*) from t")), (Status::Idle, "0".into()));
    }
    bind(&mut client, "p", "insert into t values (1)");
    bind(&mut client, "q", "insert into t values (2)");
    faults.conflicts.store(1, Ordering::SeqCst);
    execute(&mut client, "p", false).unwrap();
    execute(&mut client, "q", true).unwrap();
    assert_eq!(client.session.sync(false).unwrap_err().code(), "40001");
    assert_eq!(client.show("select count(*) from t"), "0");
}

#[test]
fn what_may_not_be_durable_is_never_acknowledged() {
    for commit in ["commit", "commit and chain"] {
        let (database, faults) = faulty();
        let mut client = Client::new(&database);
        client.run("create table t (a int primary key)");
        faults.is_stopped.store(true, Ordering::SeqCst);
        let error = client.fails(&format!("begin; insert into t values (1); {commit}; select 1"));
        assert_eq!(error.code(), "08007");
        assert_eq!(client.session.wait_durable().unwrap_err().code(), "08007", "COMMIT's answer has not left yet");
    }
}

/// A definition whose COMMIT has no answer may be valid later, and needs what it names.
#[test]
fn what_may_commit_later_keeps_its_tables() {
    let (database, faults) = faulty_on(subject(Engine::of_tests_with_versions()).store);
    let mut client = Client::new(&database);
    faults.is_cut_off.store(true, Ordering::SeqCst);
    assert_eq!(client.fails("create table t (a int primary key)").code(), "08007");
    faults.is_cut_off.store(false, Ordering::SeqCst);
    for late in faults.late.lock().unwrap().drain(..) {
        late.commit().expect("nobody in the way");
    }
    client.run("insert into t values (1)");
    assert_eq!(client.show("select a from t"), "1");
}

// Transactions.

#[test]
fn a_transaction_may_become_read_only_but_not_go_back() {
    let mut client = Client::new(&database());
    client.run("create table t (a int)");
    client.run("begin; insert into t values (1); savepoint s; set transaction read only");
    assert_eq!(client.fails("insert into t values (2)").code(), "25006");
    client.run("rollback to s; insert into t values (2); rollback; begin read only; select 1");
    assert_eq!(client.fails("set transaction read write").code(), "25001");
    client.run("rollback");
}

#[test]
fn discard_belongs_to_its_transaction() {
    for database in databases() {
        let mut client = Client::new(&database);
        client.run("create temp table t (a int)");
        client.run("begin; insert into t values (1); create temp table u (a int)");
        client.run("discard temp");
        assert_eq!(client.fails("select * from t").code(), "42P01");
        client.run("rollback");
        assert_eq!(client.show("select count(*) from t"), "0", "the block was rolled back");
        assert_eq!(client.fails("select 1; discard all").code(), "25001");
        assert_eq!(client.fails("begin; discard all").code(), "25001");
        client.run("rollback; discard temp");
        assert_eq!(client.fails("select * from t").code(), "42P01");
    }
}

#[test]
fn savepoints_take_back_definitions_settings_and_checks() {
    let mut client = Client::new(&database());
    client.run(DEFERRED);
    client.run("create table t (a int); insert into t values (1)");
    client.run("begin; savepoint s; savepoint s");
    client.run("truncate t; insert into child values (9); set timezone = 'Europe/Vienna'; rollback to s; release s");
    client.run("drop table t; rollback to s; savepoint x; alter table t rename to u; rollback to x; release x");
    assert_eq!(client.show("show timezone"), "UTC");
    client.run("insert into t values (2); commit");
    assert_eq!(client.show("select a from t order by a"), "1\n2");
    assert_eq!(client.show("select count(*) from child"), "0");
}

/// Under two-phase locking the definition comes first: `who_has_not_come_to_a_table_comes_after_its_definition`.
#[test]
fn an_older_transaction_and_a_definition_have_a_serial_order() {
    for (definition, statement) in [
        ("create index i on t (b)", "insert into t values (9, 9)"),
        ("create unique index i on t (b)", "insert into t values (9, 1)"),
        ("alter table t add check (b < 5)", "insert into t values (9, 9)"),
        ("alter table t add check (b < 5)", "update t set b = 9"),
        ("alter table t add foreign key (b) references parent", "insert into t values (9, 9)"),
        ("alter table t add foreign key (b) references parent", "delete from parent"),
        ("alter table t add column c int default 7", "insert into t values (9, 9)"),
        ("alter table t alter column b type text", "update t set b = 2"),
        ("alter table t alter column b set not null", "update t set b = null"),
        ("truncate t", "insert into t values (9, 9)"),
        ("truncate t", "update t set b = b + 1"),
        ("drop table t", "delete from t"),
        ("alter table t drop column b", "update t set b = 3"),
        ("alter table t drop constraint t_pkey", "insert into t values (9, 9)"),
    ] {
        let database = database_with_versions();
        let (mut client, mut other) = (Client::new(&database), Client::new(&database));
        client.run("create table parent (id int primary key); insert into parent values (1)");
        client.run("create table t (a int primary key, b int); insert into t values (1, 1); create table z (a int)");
        client.run("begin; select * from z");
        other.run(definition);
        // The older one comes first: either it does not disturb what the definition saw, or it must go.
        let done = client.try_run(statement).and_then(|_| client.try_run("commit"));
        if let Err(error) = &done {
            assert_eq!(error.code(), "40001", "{definition}, {statement}: {error:?}");
            client.run("rollback");
        }
        let check = "select count(*) from t where b is null or b >= 5 or not exists (select from parent where id = b)";
        let gone = definition.starts_with("drop") || definition.contains("drop column") || definition.contains("type");
        if !gone && !definition.contains("index i") && !definition.contains("drop") && !definition.contains("column c")
        {
            assert_eq!(client.show(check), "0", "{definition}, {statement}, {done:?}");
        }
        if !definition.starts_with("drop") {
            client.run("set enable_seqscan = off");
            let rows = client.show("select count(*) from t");
            assert_eq!(client.show("select count(*) from (select * from t order by a) q"), rows, "{definition}");
        }
    }
}

// Names and values.

#[test]
fn views_and_defaults_mean_what_they_meant_when_they_were_made() {
    let database = database();
    let (mut client, mut other) = (Client::new(&database), Client::new(&database));
    client.run(
        "create schema x; create table x.t (a text); insert into x.t values ('x.t'); create sequence x.s start 500;
        set search_path = x, public; create view public.v as select a from t;
        create table public.d (a int8 default nextval('s'), b int)",
    );
    other.run("create table t (a text); insert into t values ('public.t'); create sequence s start 7");
    assert_eq!(other.show("select a from v"), "x.t");
    assert_eq!(other.show("insert into d (b) values (1) returning a"), "500");
    client.run("reset search_path; create temp table t (a text); insert into t values ('temp')");
    client.run("create temp sequence s start 9");
    assert_eq!(client.show("select a from v"), "x.t");
    assert_eq!(client.show("insert into d (b) values (1) returning a"), "501");
    client.run("create view w as select a from public.t; alter schema x rename to z");
    assert_eq!(other.show("select a from v union all select a from w"), "x.t\npublic.t");
    assert_eq!(other.show("insert into d (b) values (1) returning a"), "502");
}

#[test]
fn values_that_are_equal_are_one_key() {
    let mut client = Client::new(&database());
    for (data_type, one, other) in [
        ("numeric", "1.0", "1.00"),
        ("numeric", "0", "-0.000"),
        ("float8", "0", "-0"),
        ("float8", "nan", "NaN"),
        ("char(5)", "a", "a  "),
        ("interval", "1 day", "24 hours"),
        ("interval", "1 mon", "30 days"),
        ("timestamptz", "2020-01-01 00:00+00", "2020-01-01 01:00+01"),
        ("uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"),
        ("numeric[]", "{1.0,2}", "{1,2.00}"),
    ] {
        client.run(&format!("create table k (a {data_type} primary key, b {data_type} unique)"));
        client.run(&format!("insert into k values ('{one}', '{one}')"));
        for (a, b) in [(other, "null"), (one, "null")] {
            let insert = format!("insert into k values ('{a}', {b})");
            assert_eq!(client.fails(&insert).code(), "23505", "{data_type} {one} {other}");
        }
        let find = format!("select count(*) from k where a = '{other}' and b = '{other}'");
        assert_eq!(client.show(&find), "1", "{data_type}");
        client.run(&format!("update k set a = '{other}', b = '{other}'"));
        client.run(&format!("delete from k where b = '{one}'"));
        assert_eq!(client.show("select count(*) from k"), "0", "{data_type}");
        client.run(&format!("insert into k values ('{one}', '{one}'); drop table k"));
    }
}

#[test]
fn on_conflict_sees_the_state_at_its_start() {
    let mut client = Client::new(&database());
    client.run("create table t (id int primary key, n int8); insert into t values (1, 0)");
    let insert = "insert into t values (9, 0), (1, 1)
        on conflict (id) do update set n = (select count(*) from t) returning id, n, (select count(*) from t)";
    assert_eq!(client.show(insert), "9|0|1\n1|1|1");
    let insert = "insert into t values (10, 0), (1, 1)
        on conflict (id) do update set n = 77 where (select count(*) from t) = 2";
    assert_eq!(client.run(insert).tags, ["INSERT 0 2"]);
    assert_eq!(
        client.fails("insert into t values (11, 0), (11, 1) on conflict (id) do update set n = 1").code(),
        "21000"
    );
    assert_eq!(client.run("insert into t values (11, 0), (11, 1) on conflict do nothing").tags, ["INSERT 0 1"]);
}

#[test]
fn held_cursors_give_names() {
    let mut client = Client::new(&database());
    client.run("create table t (a int)");
    client.run("begin; declare c cursor with hold for select 't'::regclass, 'int4'::regtype; commit");
    assert_eq!(client.show("fetch c"), "t|integer");
}

#[test]
fn a_deferred_check_survives_a_change_of_its_columns() {
    let mut client = Client::new(&database());
    client.run(DEFERRED);
    client.run("insert into parent values (5)");
    for (values, definition, expected) in [
        ("(5)", "alter table child alter column p type bigint", None),
        ("(6)", "alter table child alter column p type bigint", Some("23503")),
        ("(6)", "alter table parent alter column id type bigint", Some("23503")),
        ("(6)", "alter table child rename column p to q", Some("23503")),
        ("(6)", "alter table parent rename to mother", Some("23503")),
        ("(6)", "truncate child", None),
        ("(6)", "drop table child", None),
    ] {
        client.run("begin");
        client.run(&format!("insert into child values {values}"));
        // PostgreSQL refuses it while checks wait; what may not be is an answer that is wrong.
        let changed = client.try_run(definition);
        match (changed.and_then(|_| client.try_run("commit")), expected) {
            (Ok(_), None) => {}
            (Err(error), Some(_)) => assert!(["23503", "55006"].contains(&error.code()), "{definition}: {error:?}"),
            (done, _) => panic!("{definition}: {done:?}"),
        }
        if client.session.status() != Status::Idle {
            client.run("rollback");
        }
        if expected.is_none() {
            client.run("drop table if exists child; drop table parent");
            client.run(DEFERRED);
            client.run("insert into parent values (5)");
        }
    }
}

#[test]
fn setting_a_transaction_read_only_makes_it_so() {
    let mut client = Client::new(&database());
    client.run("create table t (a int primary key)");
    client.run("begin; set transaction_read_only = on");
    assert_eq!(client.fails("insert into t values (1)").code(), "25006");
    client.run("rollback; begin; set local transaction_read_only to on");
    assert_eq!(client.fails("insert into t values (1)").code(), "25006");
    client.run("rollback");
    client.run("insert into t values (1)");
}

// Concurrency of what is beside rows.

/// Two sessions take steps in turn; each step's outcome is `ok`, or the error's code.
fn turns(database: &Arc<Database>, steps: &[(usize, &str)]) -> Vec<String> {
    let mut clients = [Client::new(database), Client::new(database)];
    // One that would have to wait for the other gives up.
    clients.iter_mut().for_each(|client| drop(client.run("set lock_timeout = '20ms'")));
    let outcome = |(client, sql): &(usize, &str)| match clients[*client].try_run(sql) {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.code().to_owned(),
    };
    steps.iter().map(outcome).collect()
}

#[test]
fn what_is_referenced_does_not_go_whoever_is_older() {
    for on_delete in ["no action", "restrict", "no action deferrable initially deferred"] {
        for (first, second) in [(0, 1), (1, 0)] {
            let database = database();
            let mut client = Client::new(&database);
            client
                .run("create table p (id int primary key, n int); insert into p values (1, 0); create table z (a int)");
            client.run(&format!("create table c (a int primary key, p int references p on delete {on_delete})"));
            let outcomes = turns(
                &database,
                &[
                    (first, "begin; select * from z"),
                    (second, "begin; select * from z"),
                    (0, "insert into c values (1, 1)"),
                    (1, "delete from p where id = 1"),
                    (0, "commit"),
                    (1, "commit"),
                ],
            );
            let orphans = client.show("select count(*) from c where p not in (select id from p)");
            assert_eq!(orphans, "0", "{on_delete}: {outcomes:?}");
            let losers = outcomes[2..].iter().filter(|outcome| *outcome != "ok").count();
            assert!(losers > 0, "{on_delete}: {outcomes:?}");
        }
    }
}

#[test]
fn a_snapshot_reads_through_truncation_and_rewriting_or_fails_to() {
    for definition in [
        "truncate t",
        "alter table t add column c int default 1",
        "drop table t",
        "drop table t; create table t (a int)",
    ] {
        for begin in ["begin", "begin read only", "begin read only deferrable"] {
            let database = database_with_versions();
            let (mut client, mut other) = (Client::new(&database), Client::new(&database));
            client.run("create table t (a int); insert into t values (1), (2); create table z (a int)");
            client.run(begin);
            client.run("select * from z");
            other.run(definition);
            match client.try_run("select a from t order by a") {
                Ok(answer) => assert_eq!(answer.rows, [["1"], ["2"]], "{definition}"),
                Err(error) => assert_eq!(error.code(), "40001", "{definition}"),
            }
            client.run("rollback");
        }
    }
}

/// Two-phase locking has no past: a block that has not come to a table yet comes after whoever has changed it meanwhile.
#[test]
fn who_has_not_come_to_a_table_comes_after_its_definition() {
    for (definition, statement, answer) in [
        ("truncate t", "select a, b from t order by a", Ok("")),
        ("alter table t add column c int default 1", "select * from t order by a", Ok("1|1|1\n2|2|1")),
        ("drop table t", "select a from t", Err("42P01")),
        ("drop table t; create table t (a int)", "select * from t", Ok("")),
        ("create unique index i on t (b)", "insert into t values (9, 1)", Err("23505")),
        ("alter table t add check (b < 5)", "update t set b = 9", Err("23514")),
        ("alter table t alter column b type text", "update t set b = 'x' where a = 1 returning b", Ok("x")),
        ("alter table t alter column b set not null", "update t set b = null", Err("23502")),
        ("alter table t drop column b", "update t set b = 3", Err("42703")),
        ("alter table t drop constraint t_pkey", "insert into t values (1, 9) returning b", Ok("9")),
    ] {
        let begins: &[&str] = if statement.starts_with("select") { &["begin", "begin read only"] } else { &["begin"] };
        for begin in begins {
            let database = database_twopl();
            let (mut client, mut other) = (Client::new(&database), Client::new(&database));
            client.run("create table t (a int primary key, b int); insert into t values (1, 1), (2, 2)");
            client.run("create table z (a int)");
            client.run(&format!("{begin}; select * from z"));
            other.run(definition);
            match answer {
                Ok(rows) => assert_eq!(client.show(statement), rows, "{definition}, {statement}"),
                Err(code) => assert_eq!(client.fails(statement).code(), code, "{definition}, {statement}"),
            }
            client.run("rollback");
        }
    }
}

#[test]
fn a_unique_value_is_taken_once_whoever_is_older() {
    for (first, second) in [(0, 1), (1, 0)] {
        for insert in ["insert into t values (1, 5)", "insert into t values (1, 5) on conflict do nothing"] {
            let database = database();
            let mut client = Client::new(&database);
            client.run("create table t (id int primary key, u int unique); create table z (a int)");
            let outcomes = turns(
                &database,
                &[
                    (first, "begin; select * from z"),
                    (second, "begin; select * from z"),
                    (0, "select * from t where u = 5"),
                    (0, insert),
                    (1, "insert into t values (2, 5)"),
                    (0, "commit"),
                    (1, "commit"),
                ],
            );
            assert!(["0", "1"].contains(&&*client.show("select count(*) from t where u = 5")), "{outcomes:?}");
            assert_eq!(client.show("select count(*) from t"), client.show("select count(*) from t where u = 5"));
        }
    }
}

#[test]
fn who_has_waited_as_long_as_it_may_is_told_so() {
    for database in databases() {
        let (mut client, mut other) = (Client::new(&database), Client::new(&database));
        client.run("create table t (a int primary key); insert into t values (1)");
        client.run("begin; update t set a = a where a = 1");
        other.run("set lock_timeout = '20ms'");
        let error = other.fails("update t set a = a where a = 1");
        assert_eq!(error.code(), "55P03");
        let detail = error.fields().detail.clone().unwrap_or_default();
        assert!(!detail.contains("times"), "the limit is the client's, for all attempts together: {detail}");
    }
    let (database, faults) = faulty();
    let mut client = Client::new(&database);
    client.run("create table t (a int primary key)");
    faults.conflicts.store(1000, Ordering::SeqCst);
    let error = client.fails("insert into t values (1)");
    let detail = error.fields().detail.clone().unwrap_or_default();
    assert_eq!(
        (error.code(), detail.ends_with(" The server ran the statement 101 times.")),
        ("40001", true),
        "{detail}"
    );
}

#[test]
fn messages_before_a_sync_are_one_transaction() {
    let mut client = Client::new(&database());
    client.run("create table t (a int primary key)");
    bind(&mut client, "p", "insert into t values (1)");
    execute(&mut client, "p", false).unwrap();
    bind(&mut client, "q", "insert into t values (1)");
    assert_eq!(execute(&mut client, "q", true).unwrap_err().code(), "23505");
    client.session.sync(true).unwrap();
    assert_eq!(client.show("select count(*) from t"), "0");
    bind(&mut client, "r", "insert into t values (1)");
    execute(&mut client, "r", false).unwrap();
    bind(&mut client, "s", "begin");
    execute(&mut client, "s", true).unwrap();
    client.session.sync(false).unwrap();
    assert_eq!(client.session.status(), Status::InTransaction);
    client.run("rollback");
    assert_eq!(client.show("select count(*) from t"), "0", "BEGIN took over what was open");
    bind(&mut client, "u", "insert into t values (1)");
    execute(&mut client, "u", false).unwrap();
    assert_eq!(client.show("select count(*) from t"), "1", "a text of the simple protocol ends it");
    client.run("begin; rollback");
    assert_eq!(client.show("select count(*) from t"), "1");
}
