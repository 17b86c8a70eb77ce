//! The clearing house: its tables and its procedures.

use seriatim::{Error, arguments, batch, record};

record! {
    /// An account that a bank keeps with the house.
    #[derive(Clone, Debug)]
    pub struct Account {
        pub id: i64,
        pub bank: String,
        pub balance: i64,
    }
    table "accounts";
    key (id);
    index by_bank (bank);
}

record! {
    /// A payment that was settled.
    #[derive(Clone, Debug)]
    pub struct Payment {
        pub id: i64,
        pub debtor: i64,
        pub creditor: i64,
        pub amount: i64,
    }
    table "payments";
    key (id);
}

arguments! {
    /// An order to pay.
    #[derive(Clone, Debug)]
    pub struct Order {
        pub id: i64,
        pub debtor: i64,
        pub creditor: i64,
        pub amount: i64,
    }
}

/// What every account begins with.
pub const COVER: i64 = 1_000;
/// Banks that keep accounts.
pub const BANKS: i64 = 8;

/// An open clearing house.
pub struct House {
    pub db: batch::Database,
    /// Opens an account.
    pub open: batch::Procedure<Account, ()>,
    /// Settles a payment, or refuses it for lack of cover. Returns what the debtor has left.
    pub pay: batch::Procedure<Order, i64>,
}

impl House {
    /// Makes tables and procedures known, and opens the database: in a directory, or in memory.
    pub fn open(mut builder: batch::Builder, directory: Option<&std::path::Path>) -> Result<House, Error> {
        let accounts = builder.table::<Account>()?;
        let payments = builder.table::<Payment>()?;
        let open = builder
            .procedure("open an account", 1)
            .footprint(move |footprint, account: &Account| footprint.inserts(accounts, account))
            .body(move |txn, account: &Account| accounts.insert(txn, account))?;
        let pay = builder
            .procedure("pay", 1)
            .footprint(move |footprint, order: &Order| {
                footprint.updates(accounts, order.debtor);
                footprint.updates(accounts, order.creditor);
                footprint.inserts(payments, &payment(order));
            })
            .body(move |txn, order: &Order| {
                let debtor = accounts.update(txn, order.debtor, |account| account.balance -= order.amount)?;
                let creditor = accounts.update(txn, order.creditor, |account| account.balance += order.amount)?;
                let Some((debtor, _)) = debtor.zip(creditor) else { return Err(Error::body("no such account")) };
                if debtor.balance < 0 {
                    return Err(Error::body("not enough cover"));
                }
                payments.insert(txn, &payment(order))?;
                Ok(debtor.balance)
            })?;
        let db = match directory {
            Some(directory) => builder.open(directory)?,
            None => builder.in_memory()?,
        };
        Ok(House { db, open, pay })
    }

    /// Opens so many accounts, unless they are there from an earlier run. Returns the number of the next payment.
    pub fn prepare(&self, accounts: i64) -> Result<i64, Error> {
        let of_bank = |id: i64| format!("bank {}", id % BANKS);
        let new = (0..accounts).map(|id| Account { id, bank: of_bank(id), balance: COVER });
        for ticket in self.db.submit_all(&self.open, new) {
            match ticket.wait() {
                Ok(()) | Err(Error::Duplicate(_)) => {}
                Err(error) => return Err(error),
            }
        }
        self.db.settle()?;
        let next = self.db.read_sql("SELECT coalesce(max(id) + 1, 0)::bigint FROM payments")?;
        next.rows[0].get(0)
    }
}

fn payment(order: &Order) -> Payment {
    Payment { id: order.id, debtor: order.debtor, creditor: order.creditor, amount: order.amount }
}
