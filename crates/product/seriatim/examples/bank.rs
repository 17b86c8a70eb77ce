//! Threads move money between accounts while an auditor adds it up: the sum never changes.
//!
//! `cargo run -p seriatim --example bank`

use seriatim::{Database, Error, record};
use std::sync::atomic::{AtomicBool, Ordering};

record! {
    #[derive(Clone, Debug)]
    struct Account {
        id: i64,
        balance: i64,
    }
    table "accounts";
    key (id);
}

const ACCOUNTS: i64 = 100;
const START: i64 = 1_000;
const TRANSFERS: i64 = 2_000;

fn main() -> Result<(), Error> {
    let db = Database::in_memory()?;
    let accounts = db.table::<Account>()?;
    db.run(|txn| (0..ACCOUNTS).try_for_each(|id| accounts.insert(txn, &Account { id, balance: START })))?;

    // Runs again by itself after a conflict; returns when it has committed.
    let transfer = |from: i64, to: i64, amount: i64| {
        db.run(|txn| {
            let Some(left) = accounts.update(txn, from, |account| account.balance -= amount)? else { return Ok(false) };
            if left.balance < 0 {
                return Err(Error::body("not enough money"));
            }
            accounts.update(txn, to, |account| account.balance += amount)?;
            Ok(true)
        })
    };
    let total =
        || db.read(|snapshot| accounts.iter(snapshot).map(|account| Ok(account?.balance)).sum::<Result<i64, _>>());

    let done = AtomicBool::new(false);
    let (moved, audits) = std::thread::scope(|scope| {
        let tellers: Vec<_> = (0..4)
            .map(|teller| {
                scope.spawn(move || {
                    (0..TRANSFERS)
                        .filter(|at| {
                            let (from, to) = ((at * 7 + teller) % ACCOUNTS, (at * 13 + teller * 31) % ACCOUNTS);
                            from != to && transfer(from, to, 1 + at % 50).is_ok()
                        })
                        .count()
                })
            })
            .collect();
        let auditor = scope.spawn(|| {
            let mut audits = 0;
            while !done.load(Ordering::Relaxed) {
                assert_eq!(total().expect("reads never abort"), ACCOUNTS * START);
                audits += 1;
            }
            audits
        });
        let moved: usize = tellers.into_iter().map(|teller| teller.join().expect("a teller")).sum();
        done.store(true, Ordering::Relaxed);
        (moved, auditor.join().expect("the auditor"))
    });

    let retries: u64 = db.stats().retries.iter().map(|(_, count)| count).sum();
    println!("{moved} transfers, {retries} retries, {audits} audits; the sum is {} as ever", total()?);
    Ok(())
}
