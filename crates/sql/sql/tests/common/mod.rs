//! Clients for tests: SQL in, texts out, as psql would show them.
#![allow(dead_code)]

use env::{Disk, SimClock, SimDisk};
use seriatim_sql::Field;
use seriatim_sql::database::{Database, Options};
use seriatim_sql::session::{Connect, Outcome, Session, Sink};
use seriatim_sql::store::{Engine, Store};
use seriatim_sql::types::{Datum, Styles, text};
use seriatim_sql::{Result, SqlError};
use std::sync::Arc;
use std::time::Duration;

/// A fresh engine in memory.
pub struct Subject {
    /// As transcripts are called.
    pub name: &'static str,
    /// The engine: what is opened on it twice sees the same tables.
    pub store: Arc<dyn Store>,
    /// Number of transactions asleep now.
    pub asleep: Box<dyn Fn() -> usize>,
}

/// One of each engine: tests that hold for every engine run on all of them.
pub fn engines() -> Vec<Subject> {
    testing::Engine::ALL.into_iter().map(subject).collect()
}

/// A fresh database on each engine.
pub fn databases() -> Vec<Arc<Database>> {
    engines().into_iter().map(|subject| open(subject.store)).collect()
}

/// A fresh engine in memory.
pub fn subject(engine: testing::Engine) -> Subject {
    let name = engine.name();
    match engine {
        // Multi-version timestamp ordering.
        testing::Engine::Mvto => {
            let engine = Arc::new(mvto::Mvto::in_memory(mvto::Options::default()).expect("an engine in memory"));
            Subject { name, store: Arc::new(Engine(engine.clone())), asleep: Box::new(move || engine.stats().asleep) }
        }
        // Two-phase locking.
        testing::Engine::Twopl => {
            let engine = Arc::new(twopl::TwoPhaseLocking::new(twopl::Options::default()));
            let store = Arc::new(Engine(engine.clone()));
            Subject { name, store, asleep: Box::new(move || engine.stats().asleep as usize) }
        }
        // Rows in place with undo entries, and precision locking.
        testing::Engine::Hyper => {
            let engine = Arc::new(hyper::Hyper::new(hyper::Options::default()));
            let store = Arc::new(Engine(engine.clone()));
            Subject { name, store, asleep: Box::new(move || engine.stats().asleep as usize) }
        }
    }
}

/// A fresh database on the engine that tests run on which name none: `ENGINE=mvto`, `twopl` or `hyper`.
pub fn database() -> Arc<Database> {
    open(store())
}

/// A fresh engine, the one that tests run on which name none.
pub fn store() -> Arc<dyn Store> {
    subject(testing::Engine::of_tests()).store
}

/// A fresh database as [`database`] gives, with `mvto` in the place of `twopl`: for tests whose readers and writers do not wait for each
/// other, and for plans that need estimates.
pub fn database_with_versions() -> Arc<Database> {
    open(subject(testing::Engine::of_tests_with_versions()).store)
}

/// The engine that tests run on which name none and need a disk, on this one.
///
/// # Errors
/// What opening it fails with.
pub fn store_on(disk: Arc<dyn Disk>, log: wal::LogOptions) -> model::Result<Arc<dyn Store>> {
    Ok(match testing::Engine::of_tests_with_versions() {
        testing::Engine::Hyper => {
            let options = hyper::Options { log, ..hyper::Options::default() };
            Arc::new(Engine(Arc::new(hyper::Hyper::open(disk, options)?)))
        }
        _ => {
            let options = mvto::Options { log, ..mvto::Options::default() };
            Arc::new(Engine(Arc::new(mvto::Mvto::open(disk, options)?)))
        }
    })
}

/// Same as [`store_on`], for a test of one thread, which can be repeated: nobody waits, and the log's work is done by whoever wants
/// something durable. Its segments are small, so that a short history fills many.
///
/// # Errors
/// Same as [`store_on`].
pub fn store_of_one_thread(disk: &SimDisk) -> model::Result<Arc<dyn Store>> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let log =
        wal::LogOptions { segment_bytes: 8192, buffer_bytes: 4096, driver: wal::Driver::Caller, ..Default::default() };
    Ok(match testing::Engine::of_tests_with_versions() {
        testing::Engine::Hyper => {
            let options = hyper::Options { log, wait_limit: Duration::ZERO, ..hyper::Options::default() };
            Arc::new(Engine(Arc::new(hyper::Hyper::open(disk, options)?)))
        }
        _ => {
            let options = mvto::Options { log, sites: 4, wait_limit: Duration::ZERO, ..mvto::Options::default() };
            Arc::new(Engine(Arc::new(mvto::Mvto::open_with(disk, options, SimClock::new(1_000, 7))?)))
        }
    })
}

/// A fresh database on multi-version timestamp ordering.
pub fn database_mvto() -> Arc<Database> {
    open(subject(testing::Engine::Mvto).store)
}

/// A fresh database on two-phase locking.
pub fn database_twopl() -> Arc<Database> {
    open(subject(testing::Engine::Twopl).store)
}

/// A fresh database on rows in place.
pub fn database_hyper() -> Arc<Database> {
    open(subject(testing::Engine::Hyper).store)
}

/// The SQL database in an engine. `VECTORS=force` runs a test with operators over batches wherever they can run.
pub fn open(store: Arc<dyn Store>) -> Arc<Database> {
    let vectors = std::env::var("VECTORS").into_iter();
    let settings = vectors.map(|value| ("enable_vectors".to_owned(), value)).collect();
    Database::open(store, Options { settings, ..Options::default() }).expect("a database")
}

/// A session that shows its answers.
pub struct Client {
    /// The session itself.
    pub session: Session,
}

/// What a text of statements was answered with.
#[derive(Debug, Default)]
pub struct Answer {
    /// The columns' names of the last statement with rows.
    pub columns: Vec<String>,
    /// Its rows; NULL is `<null>`.
    pub rows: Vec<Vec<String>>,
    /// The tags of all statements.
    pub tags: Vec<String>,
    /// Notices and warnings.
    pub notices: Vec<String>,
    fields: Vec<Field>,
    styles: Styles,
    marks: (usize, usize, usize),
}

impl Client {
    /// A session of its own.
    pub fn new(database: &Arc<Database>) -> Client {
        let how = Connect { user: "postgres".into(), database: "postgres".into(), ..Connect::default() };
        Client { session: database.connect(how).expect("a session") }
    }

    /// Runs statements.
    pub fn try_run(&mut self, sql: &str) -> Result<Answer> {
        let mut answer = Answer::default();
        let outcome = self.session.simple(sql, &mut answer);
        match self.session.once_durable(outcome)? {
            Outcome::Done => Ok(answer),
            other => panic!("{sql}: {other:?}"),
        }
    }

    /// Runs statements that must succeed.
    #[track_caller]
    pub fn run(&mut self, sql: &str) -> Answer {
        self.try_run(sql).unwrap_or_else(|error| panic!("{sql}\n  {error:?}"))
    }

    /// The rows of a statement that must succeed: columns separated by `|`, rows by newlines, as `psql -At` prints them.
    #[track_caller]
    pub fn show(&mut self, sql: &str) -> String {
        let rows = self.run(sql).rows;
        let lines: Vec<String> = rows.iter().map(|row| row.join("|").replace("<null>", "")).collect();
        lines.join("\n")
    }

    /// The error of a statement that must fail.
    #[track_caller]
    pub fn fails(&mut self, sql: &str) -> SqlError {
        match self.try_run(sql) {
            Ok(answer) => panic!("{sql}\n  succeeded: {:?} {:?}", answer.tags, answer.rows),
            Err(error) => error,
        }
    }
}

impl Sink for Answer {
    fn fields(&mut self, fields: &[Field]) -> Result<()> {
        self.columns = fields.iter().map(|field| field.name.clone()).collect();
        self.rows.clear();
        Ok(())
    }

    fn rows(&mut self, fields: &[Field], styles: &Styles) {
        self.fields = fields.to_vec();
        self.styles = styles.clone();
    }

    fn row(&mut self, row: &[Datum]) -> Result<()> {
        assert_eq!(row.len(), self.fields.len(), "a row has a value for each field");
        let show = |(datum, field): (&Datum, &Field)| {
            if datum.is_null() {
                return "<null>".to_owned();
            }
            let mut out = String::new();
            text::format(datum, field.data_type, &self.styles, &mut out);
            out
        };
        self.rows.push(row.iter().zip(&self.fields).map(show).collect());
        Ok(())
    }

    fn complete(&mut self, tag: &str) {
        self.tags.push(tag.to_owned());
    }

    fn empty(&mut self) {}

    fn notice(&mut self, severity: &'static str, notice: &SqlError) {
        self.notices.push(format!("{severity}: {}", notice.message()));
    }

    fn parameter(&mut self, _: &str, _: &str) {}

    fn restart(&mut self) -> bool {
        self.rows.truncate(self.marks.0);
        self.tags.truncate(self.marks.1);
        self.notices.truncate(self.marks.2);
        true
    }

    fn begin_statement(&mut self) {
        self.marks = (self.rows.len(), self.tags.len(), self.notices.len());
    }

    fn copy_out_start(&mut self, _: usize, _: bool) {
        self.rows.clear();
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<()> {
        self.rows.push(vec![String::from_utf8_lossy(data).into_owned()]);
        Ok(())
    }

    fn copy_done(&mut self) {}
}

/// SplitMix64: the same numbers for the same seed, everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}
