//! The power goes, at every single change of the disk: every acknowledged order is found again, none by half, no sequence
//! gives a value twice; a definition that was being changed is the old one or the new one, with rows and indexes that fit.

mod common;

use common::{Answer, Client, open, store_of_one_thread, store_on};
use env::{SimDisk, SimDiskOptions, Survival};
use model::{Begin, Mode, Scan, TableId};
use seriatim_sql::database::Database;
use seriatim_sql::definition::Relation;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The database on a disk; `None` if the power went while it was opened.
fn try_open(disk: &SimDisk) -> Option<Arc<Database>> {
    Database::open(store_of_one_thread(disk).ok()?, Default::default()).ok()
}

/// The database as it is found when the power comes back.
#[track_caller]
fn reopen(disk: &SimDisk, context: &str) -> Arc<Database> {
    let store = store_of_one_thread(disk).unwrap_or_else(|error| panic!("{context}: the engine: {error}"));
    Database::open(store, Default::default()).unwrap_or_else(|error| panic!("{context}: {error}"))
}

/// A disk with a database on it that was stopped cleanly.
fn prepared(seed: u64, sql: &str) -> SimDisk {
    let disk = SimDisk::new(seed, SimDiskOptions::default());
    let mut client = Client::new(&reopen(&disk, "a fresh disk"));
    // Each in a transaction of its own, which fits into a segment.
    for statement in sql.split(';') {
        client.run(statement);
    }
    drop(client);
    disk
}

/// What a cut leaves of what was not synced, in turns.
fn survival(cut: u64) -> Survival {
    [Survival::SyncedOnly, Survival::Random, Survival::Everything][cut as usize % 3]
}

const SHOP: &str = "
    CREATE TABLE products (id int PRIMARY KEY, stock int NOT NULL CHECK (stock >= 0));
    CREATE TABLE orders (id bigserial PRIMARY KEY, customer text NOT NULL, lines int NOT NULL, total int NOT NULL);
    CREATE INDEX orders_customer ON orders (customer);
    CREATE TABLE details (
        order_id bigint REFERENCES orders, product int REFERENCES products, quantity int NOT NULL,
        PRIMARY KEY (order_id, product));
    CREATE INDEX details_product ON details (product);
    CREATE TABLE journal (order_id bigint, note text);
    INSERT INTO products SELECT id, 1000 FROM generate_series(1, 6) AS id";

/// An order: two products, their stock, the order with its lines, a note. Returns its number, which is acknowledged as soon as the
/// sequence has given it, whatever becomes of the order.
fn place(client: &mut Client, n: u64, mut report: impl FnMut(i64)) -> Option<i64> {
    client.try_run("BEGIN").ok()?;
    // Whether it is on the disk is the caller's business.
    match order(client, n, &mut report) {
        Some(id) if client.session.simple("COMMIT", &mut Answer::default()).is_ok() => Some(id),
        _ => {
            // After a power cut this cannot succeed either.
            let _ = client.try_run("ROLLBACK");
            None
        }
    }
}

fn order(client: &mut Client, n: u64, report: &mut dyn FnMut(i64)) -> Option<i64> {
    let (first, second) = (1 + n % 6, 1 + (n + 1 + n / 6 % 5) % 6);
    let quantities = [(first, 1 + n % 3), (second, 2)];
    let total: u64 = quantities.iter().map(|(_, quantity)| quantity).sum();
    let number = client.try_run("SELECT nextval('orders_id_seq')").ok()?;
    let id: i64 = number.rows[0][0].parse().expect("a number");
    report(id);
    let customer = n % 4;
    client.try_run(&format!("INSERT INTO orders VALUES ({id}, 'customer {customer}', 2, {total})")).ok()?;
    for (product, quantity) in quantities {
        client.try_run(&format!("UPDATE products SET stock = stock - {quantity} WHERE id = {product}")).ok()?;
        client.try_run(&format!("INSERT INTO details VALUES ({id}, {product}, {quantity})")).ok()?;
    }
    client.try_run(&format!("INSERT INTO journal VALUES ({id}, 'placed')")).ok()?;
    Some(id)
}

/// What was acknowledged to clients before the power cut.
#[derive(Clone, Default)]
struct Acknowledged {
    /// Orders that were acknowledged.
    placed: BTreeSet<i64>,
    /// The highest number that a sequence gave.
    highest: i64,
}

/// Two sessions place orders in turns until the power goes. Every other time both have committed before the first one waits:
/// what one has committed is still on its way to the disk while the other one goes on.
fn sell(disk: &SimDisk, rounds: u64) -> Acknowledged {
    let mut acknowledged = Acknowledged::default();
    let Some(database) = try_open(disk) else { return acknowledged };
    let mut clients = [Client::new(&database), Client::new(&database)];
    for round in 0..rounds {
        let mut committed = [None; 2];
        for (at, client) in clients.iter_mut().enumerate() {
            committed[at] =
                place(client, round * 2 + at as u64, |id| acknowledged.highest = acknowledged.highest.max(id));
            if round % 2 == 0 && !acknowledge(client, committed[at], &mut acknowledged) {
                return acknowledged;
            }
        }
        for (client, id) in clients.iter_mut().zip(committed) {
            if !acknowledge(client, id, &mut acknowledged) {
                return acknowledged;
            }
        }
    }
    acknowledged
}

/// Tells the world of an order, if it is durable.
fn acknowledge(client: &mut Client, id: Option<i64>, acknowledged: &mut Acknowledged) -> bool {
    let is_durable = client.session.wait_durable().is_ok();
    acknowledged.placed.extend(id.filter(|_| is_durable));
    is_durable
}

/// Everything that was acknowledged is there, and everything that is there is whole.
fn audit(database: &Arc<Database>, acknowledged: &Acknowledged, context: &str) {
    indexes_fit(database, context);
    let mut client = Client::new(database);
    let found: BTreeSet<i64> =
        client.run("SELECT id FROM orders").rows.iter().map(|row| row[0].parse().unwrap()).collect();
    let lost: Vec<&i64> = acknowledged.placed.difference(&found).collect();
    assert!(lost.is_empty(), "{context}: acknowledged orders are lost: {lost:?}");
    for (what, question) in [
        (
            "stock and details differ",
            "SELECT count(*) FROM products WHERE stock + coalesce((SELECT sum(quantity) FROM details \
             WHERE product = products.id), 0) <> 1000",
        ),
        (
            "an order is there by half",
            "SELECT count(*) FROM orders WHERE (lines, total) IS DISTINCT FROM \
             (SELECT (count(*)::int, sum(quantity)::int) FROM details WHERE order_id = orders.id)",
        ),
        (
            "the index of customers and the table differ",
            "SELECT count(*) FROM generate_series(0, 3) AS n WHERE (SELECT count(*) FROM orders WHERE customer = \
             'customer ' || n) <> (SELECT count(*) FROM orders WHERE customer || '' = 'customer ' || n)",
        ),
        (
            "journal and orders differ",
            "SELECT count(*) FROM orders FULL JOIN journal ON order_id = id WHERE id IS NULL OR order_id IS NULL",
        ),
    ] {
        assert_eq!(client.show(question), "0", "{context}: {what}");
    }
    let next: i64 = client.show("SELECT nextval('orders_id_seq')").parse().unwrap();
    assert!(next > acknowledged.highest, "{context}: the sequence gives {next} after {}", acknowledged.highest);
}

/// Every engine table belongs to a definition, every definition has its engine tables, and every index has exactly one entry
/// for each row of its table.
fn indexes_fit(database: &Arc<Database>, context: &str) {
    let store = &*database.store;
    let tables: BTreeMap<u32, String> =
        store.tables().into_iter().map(|(id, schema)| (id.0, schema.name().to_owned())).collect();
    let contents = |table: TableId| -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut transaction = store.begin(Begin { mode: Mode::ReadOnly, ..Begin::default() }).unwrap();
        let mut rows = BTreeMap::new();
        let visit = &mut |item: model::Item<'_>| {
            rows.insert(item.key.to_vec(), item.row.bytes().to_vec());
            ControlFlow::Continue(())
        };
        transaction.scan(&Scan::table(table), visit).unwrap_or_else(|error| panic!("{context}: {error}"));
        rows
    };
    let number = |name: &str| *tables.iter().find(|(_, known)| *known == name).expect("an engine table").0;
    let mut owned = BTreeSet::from(["sql catalog", "sql sequences", "sql shared"].map(number));
    for (key, row) in contents(TableId(number("sql catalog"))) {
        // A relation: its version, its number, its definition.
        let Some(definition) = key.starts_with(b"r").then(|| &row[12..]) else { continue };
        let Relation::Table(table) = serde_json::from_slice(definition).expect("a definition") else { continue };
        owned.insert(table.storage.table);
        let rows = contents(table.storage.id());
        for index in &table.indexes {
            let Some(storage) = index.storage else { continue };
            owned.insert(storage.table);
            let entries = contents(storage.id());
            let pointed: BTreeSet<&Vec<u8>> = entries.values().collect();
            let missing = rows.keys().any(|key| !pointed.contains(key));
            assert!(!missing && entries.len() == rows.len(), "{context}: index {} does not fit", index.name);
        }
    }
    let found: BTreeSet<u32> = tables.keys().copied().collect();
    assert_eq!(owned, found, "{context}: engine tables and definitions do not fit: {tables:?}");
}

#[test]
fn every_acknowledged_order_survives_a_power_cut_at_every_change() {
    const ROUNDS: u64 = 48;
    let base = prepared(7, SHOP);
    let disk = base.copy();
    let acknowledged = sell(&disk, ROUNDS);
    assert!(
        acknowledged.placed.len() as u64 > ROUNDS,
        "too many orders failed without a cause: {:?}",
        acknowledged.placed
    );
    audit(&reopen(&disk.power_cut_with(Survival::SyncedOnly), "no cut"), &acknowledged, "no cut");
    let mut cuts = 0;
    let mut counts = BTreeSet::new();
    for cut in 0..disk.changes() {
        let disk = base.copy();
        disk.cut_power_at(cut);
        let mut acknowledged = sell(&disk, ROUNDS);
        counts.insert(acknowledged.placed.len());
        let after = disk.power_cut_with(survival(cut));
        let context = format!("power cut at change {cut}, {:?}", survival(cut));
        let database = reopen(&after, &context);
        audit(&database, &acknowledged, &context);
        cuts += 1;
        if cut % 8 == 0 {
            // And the shop goes on, to the next power cut.
            let mut client = Client::new(&database);
            let id =
                place(&mut client, cut, |id| acknowledged.highest = acknowledged.highest.max(id)).expect("an order");
            client.session.wait_durable().expect("the disk is well");
            acknowledged.placed.insert(id);
            drop((client, database));
            let context = format!("{context}, and again");
            audit(&reopen(&after.power_cut_with(Survival::SyncedOnly), &context), &acknowledged, &context);
        }
    }
    assert!(cuts >= 200, "only {cuts} changes of the disk were cut");
    assert!(counts.len() as u64 > ROUNDS / 2, "the cuts hit few states: {counts:?}");
}

/// Definitions that come, change and go, with rows in between. Each line is one transaction.
const DEFINITIONS: &[&str] = &[
    "CREATE TABLE t (id serial PRIMARY KEY, v int, w text)",
    "INSERT INTO t (v, w) SELECT n, 'w' || n FROM generate_series(1, 7) AS n",
    "CREATE INDEX t_v ON t (v)",
    "CREATE UNIQUE INDEX t_w ON t (w)",
    "ALTER TABLE t ADD COLUMN x int NOT NULL DEFAULT 7",
    "UPDATE t SET v = v + 1, x = 8 WHERE id < 4",
    "CREATE TABLE c (t int REFERENCES t ON DELETE CASCADE, n int); INSERT INTO c SELECT id, 1 FROM t; CREATE INDEX ON c (t)",
    "DELETE FROM t WHERE id = 2",
    "ALTER TABLE t ALTER COLUMN v TYPE text",
    "ALTER TABLE t ADD CONSTRAINT x_small CHECK (x < 100)",
    "ALTER TABLE t DROP COLUMN w",
    "INSERT INTO t (v) VALUES ('new') RETURNING id",
    "CREATE TABLE d AS SELECT id, v, x FROM t",
    "ALTER TABLE d ADD PRIMARY KEY (id)",
    "TRUNCATE c",
    "ALTER TABLE d RENAME TO e",
    "CREATE VIEW s AS SELECT count(*) AS rows FROM e",
    "DROP INDEX t_v",
    "TRUNCATE t RESTART IDENTITY CASCADE",
    "INSERT INTO t (v) VALUES ('first'), ('second')",
    "DROP TABLE c; CREATE TABLE c (id int PRIMARY KEY, u int UNIQUE); INSERT INTO c VALUES (1, 1), (2, NULL)",
    "DROP VIEW s; DROP TABLE e",
    "ALTER TABLE t DROP CONSTRAINT t_pkey",
    "DROP TABLE t, c",
];

/// Everything that can be seen of definitions and rows.
fn state(database: &Arc<Database>) -> String {
    let mut client = Client::new(database);
    let tables = client.show("SELECT relname FROM pg_class WHERE relnamespace = 2200 AND relkind = 'r' ORDER BY 1");
    let mut seen = String::new();
    for question in [
        "SELECT relname, relkind FROM pg_class WHERE relnamespace = 2200 ORDER BY 1",
        "SELECT relname, attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute \
         JOIN pg_class ON pg_class.oid = attrelid \
         WHERE relnamespace = 2200 AND attnum > 0 AND NOT attisdropped ORDER BY 1, attnum",
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint ORDER BY 1",
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
    ] {
        seen += &format!("{}\n", client.show(question));
    }
    for table in tables.lines() {
        seen += &format!("{table}:\n{}\n", client.show(&format!("SELECT t::text FROM {table} AS t ORDER BY 1")));
    }
    seen
}

/// Runs the definitions until the power goes. Returns how many were acknowledged.
fn define(disk: &SimDisk, mut after_each: impl FnMut(&Arc<Database>)) -> usize {
    let Some(database) = try_open(disk) else { return 0 };
    let mut client = Client::new(&database);
    for (at, definition) in DEFINITIONS.iter().enumerate() {
        if client.try_run(definition).is_err() {
            return at;
        }
        after_each(&database);
    }
    DEFINITIONS.len()
}

#[test]
fn every_definition_is_the_old_or_the_new_one_after_a_power_cut_at_every_change() {
    let base = prepared(11, "SELECT 1");
    let disk = base.copy();
    let mut states = vec![state(&reopen(&base.copy(), "before"))];
    let done = define(&disk, |database| states.push(state(database)));
    assert_eq!(done, DEFINITIONS.len(), "{} failed without a cause", DEFINITIONS.get(done).unwrap_or(&""));
    for cut in 0..disk.changes() {
        let disk = base.copy();
        disk.cut_power_at(cut);
        let done = define(&disk, |_| {});
        let after = disk.power_cut_with(survival(cut));
        let context = format!("power cut at change {cut}, {:?}, after {done} definitions", survival(cut));
        let database = reopen(&after, &context);
        indexes_fit(&database, &context);
        let found = state(&database);
        let expected = &states[done..states.len().min(done + 2)];
        assert!(
            expected.contains(&found),
            "{context}: neither the old nor the new state:\n{found}\nbut\n{expected:#?}"
        );
        // Numbers of relations and versions are not given again: what comes next does not meet what was.
        Client::new(&database)
            .run("CREATE TABLE next (id serial PRIMARY KEY, u int UNIQUE); INSERT INTO next (u) VALUES (1)");
        indexes_fit(&database, &context);
    }
}

/// The power goes while a database is made.
#[test]
fn a_database_is_made_again_after_a_power_cut_at_every_change() {
    let make = |disk: &SimDisk| -> bool {
        let Some(database) = try_open(disk) else { return false };
        Client::new(&database).try_run("CREATE TABLE t (id serial PRIMARY KEY); INSERT INTO t DEFAULT VALUES").is_ok()
    };
    let disk = SimDisk::new(5, SimDiskOptions::default());
    assert!(make(&disk));
    for cut in 0..disk.changes() {
        let disk = SimDisk::new(5, SimDiskOptions::default());
        disk.cut_power_at(cut);
        let made = make(&disk);
        let context = format!("power cut at change {cut}, {:?}", survival(cut));
        let database = reopen(&disk.power_cut_with(survival(cut)), &context);
        indexes_fit(&database, &context);
        let mut client = Client::new(&database);
        let there = client.show("SELECT count(*) FROM pg_class WHERE relname = 't'") == "1";
        assert!(there || !made, "{context}: an acknowledged table is gone");
        if !there {
            client.run("CREATE TABLE t (id serial PRIMARY KEY); INSERT INTO t DEFAULT VALUES");
        }
        assert_eq!(client.show("SELECT count(*) FROM t"), "1", "{context}");
    }
}

/// Threads place orders while the power goes again and again, with checkpoints in between.
#[test]
fn concurrent_orders_survive_power_cuts() {
    const THREADS: u64 = 3;
    const CUTS: u64 = 40;
    let log = wal::LogOptions { segment_bytes: 32 << 10, ..Default::default() };
    let disk = SimDisk::new(13, SimDiskOptions::default());
    let running = store_on(Arc::new(disk.clone()), log.clone()).unwrap();
    let database = open(running.clone());
    Client::new(&database).run(SHOP);
    let (acknowledged, stop) = (Mutex::new(Acknowledged::default()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (database, acknowledged, stop) = (&database, &acknowledged, &stop);
            scope.spawn(move || {
                let mut client = Client::new(database);
                let mut n = thread;
                // Stock lasts for some hundreds of orders.
                while !stop.load(Ordering::Relaxed) && n < 600 {
                    let note = |id| {
                        let mut acknowledged = acknowledged.lock().unwrap();
                        acknowledged.highest = acknowledged.highest.max(id);
                    };
                    if let Some(id) = place(&mut client, n, note) {
                        client.session.wait_durable().expect("the disk is well");
                        acknowledged.lock().unwrap().placed.insert(id);
                    }
                    n += THREADS;
                }
            });
        }
        for cut in 0..CUTS {
            let before = acknowledged.lock().unwrap().clone();
            let after = disk.power_cut_with(survival(cut));
            let context = format!("cut {cut}, {:?}", survival(cut));
            let store = store_on(Arc::new(after), log.clone());
            audit(&open(store.unwrap_or_else(|error| panic!("{context}: {error}"))), &before, &context);
            if cut % 8 == 7 {
                running.checkpoint().unwrap_or_else(|error| panic!("{context}: {error}"));
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(acknowledged.placed.len() as u64 > CUTS, "hardly anything was ordered: {}", acknowledged.placed.len());
    audit(&database, &acknowledged, "in the end");
}
