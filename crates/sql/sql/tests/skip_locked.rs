//! SKIP LOCKED: what others have is passed over, and nothing rests on it. The judges' test is in `histories.rs`.

mod common;

use common::{Client, database_hyper, database_mvto, database_twopl};
use seriatim_sql::database::Database;
use std::sync::Arc;
use std::thread;

const WORKERS: usize = 8;
const JOBS: usize = 120;

/// Three ways in which applications take the next job.
const SHAPES: [&str; 3] = [
    "SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED",
    "UPDATE jobs SET state = 'taken' WHERE id = (SELECT id FROM jobs WHERE state = 'new' ORDER BY priority DESC, id \
     LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id",
    "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE state = 'new' LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id",
];

/// A database on each engine that can pass over rows.
fn databases() -> [Arc<Database>; 2] {
    [database_mvto(), database_hyper()]
}

fn with_jobs(database: &Arc<Database>, jobs: usize) -> Client {
    let mut client = Client::new(database);
    client.run("CREATE TABLE jobs (id int PRIMARY KEY, state text, priority int); CREATE INDEX ON jobs (state, id)");
    client.run(&format!("INSERT INTO jobs SELECT n, 'new', n % 5 FROM generate_series(1, {jobs}) n"));
    client.run("CREATE TABLE done (job int, worker int)");
    client
}

/// Takes jobs until there are none left; gives how often a block failed.
fn work(database: &Arc<Database>, worker: usize, shape: &str) -> usize {
    let mut client = Client::new(database);
    let mut failures = 0;
    loop {
        let block = |client: &mut Client| {
            client.try_run("BEGIN")?;
            let taken = client.try_run(shape)?.rows;
            if let Some([job]) = taken.first().map(|row| &row[..]) {
                client.try_run(&format!("UPDATE jobs SET state = 'done' WHERE id = {job}"))?;
                client.try_run(&format!("INSERT INTO done VALUES ({job}, {worker})"))?;
            }
            client.try_run("COMMIT")?;
            Ok::<_, seriatim_sql::SqlError>(taken.is_empty())
        };
        match block(&mut client) {
            // Others may hold what is left, and may give it back.
            Ok(true) if client.show("SELECT count(*) FROM jobs WHERE state = 'new'") == "0" => return failures,
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.code(), "40001", "{error:?}");
                client.run("ROLLBACK");
                failures += 1;
            }
        }
    }
}

#[test]
fn eight_workers_do_each_job_once() {
    for (shape, database) in SHAPES.into_iter().flat_map(|shape| databases().map(|database| (shape, database))) {
        let mut client = with_jobs(&database, JOBS);
        let threads = (0..WORKERS).map(|worker| {
            let database = database.clone();
            thread::spawn(move || work(&database, worker, shape))
        });
        let failures: usize = threads.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(client.show("SELECT count(*), count(DISTINCT job) FROM done"), format!("{JOBS}|{JOBS}"), "{shape}");
        if shape == SHAPES[0] {
            assert_eq!(failures, 0, "nothing that a worker does rests on what others have");
        }
    }
}

/// Rows that others have are missing, and come back; own rows are never passed over.
#[test]
fn rows_of_open_transactions_are_passed_over() {
    databases().iter().for_each(open_rows_are_passed_over);
}

fn open_rows_are_passed_over(database: &Arc<Database>) {
    let (mut a, mut b) = (with_jobs(database, 5), Client::new(database));
    let take = "SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED";
    a.run("BEGIN");
    assert_eq!(a.show(take), "1\n2");
    a.run("UPDATE jobs SET state = 'done' WHERE id = 1; INSERT INTO jobs VALUES (0, 'new', 0)");
    assert_eq!(a.show(take), "0\n2", "its own");
    b.run("BEGIN; SELECT 1 FROM done");
    assert_eq!(b.show(take), "3\n4");
    assert_eq!(b.show("SELECT id FROM jobs WHERE id = 2 FOR UPDATE SKIP LOCKED"), "");
    a.run("ROLLBACK");
    assert_eq!(b.show(take), "1\n2");
    assert_eq!(b.show("SELECT id FROM jobs j JOIN done ON job = id FOR UPDATE OF j SKIP LOCKED"), "");
    b.run("COMMIT");
}

/// A block that has begun earlier finds what was committed since.
#[test]
fn jobs_that_came_later_are_found() {
    for database in databases() {
        let (mut a, mut b) = (with_jobs(&database, 1), Client::new(&database));
        b.run("BEGIN");
        assert_eq!(b.show("SELECT count(*) FROM done"), "0");
        a.run("UPDATE jobs SET state = 'done'; INSERT INTO jobs VALUES (2, 'new', 0)");
        assert_eq!(b.show("SELECT id FROM jobs WHERE state = 'new' FOR UPDATE SKIP LOCKED"), "2");
        b.run("COMMIT");
    }
}

/// What is read of other tables counts, and so does another look at the same table.
#[test]
fn only_the_rows_that_are_passed_over_do_not_count() {
    databases().iter().for_each(only_what_is_passed_over_does_not_count);
    let error = with_jobs(&database_twopl(), 1).fails("SELECT id FROM jobs FOR UPDATE SKIP LOCKED");
    assert_eq!(error.code(), "0A000", "two-phase locking has no reads that leave no lock");
}

fn only_what_is_passed_over_does_not_count(database: &Arc<Database>) {
    let (mut a, mut b) = (with_jobs(database, 3), Client::new(database));
    a.run("CREATE TABLE queues (id int PRIMARY KEY, active bool); INSERT INTO queues VALUES (1, true)");
    a.run("BEGIN");
    let from_active = "SELECT id FROM jobs WHERE (SELECT active FROM queues WHERE id = 1) ORDER BY id \
                       LIMIT 1 FOR UPDATE SKIP LOCKED";
    assert_eq!(a.show(from_active), "1");
    b.run("UPDATE queues SET active = false");
    assert_eq!(b.show("SELECT count(*) FROM jobs"), "3");
    // It is read by a later one, so it would have to stand behind the change of the queue.
    a.run("UPDATE jobs SET state = 'done' WHERE id = 1");
    assert_eq!(a.fails("COMMIT").code(), "40001");
    for query in [
        "SELECT id FROM jobs WHERE NOT EXISTS (SELECT FROM jobs o WHERE o.id < jobs.id) FOR UPDATE SKIP LOCKED",
        "SELECT j.id FROM jobs j JOIN jobs o USING (id) FOR UPDATE OF j SKIP LOCKED",
        "WITH o AS (SELECT id FROM jobs) SELECT j.id FROM jobs j, o FOR UPDATE OF j SKIP LOCKED",
        "SELECT j.id FROM jobs j JOIN jobs o USING (id) FOR UPDATE OF j SKIP LOCKED FOR UPDATE OF o",
    ] {
        assert_eq!(b.fails(query).code(), "0A000", "{query}");
    }
    assert_eq!(
        b.show("SELECT count(*) FROM (SELECT j.id FROM jobs j JOIN jobs o USING (id) FOR UPDATE SKIP LOCKED) s"),
        "3"
    );
}
