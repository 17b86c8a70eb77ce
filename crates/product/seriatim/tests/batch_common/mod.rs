//! A bank whose procedures the tests call.
#![allow(dead_code, reason = "each test uses a part")]

use seriatim::{Database, Error, arguments, batch, record};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};

record! {
    #[derive(Clone, Debug, PartialEq)]
    pub struct Account {
        pub id: i64,
        pub owner: String,
        pub reference: String,
        pub balance: i64,
        pub note: Option<String>,
    }
    table "accounts";
    key (id);
    index by_owner (owner);
    unique by_reference (reference);
}

record! {
    #[derive(Clone, Debug, PartialEq)]
    pub struct Counter {
        pub name: String,
        pub value: i64,
    }
    table "counters";
    key (name);
}

arguments! {
    #[derive(Clone, Debug)]
    pub struct Transfer {
        pub from: i64,
        pub to: i64,
        pub amount: i64,
    }
}

impl Transfer {
    /// A transfer that follows from these numbers.
    pub fn drawn(thread: i64, round: i64, at: i64) -> Transfer {
        let mut seed = (thread * 1_000_003 + round * 1009 + at) as u64;
        let mut draw = |below: i64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 33) % below as u64) as i64
        };
        Transfer { from: draw(Bank::ACCOUNTS), to: draw(Bank::ACCOUNTS), amount: draw(60) }
    }

    /// What the procedure does, done to a map.
    pub fn apply(&self, balances: &mut BTreeMap<i64, i64>) -> Result<i64, String> {
        let left = balances[&self.from] - self.amount;
        if left < 0 {
            return Err("not enough money".into());
        }
        balances.insert(self.from, left);
        *balances.get_mut(&self.to).unwrap() += self.amount;
        Ok(balances[&self.from])
    }
}

/// A gate that a body waits at.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<(bool, bool)>, Condvar)>);

impl Gate {
    /// Waits until the gate is open.
    pub fn pass(&self) {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        state.0 = true;
        changed.notify_all();
        drop(changed.wait_while(state, |(_, is_open)| !*is_open).unwrap());
    }

    /// Waits until somebody is at the gate.
    pub fn wait_until_reached(&self) {
        let (state, changed) = &*self.0;
        drop(changed.wait_while(state.lock().unwrap(), |(is_reached, _)| !*is_reached).unwrap());
    }

    /// Opens the gate for good.
    pub fn open(&self) {
        let (state, changed) = &*self.0;
        state.lock().unwrap().1 = true;
        changed.notify_all();
    }
}

/// Opens a gate: what waits there would keep a database that is dropped from its end.
pub struct OpenAtEnd(Gate);

impl Drop for OpenAtEnd {
    fn drop(&mut self) {
        self.0.open();
    }
}

pub struct Bank {
    /// Dropped before the database.
    pub at_end: OpenAtEnd,
    pub db: batch::Database,
    pub accounts: batch::Table<Account>,
    /// Inserts an account; declared.
    pub open: batch::Procedure<Account, ()>,
    /// Declared. Returns what is left.
    pub transfer: batch::Procedure<Transfer, i64>,
    /// Gives an account to another owner: an entry of an index moves. By reconnaissance.
    pub give: batch::Procedure<(i64, String), i64>,
    /// Counts the accounts of an owner by the index, and writes the count down. By reconnaissance.
    pub count: batch::Procedure<String, i64>,
    /// Takes 1 from each account of an owner. Declares what it finds when it looks.
    pub tax: batch::Procedure<String, i64>,
    /// Counts.
    pub next: batch::Procedure<(), i64>,
    /// Waits at the gate, and has whoever touches account 0 wait.
    pub hold: batch::Procedure<(), ()>,
}

/// What is known before the database is opened.
pub struct Plan {
    pub builder: batch::Builder,
    pub make: Box<dyn FnOnce(batch::Database) -> Bank>,
}

impl Bank {
    pub const ACCOUNTS: i64 = 10;
    pub const START: i64 = 100;

    pub fn first_owner(id: i64) -> String {
        format!("owner {}", id % 3)
    }

    pub fn account(id: i64) -> Account {
        let note = (id % 2 == 0).then(|| format!("note {id}"));
        Account { id, owner: Bank::first_owner(id), reference: format!("r{id}"), balance: Bank::START, note }
    }

    /// The tables and procedures of a bank.
    pub fn plan(builder: batch::Builder, gate: &Gate) -> Plan {
        let mut builder = builder;
        let accounts = builder.table::<Account>().unwrap();
        let counters = builder.table::<Counter>().unwrap();
        let open = builder
            .procedure("open", 1)
            .footprint(move |footprint, account: &Account| footprint.inserts(accounts, account))
            .body(move |txn, account: &Account| accounts.insert(txn, account))
            .unwrap();
        let transfer = builder
            .procedure("transfer", 1)
            .footprint(move |footprint, it: &Transfer| {
                footprint.updates(accounts, it.from);
                footprint.updates(accounts, it.to);
            })
            .body(move |txn, it: &Transfer| {
                let left = accounts.update(txn, it.from, |account| account.balance -= it.amount)?;
                accounts.update(txn, it.to, |account| account.balance += it.amount)?;
                match left {
                    Some(left) if left.balance >= 0 => {
                        Ok(accounts.get(txn, it.from)?.map_or(0, |account| account.balance))
                    }
                    _ => Err(Error::body("not enough money")),
                }
            })
            .unwrap();
        let give = builder
            .procedure("give", 1)
            .body(move |txn, (id, owner): &(i64, String)| {
                accounts.update(txn, *id, |account| account.owner.clone_from(owner))?;
                Ok::<_, Error>(*id)
            })
            .unwrap();
        let count = builder
            .procedure("count", 1)
            .body(move |txn, owner: &String| {
                let mut count = 0;
                for account in accounts.by(Account::by_owner()).equal(txn, owner) {
                    assert_eq!(account?.owner, *owner, "an entry leads to its record");
                    count += 1;
                }
                counters.put(txn, &Counter { name: owner.clone(), value: count })?;
                Ok::<_, Error>(count)
            })
            .unwrap();
        let tax = builder
            .procedure("tax", 1)
            .footprint(move |footprint, owner: &String| {
                let found: Vec<i64> =
                    accounts.by(Account::by_owner()).equal(footprint.look(), owner).flatten().map(|it| it.id).collect();
                footprint.reads_index(accounts.by(Account::by_owner()), owner.as_str()..=owner.as_str());
                found.into_iter().for_each(|id| footprint.updates(accounts, id));
            })
            .body(move |txn, owner: &String| {
                let owned = accounts.by(Account::by_owner()).equal(txn, owner);
                let ids = owned.map(|it| Ok(it?.id)).collect::<Result<Vec<_>, Error>>()?;
                for id in &ids {
                    accounts.update(txn, *id, |account| account.balance -= 1)?;
                }
                Ok::<_, Error>(ids.len() as i64)
            })
            .unwrap();
        let next = builder
            .procedure("next", 1)
            .footprint(move |footprint, (): &()| footprint.updates(counters, "next"))
            .body(move |txn, (): &()| {
                let value = counters.get(txn, "next")?.map_or(1, |counter| counter.value + 1);
                counters.put(txn, &Counter { name: "next".into(), value })?;
                Ok::<_, Error>(value)
            })
            .unwrap();
        let (at_end, gate) = (OpenAtEnd(gate.clone()), gate.clone());
        let hold = builder
            .procedure("hold", 1)
            .footprint(move |footprint, (): &()| footprint.updates(accounts, 0))
            .body(move |_, (): &()| {
                gate.pass();
                Ok::<_, Error>(())
            })
            .unwrap();
        let make = move |db| Bank { at_end, db, accounts, open, transfer, give, count, tax, next, hold };
        Plan { builder, make: Box::new(make) }
    }

    pub fn open(engine: batch::Bohm) -> Bank {
        Bank::open_with_gate(engine, &Gate::default())
    }

    /// A bank in memory, with its accounts.
    pub fn open_with_gate(engine: batch::Bohm, gate: &Gate) -> Bank {
        let Plan { builder, make } = Bank::plan(Database::builder().engine(engine), gate);
        let bank = make(builder.in_memory().unwrap());
        bank.fill();
        bank
    }

    pub fn fill(&self) {
        let opened = self.db.submit_all(&self.open, (0..Bank::ACCOUNTS).map(Bank::account));
        opened.into_iter().for_each(|ticket| ticket.wait().unwrap());
        self.db.settle().unwrap();
    }

    /// All balances, as of now.
    pub fn balances(&self) -> BTreeMap<i64, i64> {
        let read =
            |at: &batch::Snapshot<'_>| self.accounts.iter(at).map(|it| it.map(|it| (it.id, it.balance))).collect();
        self.db.read_strict(read).unwrap()
    }
}
