//! Reports by SQL, as of the last complete batch: each is of one state, however many payments are under way.

use crate::house::COVER;
use seriatim::{Error, batch, sql};

/// The positions of the banks, and what must be true of them.
#[derive(Clone, Debug)]
pub struct Report {
    /// Bank, accounts, balance, payments by its debtors.
    pub banks: Vec<(String, i64, i64, i64)>,
    pub settled: i64,
    /// Whether the money is all there, and each account has what it began with, less what it paid, plus what it got.
    pub adds_up: bool,
}

const BANKS: &str = "\
SELECT a.bank, count(*)::bigint, sum(a.balance)::bigint, coalesce(sum(p.payments), 0)::bigint \
FROM accounts a LEFT JOIN (SELECT debtor, count(*) AS payments FROM payments GROUP BY debtor) p ON p.debtor = a.id \
GROUP BY a.bank ORDER BY a.bank";

/// Accounts whose balance is not what the payments say.
const WRONG: &str = "\
SELECT count(*)::bigint FROM accounts a \
LEFT JOIN (SELECT debtor, sum(amount) AS total FROM payments GROUP BY debtor) paid ON paid.debtor = a.id \
LEFT JOIN (SELECT creditor, sum(amount) AS total FROM payments GROUP BY creditor) got ON got.creditor = a.id \
WHERE a.balance <> $1 - coalesce(paid.total, 0) + coalesce(got.total, 0)";

/// Reads a report: several statements in one block, as of the same batch.
pub fn read(db: &batch::Database) -> Result<Report, Error> {
    let mut session = db.sql_snapshot()?;
    session.run("BEGIN")?;
    let banks = session.query(BANKS, &[])?.rows.iter().map(bank).collect::<Result<Vec<_>, Error>>()?;
    let settled = session.query("SELECT count(*)::bigint FROM payments", &[])?.rows[0].get(0)?;
    let wrong: i64 = session.query(WRONG, &[&COVER])?.rows[0].get(0)?;
    session.run("COMMIT")?;
    let (accounts, total) = banks.iter().fold((0, 0), |(accounts, total), bank| (accounts + bank.1, total + bank.2));
    Ok(Report { banks, settled, adds_up: wrong == 0 && total == accounts * COVER })
}

fn bank(row: &sql::Row) -> Result<(String, i64, i64, i64), Error> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}
