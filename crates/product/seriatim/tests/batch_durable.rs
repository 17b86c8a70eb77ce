//! Procedures on a disk: what was acknowledged is there again, by executing the logged calls once more.

mod batch_common;

use batch_common::{Account, Bank, Gate, Plan, Transfer};
use seriatim::{Database, Durability, Error, Fault, Invalid, batch, record};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use testing::Directory;

record! {
    struct Note {
        id: i64,
        text: String,
    }
    table "notes";
    key (id);
}

fn engine() -> batch::Bohm {
    batch::Bohm::default().executors(2).batch(32)
}

fn bank_in(path: &Path) -> Bank {
    let Plan { builder, make } = Bank::plan(Database::builder().engine(engine()), &Gate::default());
    make(builder.open(path).unwrap())
}

/// The directory as a crash would leave it at this moment: what was written so far, and no clean end.
fn copy_of(path: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn a_database_that_was_closed_goes_on() {
    let dir = Directory::new("batch-closed");
    let bank = bank_in(dir.path());
    assert!(bank.db.recovery().unwrap().created);
    bank.fill();
    let (_, first) =
        bank.db.submit(&bank.transfer, Transfer { from: 0, to: 1, amount: 30 }).with_position().wait().unwrap();
    bank.db.close().unwrap();

    let bank = bank_in(dir.path());
    assert!(bank.db.recovery().unwrap().clean);
    assert_eq!((bank.balances()[&0], bank.balances()[&1]), (Bank::START - 30, Bank::START + 30));
    let (left, second) =
        bank.db.submit(&bank.transfer, Transfer { from: 0, to: 1, amount: 30 }).with_position().wait().unwrap();
    assert_eq!(left, Bank::START - 60);
    assert!(first < second, "positions go on");
    drop(bank);
    let bank = bank_in(dir.path());
    assert!(bank.db.recovery().unwrap().clean, "the drop of the last handle closes, too");
    assert_eq!(bank.balances()[&0], Bank::START - 60);
}

/// Threads call procedures of all kinds: declared, found by reconnaissance, looked up. The directory as it is after the last
/// acknowledgement holds them all: balances, owners and the index are those that the calls have left.
#[test]
fn what_was_acknowledged_survives_a_crash() {
    let dir = Directory::new("batch-crash");
    let (live, crashed) = (dir.path().join("live"), dir.path().join("crashed"));
    let bank = bank_in(&live);
    bank.fill();
    let history: Mutex<Vec<_>> = Mutex::default();
    thread::scope(|scope| {
        for thread in 0..3 {
            let (bank, history) = (&bank, &history);
            scope.spawn(move || {
                for round in 0..30 {
                    let call = Transfer::drawn(thread, round, 0);
                    if let Ok((left, position)) = bank.db.submit(&bank.transfer, call.clone()).with_position().wait() {
                        history.lock().unwrap().push((position, call, left));
                    }
                    bank.db.call(&bank.give, (round % Bank::ACCOUNTS, format!("owner {}", round % 4))).unwrap();
                    bank.db.call(&bank.count, format!("owner {}", round % 4)).unwrap();
                    if round == 15 && thread == 0 {
                        assert!(bank.db.checkpoint().unwrap().rows > 0);
                    }
                }
            });
        }
    });
    let owners = |bank: &Bank| -> BTreeMap<i64, String> {
        let by_index = bank.db.read_strict(|at| {
            let all = bank.accounts.by(Account::by_owner()).iter(at);
            all.map(|it| it.map(|it| (it.id, it.owner))).collect::<Result<BTreeMap<_, _>, Error>>()
        });
        by_index.unwrap()
    };
    let (balances, owned) = (bank.balances(), owners(&bank));
    copy_of(&live, &crashed);

    let again = bank_in(&crashed);
    let report = again.db.recovery().unwrap();
    assert!(!report.clean && report.calls > 0 && report.checkpoint_rows > 0, "{report}");
    assert_eq!((again.balances(), owners(&again)), (balances.clone(), owned));
    let mut history = history.into_inner().unwrap();
    history.sort_by_key(|(position, ..)| *position);
    let mut model = BTreeMap::from_iter((0..Bank::ACCOUNTS).map(|id| (id, Bank::START)));
    for (position, call, left) in &history {
        assert_eq!(call.apply(&mut model), Ok(*left), "{call:?} at {position:?}");
    }
    assert_eq!(model, balances, "each acknowledged call once, in the order of the positions");
}

/// Nothing is changed by a program that cannot execute the log again.
#[test]
fn procedures_that_are_missing_or_changed_are_refused() {
    let dir = Directory::new("batch-procedures");
    let open = |procedures: &[(&str, u32)]| {
        let mut builder = Database::builder().engine(engine());
        let notes = builder.table::<Note>().unwrap();
        let mut handles = Vec::new();
        for (name, version) in procedures {
            let put = move |txn: &mut batch::Transaction<'_>, text: &String| {
                let id = notes.iter(txn).count() as i64;
                notes.put(txn, &Note { id, text: text.clone() })
            };
            handles.push(builder.procedure(*name, *version).body(put).unwrap());
        }
        builder.open(dir.path()).map(|db| (db, handles, notes))
    };
    let (db, handles, _) = open(&[("write", 1)]).unwrap();
    db.call(&handles[0], "one".to_owned()).unwrap();
    db.close().unwrap();
    for (procedures, message) in [
        (&[("other", 1)][..], "the log has calls of procedure write, version 1, and none is registered"),
        (&[("write", 2)], "the log has calls of procedure write, version 1, and version 2 is registered"),
    ] {
        let refused = open(procedures).unwrap_err();
        assert!(matches!(refused, Error::Invalid(Invalid::LoggedCall(_))), "{refused}");
        assert!(refused.to_string().contains(message), "{refused}");
    }
    let (db, _, notes) = open(&[("write", 1), ("other", 1)]).unwrap();
    assert_eq!(db.read(|at| Ok(notes.get(at, 0)?.map(|it| it.text))).unwrap().as_deref(), Some("one"));
    db.checkpoint().unwrap();
    db.close().unwrap();
    // Behind a checkpoint nothing is executed again.
    let (db, handles, notes) = open(&[("write", 2)]).unwrap();
    db.call(&handles[0], "two".to_owned()).unwrap();
    assert_eq!(db.read_strict(|at| Ok(notes.iter(at).count())).unwrap(), 2);
}

#[test]
fn a_table_keeps_its_shape() {
    mod wider {
        seriatim::record! {
            pub struct Note {
                pub id: i64,
                pub text: String,
                pub more: i64,
            }
            table "notes";
            key (id);
        }
    }
    mod indexed {
        seriatim::record! {
            pub struct Note {
                pub id: i64,
                pub text: String,
            }
            table "notes";
            key (id);
            index by_text (text);
        }
    }
    mod keyed {
        seriatim::record! {
            pub struct Note {
                pub id: i64,
                pub text: String,
            }
            table "notes";
            key (text);
        }
    }
    fn open<R: seriatim::Record>(dir: &Directory) -> Result<batch::Database, Error> {
        let mut builder = Database::builder().engine(engine());
        builder.table::<R>()?;
        builder.open(dir.path())
    }
    let dir = Directory::new("batch-shape");
    open::<Note>(&dir).unwrap().close().unwrap();
    for (refused, message) in [
        (open::<wider::Note>(&dir), "more bigint; a table"),
        (open::<indexed::Note>(&dir), "\"notes\" index by_text (text)"),
        (open::<keyed::Note>(&dir), "\"notes\" key (text)"),
    ] {
        let refused = refused.unwrap_err();
        let Error::Invalid(Invalid::Shape { table, what }) = &refused else { panic!("{refused}") };
        assert_eq!(table, "notes");
        assert!(what.contains(message), "{what}");
    }
    open::<Note>(&dir).unwrap();
}

/// A program may gain tables and procedures, and name its tables in another order.
#[test]
fn a_program_may_grow() {
    let dir = Directory::new("batch-grow");
    let bank = bank_in(dir.path());
    bank.fill();
    bank.db.close().unwrap();

    let mut builder = Database::builder().engine(engine());
    let notes = builder.table::<Note>().unwrap();
    let write = builder.procedure("write", 1).body(move |txn, note: &Note| notes.put(txn, note)).unwrap();
    let Plan { builder, make } = Bank::plan(builder, &Gate::default());
    let bank = make(builder.open(dir.path()).unwrap());
    bank.db.call(&write, Note { id: 1, text: "late".into() }).unwrap();
    bank.db.call(&bank.transfer, Transfer { from: 0, to: 1, amount: 1 }).unwrap();
    drop(bank);

    let Plan { mut builder, make } = Bank::plan(Database::builder().engine(engine()), &Gate::default());
    let notes = builder.table::<Note>().unwrap();
    builder.procedure("write", 1).body(move |txn, note: &Note| notes.put(txn, note)).unwrap();
    let bank = make(builder.open(dir.path()).unwrap());
    assert_eq!(bank.db.read(|at| Ok(notes.get(at, 1)?.map(|it| it.text))).unwrap().as_deref(), Some("late"));
    assert_eq!(bank.balances()[&0], Bank::START - 1);
    let read = bank.db.read_sql("SELECT text FROM notes").unwrap();
    assert_eq!(read.rows[0].get::<String>(0).unwrap(), "late");
}

#[test]
fn a_directory_has_one_owner() {
    let dir = Directory::new("batch-owner");
    let bank = bank_in(dir.path());
    let refused = Database::builder().engine(engine()).open(dir.path()).unwrap_err();
    assert!(matches!(refused, Error::Fault(Fault::Locked { .. })), "{refused}");
    drop(bank);
    let foreign = dir.path().join("foreign");
    fs::create_dir_all(&foreign).unwrap();
    fs::write(foreign.join("notes.txt"), "mine").unwrap();
    let refused = Database::builder().engine(engine()).open(&foreign).unwrap_err();
    assert!(matches!(refused, Error::Invalid(Invalid::Directory { .. })), "{refused}");
}

/// Time and random numbers are logged with the call: executed again it draws the same.
#[test]
fn draws_survive() {
    let dir = Directory::new("batch-draws");
    let open = || {
        let mut builder = Database::builder().durability(Durability::Async).engine(engine());
        let notes = builder.table::<Note>().unwrap();
        let draw = builder
            .procedure("draw", 1)
            .body(move |txn, id: &i64| {
                let text = format!("{} {}", txn.random(), txn.now());
                notes.put(txn, &Note { id: *id, text: text.clone() })?;
                Ok::<_, Error>(text)
            })
            .unwrap();
        (builder.open(dir.path()).unwrap(), draw, notes)
    };
    let (db, draw, _) = open();
    let drawn: Vec<String> = (0..5).map(|id| db.call(&draw, id).unwrap()).collect();
    db.close().unwrap();
    let (db, _, notes) = open();
    assert_eq!(db.recovery().unwrap().calls, 5);
    let stored = db.read(|at| notes.iter(at).map(|it| it.map(|it| it.text)).collect::<Result<Vec<_>, _>>());
    assert_eq!(stored.unwrap(), drawn);
}
