//! `seriatim::batch`: procedures in an order that is fixed before they run.

mod batch_common;

use batch_common::{Account, Bank, Gate, Transfer};
use seriatim::{AbortClass, Database, Error, Fault, Invalid, LimitKind, SerialPoint, batch};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

/// Outcome of a call, as a model repeats it.
type Outcome = Result<i64, String>;

#[test]
fn a_call_returns_its_result_and_its_position() {
    let bank = Bank::open(batch::Bohm::default());
    let (left, first) =
        bank.db.submit(&bank.transfer, Transfer { from: 0, to: 1, amount: 30 }).with_position().wait().unwrap();
    let (more, second) =
        bank.db.submit(&bank.transfer, Transfer { from: 0, to: 1, amount: 30 }).with_position().wait().unwrap();
    assert_eq!((left, more), (70, 40));
    assert!(first < second, "a call that was submitted after another one's end stands behind it");
}

#[test]
fn an_error_of_the_body_leaves_nothing() {
    let bank = Bank::open(batch::Bohm::default());
    let error = bank.db.call(&bank.transfer, Transfer { from: 0, to: 1, amount: 1_000 }).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.sqlstate()), ("not enough money", "P0001"));
    assert_eq!(bank.balances(), BTreeMap::from_iter((0..Bank::ACCOUNTS).map(|id| (id, Bank::START))));
}

/// Bodies may have an error type of their own.
#[test]
fn an_error_may_be_of_a_type_of_its_own() {
    #[derive(Debug)]
    enum Refused {
        Odd(i64),
        Database(Error),
    }
    impl From<Error> for Refused {
        fn from(error: Error) -> Refused {
            Refused::Database(error)
        }
    }
    let mut builder = Database::builder().engine(batch::Bohm::default());
    let halve = builder
        .procedure("halve", 1)
        .body(|_, number: &i64| if number % 2 == 0 { Ok(number / 2) } else { Err(Refused::Odd(*number)) })
        .unwrap();
    let db = builder.in_memory().unwrap();
    assert!(matches!(db.call(&halve, 4), Ok(2)));
    assert!(matches!(db.call(&halve, 3), Err(Refused::Odd(3))));
    db.clone().close().unwrap();
    assert!(matches!(db.call(&halve, 4), Err(Refused::Database(Error::Fault(Fault::Closed)))));
}

/// Threads submit transfers, one by one and together. Repeated one after the other in the order of the positions they have the same
/// results, and leave the same balances.
#[test]
fn calls_of_many_threads_are_as_if_one_after_the_other() {
    let bank = Bank::open(batch::Bohm::default().planners(2).executors(2).batch(16));
    let history: Mutex<Vec<(SerialPoint, Transfer, Outcome)>> = Mutex::default();
    let failures: AtomicU64 = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..4 {
            let (bank, history, failures) = (&bank, &history, &failures);
            scope.spawn(move || {
                for round in 0..40 {
                    let calls: Vec<Transfer> = (0..8).map(|at| Transfer::drawn(thread, round, at)).collect();
                    let tickets = bank.db.submit_all(&bank.transfer, calls.clone());
                    for (call, ticket) in calls.into_iter().zip(tickets) {
                        match ticket.with_position().wait() {
                            Ok((left, position)) => history.lock().unwrap().push((position, call, Ok(left))),
                            Err(_) => _ = failures.fetch_add(1, Ordering::Relaxed),
                        }
                    }
                }
            });
        }
    });
    let mut history = history.into_inner().unwrap();
    history.sort_by_key(|(position, ..)| *position);
    assert!(history.windows(2).all(|pair| pair[0].0 < pair[1].0), "a position is given once");
    let mut balances = BTreeMap::from_iter((0..Bank::ACCOUNTS).map(|id| (id, Bank::START)));
    for (position, call, outcome) in &history {
        assert_eq!(call.apply(&mut balances), *outcome, "{call:?} at {position:?}");
    }
    assert_eq!(bank.balances(), balances);
    assert_eq!(balances.values().sum::<i64>(), Bank::ACCOUNTS * Bank::START);
    let committed = history.len() as u64;
    assert_eq!(committed + failures.into_inner(), 4 * 40 * 8, "every call has ended");
    assert!(committed > 0 && bank.db.stats().batches > 0 && bank.db.stats().missed == 0);
}

/// Members join and leave groups, and others count a group by its index and write the count down: footprints are found by
/// reconnaissance. With a
/// phantom, or an entry without its record, the repetition would count differently.
#[test]
fn ranges_of_indexes_have_no_phantoms() {
    let bank = Bank::open(batch::Bohm::default().planners(2).executors(2).batch(8));
    #[derive(Clone, Debug)]
    enum Call {
        Move(i64, String),
        Count(String),
    }
    let history: Mutex<Vec<(SerialPoint, Call, i64)>> = Mutex::default();
    thread::scope(|scope| {
        for thread in 0..3_i64 {
            let (bank, history) = (&bank, &history);
            scope.spawn(move || {
                for round in 0..60 {
                    let (id, owner) =
                        ((thread * 7 + round) % Bank::ACCOUNTS, format!("owner {}", (thread + round) % 3));
                    let (call, ticket) = if round % 3 == thread % 3 {
                        (Call::Count(owner.clone()), bank.db.submit(&bank.count, owner))
                    } else {
                        (Call::Move(id, owner.clone()), bank.db.submit(&bank.give, (id, owner)))
                    };
                    let (output, position) = ticket.with_position().wait().unwrap();
                    history.lock().unwrap().push((position, call, output));
                }
            });
        }
    });
    let mut history = history.into_inner().unwrap();
    history.sort_by_key(|(position, ..)| *position);
    let mut owners: BTreeMap<i64, String> = (0..Bank::ACCOUNTS).map(|id| (id, Bank::first_owner(id))).collect();
    for (position, call, output) in history {
        match call {
            Call::Move(id, owner) => {
                owners.insert(id, owner);
                assert_eq!(output, id);
            }
            Call::Count(owner) => {
                let count = owners.values().filter(|it| **it == owner).count() as i64;
                assert_eq!(output, count, "{owner} at {position:?}");
            }
        }
    }
    let stored: Result<BTreeMap<i64, String>, Error> = bank.db.read_strict(|at| {
        bank.accounts.by(Account::by_owner()).iter(at).map(|it| it.map(|it| (it.id, it.owner))).collect()
    });
    assert_eq!(stored.unwrap(), owners, "the index leads to every record, and to each once");
}

/// Reconnaissance runs before a call that is submitted earlier and changes what it reads: the footprint misses once.
#[test]
fn a_footprint_that_misses_is_found_again() {
    let gate = Gate::default();
    let bank = Bank::open_with_gate(batch::Bohm::default(), &gate);
    let held = bank.db.submit(&bank.hold, ());
    gate.wait_until_reached();
    let give = bank.db.submit(&bank.give, (0, "Zoe".into()));
    let count = bank.db.submit(&bank.tax, "Zoe".into());
    gate.open();
    held.wait().unwrap();
    assert_eq!((give.wait().unwrap(), count.wait().unwrap()), (0, 1));
    assert_eq!(bank.balances()[&0], Bank::START - 1);
    assert_eq!(bank.db.stats().missed, 1);
}

/// A guess that goes on missing ends at the limit on places.
#[test]
fn guesses_that_miss_end_at_a_limit() {
    let gate = Gate::default();
    let bank = Bank::open_with_gate(batch::Bohm::default().places(1), &gate);
    let held = bank.db.submit(&bank.hold, ());
    gate.wait_until_reached();
    let give = bank.db.submit(&bank.give, (0, "Zoe".into()));
    let count = bank.db.submit(&bank.tax, "Zoe".into());
    gate.open();
    held.wait().unwrap();
    give.wait().unwrap();
    let error = count.wait().unwrap_err();
    assert_eq!(
        error.conflict().map(|conflict| (conflict.rule(), conflict.class())),
        Some(("footprint-missed", AbortClass::Footprint))
    );
    assert_eq!(bank.balances()[&0], Bank::START);
}

#[test]
fn a_touch_that_was_not_declared_is_an_error() {
    let mut builder = Database::builder().engine(batch::Bohm::default());
    let accounts = builder.table::<Account>().unwrap();
    let peek = builder
        .procedure("peek", 1)
        .footprint(move |footprint, id: &i64| footprint.reads(accounts, *id))
        .body(move |txn, id: &i64| Ok::<_, Error>(accounts.get(txn, id + 1)?.is_some()))
        .unwrap();
    let write = builder
        .procedure("write", 1)
        .footprint(move |footprint, id: &i64| footprint.updates(accounts, *id))
        .body(move |txn, id: &i64| {
            // The entry of the index is not declared. That the body goes on does not help.
            let _ = accounts.put(txn, &Bank::account(*id));
            Ok::<_, Error>(())
        })
        .unwrap();
    let walk = builder
        .procedure("walk", 1)
        .footprint(move |footprint, (): &()| footprint.reads_range(accounts, 3..))
        .body(move |txn, (): &()| Ok::<_, Error>(accounts.range(txn, 2..).count()))
        .unwrap();
    let count = builder
        .procedure("count", 1)
        .footprint(move |footprint, (): &()| footprint.reads_range(accounts, 3..))
        .body(move |txn, (): &()| accounts.range(txn, 4..).try_fold(0, |count, it| it.map(|_| count + 1)))
        .unwrap();
    let db = builder.in_memory().unwrap();
    let undeclared = |error: Error| matches!(error, Error::Invalid(Invalid::Undeclared { .. }));
    assert!(undeclared(db.call(&peek, 1).unwrap_err()));
    assert!(undeclared(db.call(&write, 1).unwrap_err()), "L2: half of a statement does not commit");
    assert_eq!(db.call(&walk, ()).unwrap(), 1, "an iteration ends with its error");
    assert_eq!(db.call(&count, ()).unwrap(), 0);
    assert_eq!(db.read_strict(|at| Ok(accounts.iter(at).count())).unwrap(), 0);
}

#[test]
fn a_duplicate_leaves_the_procedure_alive() {
    let bank = Bank::open(batch::Bohm::default());
    let other = Account { reference: "r0".into(), ..Bank::account(77) };
    let refused = bank.db.call(&bank.open, other).unwrap_err();
    let Error::Duplicate(duplicate) = refused else { panic!("{refused}") };
    assert_eq!(
        (duplicate.table(), duplicate.index(), duplicate.key().as_str()),
        ("accounts", Some("by_reference"), "(reference='r0')")
    );
    let Err(Error::Duplicate(duplicate)) = bank.db.call(&bank.open, Bank::account(1)) else {
        panic!("the key is taken")
    };
    assert_eq!((duplicate.index(), duplicate.key().as_str()), (None, "(id=1)"));
    assert_eq!(bank.balances().len() as i64, Bank::ACCOUNTS);
}

#[test]
fn a_body_that_panics_ends_its_call_only() {
    let mut builder = Database::builder().engine(batch::Bohm::default());
    let accounts = builder.table::<Account>().unwrap();
    let put = move |footprint: &mut batch::Footprint<'_>, id: &i64| footprint.inserts(accounts, &Bank::account(*id));
    let write = builder
        .procedure("write and panic at 13", 1)
        .footprint(put)
        .body(move |txn, id: &i64| {
            accounts.put(txn, &Bank::account(*id))?;
            assert_ne!(*id, 13, "a panic of the test's own");
            Ok::<_, Error>(())
        })
        .unwrap();
    let undeclared = builder
        .procedure("panic in reconnaissance too", 1)
        .body(move |txn, id: &i64| -> Result<(), Error> {
            accounts.put(txn, &Bank::account(*id))?;
            panic!("a panic of the test's own")
        })
        .unwrap();
    let db = builder.in_memory().unwrap();
    let tickets = db.submit_all(&write, 10..16);
    let ended: Vec<Option<&str>> = tickets
        .into_iter()
        .map(|ticket| ticket.wait().err().map(|error| error.conflict().map_or("?", |conflict| conflict.rule())))
        .collect();
    assert_eq!(ended, [None, None, None, Some("panicked"), None, None]);
    assert_eq!(db.call(&undeclared, 99).unwrap_err().conflict().map(|it| it.rule()), Some("panicked"));
    let ids = db.read_strict(|at| accounts.iter(at).map(|it| it.map(|it| it.id)).collect::<Result<Vec<_>, _>>());
    assert_eq!(ids.unwrap(), [10, 11, 12, 14, 15]);
}

#[test]
fn who_finds_no_room_waits_or_is_refused() {
    let gate = Gate::default();
    let bank = Bank::open_with_gate(batch::Bohm::default().under_way(2), &gate);
    let held = bank.db.submit(&bank.hold, ());
    gate.wait_until_reached();
    let second = bank.db.submit(&bank.transfer, Transfer { from: 0, to: 1, amount: 1 });
    let call = || Transfer { from: 0, to: 1, amount: 2 };
    assert_eq!(bank.db.try_submit(&bank.transfer, call()).unwrap_err().limit(), Some(LimitKind::Queue));
    let limit = Duration::from_millis(1);
    let refused = bank.db.submit_within(&bank.transfer, call(), limit).unwrap_err();
    assert_eq!((refused.limit(), refused.sqlstate()), (Some(LimitKind::Queue), "53400"));
    assert_eq!(refused.to_string(), "limit on procedures under way exceeded: 3 requested, 2 allowed");
    assert_eq!(bank.db.stats().under_way, 2);
    // The caller's deadline ends its wait, and not the procedure.
    let second = second.wait_for(limit).expect_err("what it waits behind is held");
    thread::scope(|scope| {
        let waits = scope.spawn(|| bank.db.submit_all(&bank.transfer, (0..5).map(|_| call())));
        gate.open();
        let all = waits.join().unwrap().into_iter().map(batch::Ticket::wait).collect::<Result<Vec<_>, _>>();
        assert_eq!(all.unwrap(), [97, 95, 93, 91, 89]);
    });
    held.wait().unwrap();
    assert_eq!(second.wait_for(Duration::MAX / 4).expect("it has ended").unwrap(), 99);
}

/// Threads submit until they are refused. What was accepted before is executed, each once, and every ticket resolved.
#[test]
fn closing_loses_nothing_that_was_accepted() {
    let bank = Bank::open(batch::Bohm::default().executors(2).under_way(8));
    let counted = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..3 {
            let (bank, counted, sender) = (&bank, &counted, sender.clone());
            scope.spawn(move || {
                let mut tickets = Vec::new();
                let refused = loop {
                    match bank.db.submit_within(&bank.next, (), Duration::MAX / 4) {
                        Ok(ticket) => tickets.push(ticket),
                        Err(error) => break error,
                    }
                    if tickets.len() == 20 {
                        sender.send(()).unwrap();
                    }
                };
                assert!(matches!(refused, Error::Fault(Fault::Closed)), "{refused}");
                let numbers = tickets.into_iter().map(|ticket| ticket.wait().unwrap());
                counted.lock().unwrap().extend(numbers);
            });
        }
        receiver.recv().unwrap();
        bank.db.clone().close().unwrap();
        assert_eq!(bank.db.stats().under_way, 0, "all tickets are resolved");
    });
    let mut counted = counted.into_inner().unwrap();
    counted.sort_unstable();
    assert!(counted.iter().copied().eq(1..=counted.len() as i64), "each was executed once");
    let refused = bank.db.read(|_| Ok(())).unwrap_err();
    assert!(matches!(refused, Error::Fault(Fault::Closed)) && refused.sqlstate() == "57P03");
    assert!(matches!(bank.db.submit(&bank.next, ()).wait(), Err(Error::Fault(Fault::Closed))));
}

/// The last handle waits for what was accepted, also if nobody has kept a ticket.
#[test]
fn dropping_the_last_handle_waits() {
    let (sender, receiver) = mpsc::channel();
    let mut builder = Database::builder().engine(batch::Bohm::default());
    let tell = builder
        .procedure("tell", 1)
        .footprint(|_, _: &u64| {})
        .body(move |_, number: &u64| {
            sender.send(*number).unwrap();
            Ok::<_, Error>(())
        })
        .unwrap();
    let db = builder.in_memory().unwrap();
    drop(db.submit_all(&tell, 0..100));
    drop((db, tell));
    let mut told: Vec<u64> = receiver.iter().collect();
    told.sort_unstable();
    assert!(told.into_iter().eq(0..100), "each was executed once");
}

#[test]
fn a_callback_may_submit_and_drop_the_last_handle() {
    let gate = Gate::default();
    let bank = Bank::open_with_gate(batch::Bohm::default().under_way(1), &gate);
    let (sender, receiver) = mpsc::channel();
    let (db, next) = (bank.db.clone(), bank.next.clone());
    let told = sender.clone();
    bank.db.submit(&bank.hold, ()).on_done(move |done| {
        // The call that is told about is under way until this has returned.
        let full = db.submit(&next, ()).wait().map_err(|error| error.limit());
        let inside = (db.settle().is_err(), db.clone().close().is_err());
        told.send((done.is_ok(), full, inside)).unwrap();
        panic!("a panic of the test's own, which is the callback's affair");
    });
    let Bank { at_end, db, .. } = bank;
    drop(db);
    drop(at_end);
    drop(sender);
    assert_eq!(receiver.recv(), Ok((true, Err(Some(LimitKind::Queue)), (true, true))));
    assert!(receiver.recv().is_err(), "the last handle is dropped by the callback");
}

#[test]
fn a_ticket_is_a_future() {
    struct Count(AtomicU64);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let gate = Gate::default();
    let bank = Bank::open_with_gate(batch::Bohm::default(), &gate);
    let count = Arc::new(Count(AtomicU64::new(0)));
    let waker = Waker::from(count.clone());
    let mut context = Context::from_waker(&waker);
    let mut held = pin!(bank.db.submit(&bank.hold, ()));
    assert!(held.as_mut().poll(&mut context).is_pending());
    gate.open();
    bank.db.settle().unwrap();
    assert!(matches!(held.poll(&mut context), Poll::Ready(Ok(()))));
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
}

/// While a batch is under way, readers see the state before it, and wait for nothing.
#[test]
fn snapshots_read_as_of_the_last_complete_batch() {
    let gate = Gate::default();
    let bank = Bank::open_with_gate(batch::Bohm::default(), &gate);
    let held = bank.db.submit(&bank.hold, ());
    gate.wait_until_reached();
    let transfer = bank.db.submit(&bank.transfer, Transfer { from: 0, to: 1, amount: 5 });
    let balance = || bank.db.read(|at| Ok(bank.accounts.get(at, 0)?.map(|it| it.balance))).unwrap();
    assert_eq!(balance(), Some(Bank::START));
    gate.open();
    held.wait().unwrap();
    transfer.wait().unwrap();
    bank.db.settle().unwrap();
    assert_eq!(balance(), Some(Bank::START - 5));
    let strict = bank.db.read_strict(|at| {
        let prefix = bank.accounts.by(Account::by_reference()).get(at, "r1")?.map(|it| it.balance);
        Ok((
            prefix,
            bank.accounts.contains(at, 3)?,
            bank.accounts.range(at, 2..4).next_back().transpose()?.map(|it| it.id),
        ))
    });
    assert_eq!(strict.unwrap(), (Some(Bank::START + 5), true, Some(3)));
}

#[test]
fn a_read_only_procedure_has_a_place_and_writes_nothing() {
    let mut builder = Database::builder().engine(batch::Bohm::default());
    let accounts = builder.table::<Account>().unwrap();
    let write = builder
        .procedure("write", 1)
        .read_only()
        .body(move |txn, id: &i64| accounts.put(txn, &Bank::account(*id)))
        .unwrap();
    let db = builder.in_memory().unwrap();
    let refused = db.call(&write, 1).unwrap_err();
    assert!(matches!(refused, Error::Invalid(Invalid::ReadOnly)), "{refused}");
}

/// Time and random numbers are drawn when a call is submitted: every run of it has the same.
#[test]
fn draws_are_the_same_in_every_run() {
    let mut builder = Database::builder().engine(batch::Bohm::default());
    let runs: Arc<Mutex<Vec<_>>> = Arc::default();
    let seen = runs.clone();
    let draw = builder
        .procedure("draw", 1)
        .body(move |txn, (): &()| {
            let drawn = (txn.random(), txn.random(), txn.now());
            seen.lock().unwrap().push(drawn);
            Ok::<_, Error>(drawn)
        })
        .unwrap();
    let db = builder.in_memory().unwrap();
    let (first, second) = (db.call(&draw, ()).unwrap(), db.call(&draw, ()).unwrap());
    assert!(first.0 != first.1 && first.0 != second.0 && first.2.micros > 0);
    assert_eq!(*runs.lock().unwrap(), [first, first, second, second], "reconnaissance, and the run in its place");
}

#[test]
fn handles_belong_to_their_database() {
    let (one, other) = (Bank::open(batch::Bohm::default()), Bank::open(batch::Bohm::default()));
    assert!(matches!(other.db.call(&one.next, ()), Err(Error::OtherDatabase)));
    let foreign = other.db.read(|at| one.accounts.get(at, 1));
    assert!(matches!(foreign, Err(Error::OtherDatabase)));
    let mut builder = Database::builder().engine(batch::Bohm::default());
    let own = builder.table::<Account>().unwrap();
    assert!(matches!(builder.table::<Account>(), Err(Error::Invalid(Invalid::TableExists { .. }))));
    let accounts = one.accounts;
    let foreign = builder
        .procedure("foreign", 1)
        .footprint(move |footprint, (): &()| footprint.reads(accounts, 1))
        .body(move |txn, (): &()| own.get(txn, 1))
        .unwrap();
    let again = builder.procedure("foreign", 2).body(|_, (): &()| Ok::<_, Error>(()));
    assert_eq!(again.unwrap_err().to_string(), "a procedure foreign is registered already: give it another name");
    let db = builder.in_memory().unwrap();
    assert!(matches!(db.call(&foreign, ()), Err(Error::OtherDatabase)));
}

#[test]
fn options_that_the_engine_lacks_are_refused() {
    let refused = Database::builder().database("shop").engine(batch::Bohm::default()).in_memory().unwrap_err();
    assert!(matches!(refused, Error::Invalid(Invalid::Unsupported { .. })), "{refused}");
}

#[test]
fn limits_are_named() {
    let mut builder = Database::builder().max_row_bytes(64).max_key_bytes(16).engine(batch::Bohm::default());
    let accounts = builder.table::<Account>().unwrap();
    let put = builder.procedure("put", 1).body(move |txn, account: &Account| accounts.put(txn, account)).unwrap();
    let db = builder.in_memory().unwrap();
    let long = Account { owner: "x".repeat(100), ..Bank::account(1) };
    let refused = db.call(&put, long).unwrap_err();
    assert!(matches!(refused.limit(), Some(LimitKind::RowBytes | LimitKind::KeyBytes)), "{refused}");
    assert_eq!(db.read_strict(|at| Ok(accounts.iter(at).count())).unwrap(), 0);
}

/// At the limit on memory a call that may add records is refused before it has a place; deletes and reads go on, and make room: with a
/// declared footprint, and with one that is found.
#[test]
fn at_the_limit_on_memory_deletes_make_room() {
    let mut builder = Database::builder().memory(1 << 20).engine(batch::Bohm::default());
    let accounts = builder.table::<Account>().unwrap();
    let account = |id: i64| Account { id, owner: "x".repeat(500), reference: id.to_string(), balance: id, note: None };
    let open = builder
        .procedure("open", 1)
        .footprint(move |footprint, id: &i64| footprint.inserts(accounts, &account(*id)))
        .body(move |txn, id: &i64| accounts.insert(txn, &account(*id)))
        .unwrap();
    let close = builder
        .procedure("close", 1)
        .footprint(move |footprint, id: &i64| footprint.deletes(accounts, &account(*id)))
        .body(move |txn, id: &i64| accounts.delete(txn, *id))
        .unwrap();
    let find_and_close =
        builder.procedure("find and close", 1).body(move |txn, id: &i64| accounts.delete(txn, *id)).unwrap();
    let db = builder.in_memory().unwrap();
    let refused_at = |from: i64| {
        (from..100_000).find(|id| match db.call(&open, *id) {
            Ok(()) => false,
            Err(refused) => {
                assert_eq!((refused.limit(), refused.sqlstate()), (Some(LimitKind::Memory), "53200"));
                true
            }
        })
    };
    let records = refused_at(0).expect("there is a limit");
    assert!(records > 300, "{records}");
    assert!(db.stats().memory_limit_bytes == 1 << 20 && db.stats().memory_bytes > 1 << 19);
    for id in 0..records {
        assert!(db.call(if id % 2 == 0 { &close } else { &find_and_close }, id).unwrap());
    }
    assert_eq!(db.read_strict(|at| Ok(accounts.iter(at).count())).unwrap(), 0);
    assert!(refused_at(records).expect("there is a limit") > records + records / 2, "there was room again");
}
