//! Reads of rows that another session has updated and not committed.

use crate::client::Client;
use crate::facts::{Facts, mixed};
use crate::spread::Spread;
use sql::SqlError;
use sql::database::Database;
use std::sync::Arc;

/// How to read behind an open UPDATE.
#[derive(Clone, Copy, Debug)]
pub struct BehindUpdate {
    /// Rows that the UPDATE holds.
    pub held: u32,
    /// Reads of one of them.
    pub reads: usize,
}

/// Reads behind an open UPDATE.
#[derive(Clone, Debug, Default)]
pub struct Behind {
    /// Times of reads of one row.
    pub one: Spread,
    /// Times of sums over all rows that are held.
    pub all: Spread,
    /// Errors of reads: waits that ended at the limit. Their times count.
    pub failed: usize,
    /// The SQLSTATE with which the UPDATE's COMMIT failed, if it did.
    pub commit_failed: Option<&'static str>,
}

/// How long a read may wait. Beyond this it has waited for the UPDATE.
const PATIENCE: &str = "SET statement_timeout = '1s'";

/// Errors of reads after which there are no more.
const MOST_FAILED: usize = 3;

/// Reads one row of those held for each sum over all of them.
const ONES: usize = 10;

/// A session holds an UPDATE of some rows open, another reads them: one by its key, and all of them. Reads see what was there before,
/// and after the COMMIT what it wrote.
///
/// # Errors
/// A statement fails that must not, or an answer is wrong.
pub fn behind_an_open_update(database: &Arc<Database>, facts: Facts, how: BehindUpdate) -> Result<Behind, String> {
    let message = |error: SqlError| error.message().to_owned();
    let held = how.held.clamp(1, facts.rows().max(1));
    let sum: i64 = (0..held).map(|id| facts.row(id).v).sum();
    let mut writer = Client::new(database).map_err(message)?;
    let mut reader = Client::new(database).map_err(message)?;
    reader.run(PATIENCE).map_err(message)?;
    reader.prepare("one", "SELECT v FROM facts WHERE id = $1").map_err(message)?;
    reader.prepare("all", "SELECT sum(v) FROM facts WHERE id < $1").map_err(message)?;
    writer.run("BEGIN").map_err(message)?;
    writer.run(&format!("UPDATE facts SET v = v + 1 WHERE id < {held}")).map_err(message)?;
    let mut behind = Behind::default();
    for read in 0..how.reads {
        let id = (mixed(read as u64) % u64::from(held)) as u32;
        let one = behind.one.time(|| reader.execute("one", id as i32));
        behind.check(one, facts.row(id).v)?;
        if read % ONES == 0 {
            let all = behind.all.time(|| reader.execute("all", held as i32));
            behind.check(all, sum)?;
        }
        if behind.failed >= MOST_FAILED {
            break;
        }
    }
    behind.commit_failed = writer.run("COMMIT").err().map(|error| error.code());
    let is_committed = behind.commit_failed.is_none();
    let after = reader.execute("all", held as i32);
    behind.check(after, sum + if is_committed { i64::from(held) } else { 0 })?;
    Ok(behind)
}

impl Behind {
    /// Counts an error, and checks an answer.
    fn check(&mut self, answer: Result<Vec<String>, SqlError>, expected: i64) -> Result<(), String> {
        match answer {
            Ok(rows) if rows == [expected.to_string()] => Ok(()),
            Ok(rows) => Err(format!("a read behind an open UPDATE has {rows:?} instead of {expected}")),
            Err(_) => {
                self.failed += 1;
                Ok(())
            }
        }
    }
}
