//! The books: compares what was acknowledged with the tables.

use super::copies::Copies;
use crate::processes::Failure;
use postgres::Client;
use serde::Serialize;

/// Totals acknowledged to all clients over all rounds.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Transfers that pgbench saw acknowledged.
    pub acknowledged: u64,
    /// Transfers that may have been committed without an acknowledgement, one a client and kill.
    pub in_doubt: u64,
    /// Acknowledgements to the COPY loop.
    pub copies: Copies,
}

/// The sums of pgbench's tables, taken in one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sums {
    /// Sums of the balances of accounts, tellers and branches.
    pub balances: [i64; 3],
    /// Sum of the changes in the history, rolled up ones included.
    pub history: i64,
    /// Number of those changes.
    pub transfers: i64,
}

const SUMS: &str = "
    SELECT (SELECT coalesce(sum(abalance), 0)::bigint FROM pgbench_accounts),
           (SELECT coalesce(sum(tbalance), 0)::bigint FROM pgbench_tellers),
           (SELECT coalesce(sum(bbalance), 0)::bigint FROM pgbench_branches),
           (SELECT coalesce(sum(delta), 0)::bigint FROM pgbench_history)
               + (SELECT coalesce(sum(delta), 0)::bigint FROM soak_rolled_up),
           (SELECT count(*) FROM pgbench_history) + (SELECT coalesce(sum(transfers), 0)::bigint FROM soak_rolled_up)";

/// The sums as of now.
///
/// # Errors
/// Errors of the statement.
pub fn sums(client: &mut Client) -> Result<Sums, postgres::Error> {
    let row = client.query_one(SUMS, &[])?;
    Ok(Sums { balances: [row.get(0), row.get(1), row.get(2)], history: row.get(3), transfers: row.get(4) })
}

impl Sums {
    /// Every transfer changes an account, a teller and a branch by the same amount, and leaves it in the history.
    ///
    /// # Errors
    /// They do not balance.
    pub fn check(&self) -> Result<(), Failure> {
        match self.balances.iter().all(|&balance| balance == self.history) {
            true => Ok(()),
            false => Err(format!("the books do not balance: {self:?}")),
        }
    }
}

impl Ledger {
    /// Compares the tables with what was acknowledged. Afterwards the outcome of transactions in doubt is known.
    ///
    /// # Errors
    /// Something acknowledged is missing, or a change is there that no client made, or one is there only in part.
    pub fn check(&mut self, client: &mut Client) -> Result<(), Failure> {
        let sums = sums(client).map_err(|error| format!("cannot audit: {error:?}"))?;
        sums.check()?;
        let (least, found) = (self.acknowledged, sums.transfers as u64);
        let most = least + self.in_doubt;
        if !(least..=most).contains(&found) {
            return Err(format!("{least} to {most} transfers were acknowledged, and {found} are there"));
        }
        (self.acknowledged, self.in_doubt) = (found, 0);
        self.copies.check(client)
    }
}
