//! The loop of COPY: a batch of rows in one transaction, then the batch before is deleted.

use super::load::{Shared, is_conflict};
use crate::processes::Failure;
use postgres::Client;
use std::fmt::Write as _;
use std::io::Write as _;

/// Acknowledgements to the COPY loop. Batches are numbered from 1; each is deleted once the next is there.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    /// Rows of a batch.
    pub rows: u32,
    /// The last batch that was begun.
    begun: u64,
    /// The last batch that was acknowledged.
    acknowledged: u64,
    /// The last batch whose deletion was begun.
    deleting: u64,
    /// The last batch whose deletion was acknowledged.
    deleted: u64,
    /// Attempts that ended in a conflict.
    pub conflicts: u64,
}

/// The table.
pub const TABLE: &str =
    "CREATE TABLE soak_copies (batch bigint, number bigint, filler text, PRIMARY KEY (batch, number))";

impl Copies {
    /// Copies and deletes until the round ends.
    pub fn run(&mut self, shared: &Shared) {
        let Some(mut client) = shared.connect() else { return };
        while !shared.is_over() {
            self.begun += 1;
            self.deleting = self.acknowledged;
            let done = self.copy(&mut client).and_then(|()| self.delete(&mut client));
            match done {
                Ok(()) => {}
                Err(error) if is_conflict(&error) => {
                    self.conflicts += 1;
                    self.begun = self.acknowledged; // The batch was not copied, or only the deletion is missing.
                    self.deleting = self.deleted;
                }
                Err(error) => return shared.complain("COPY", &error),
            }
        }
    }

    /// Batches that were copied.
    pub fn count(&self) -> u64 {
        self.acknowledged
    }

    fn copy(&mut self, client: &mut Client) -> Result<(), postgres::Error> {
        let mut writer = client.copy_in("COPY soak_copies FROM STDIN")?;
        let mut line = String::new();
        for number in 1..=self.rows {
            line.clear();
            let _ = writeln!(line, "{}\t{number}\trow {number} of batch {}", self.begun, self.begun);
            // An error of the connection comes again at the end, as the server's.
            let _ = writer.write_all(line.as_bytes());
        }
        writer.finish()?;
        self.acknowledged = self.begun;
        Ok(())
    }

    fn delete(&mut self, client: &mut Client) -> Result<(), postgres::Error> {
        client.execute("DELETE FROM soak_copies WHERE batch <= $1", &[&(self.deleting as i64)])?;
        self.deleted = self.deleting;
        Ok(())
    }

    /// Compares the table with what was acknowledged.
    pub(super) fn check(&mut self, client: &mut Client) -> Result<(), Failure> {
        let rows = client
            .query("SELECT batch, count(*), sum(number)::bigint FROM soak_copies GROUP BY batch ORDER BY batch", &[])
            .map_err(|error| format!("cannot count the copied rows: {error:?}"))?;
        let (count, sum) = (i64::from(self.rows), i64::from(self.rows) * (i64::from(self.rows) + 1) / 2);
        let mut found = Vec::new();
        for row in rows {
            let (batch, numbers): (i64, (i64, i64)) = (row.get(0), (row.get(1), row.get(2)));
            if numbers != (count, sum) {
                return Err(format!(
                    "batch {batch} has {} rows with sum {}, not {count} with {sum}",
                    numbers.0, numbers.1
                ));
            }
            found.push(batch as u64);
        }
        for batch in self.deleting + 1..=self.acknowledged {
            if !found.contains(&batch) {
                return Err(format!("batch {batch} was acknowledged, and is gone: {found:?} are there"));
            }
        }
        if let Some(batch) = found.iter().find(|&&batch| batch <= self.deleted || batch > self.begun) {
            return Err(format!("batch {batch} was deleted or never copied, and is there"));
        }
        self.acknowledged = found.last().copied().unwrap_or(self.acknowledged).max(self.acknowledged);
        self.begun = self.acknowledged;
        Ok(())
    }
}
