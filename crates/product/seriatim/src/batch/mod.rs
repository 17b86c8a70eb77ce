//! Procedures that are put into an order before they run: the engine BOHM as a library.
//!
//! A program makes its tables and its *procedures* known, opens the database, and submits calls from as many threads as it has.
//! The engine puts what has come in into batches, fixes the order, and executes the bodies side by side: the result is that of
//! one after the other in that order. There are no conflicts, no retries and no deadlocks; a hot record costs as much as a cold
//! one; and a body runs to its end unless it fails by itself.
//!
//! ```
//! use seriatim::{Database, Error, arguments, batch, record};
//!
//! record! {
//!     #[derive(Clone, Debug)]
//!     pub struct Account {
//!         pub id: i64,
//!         pub owner: String,
//!         pub balance: i64,
//!     }
//!     table "accounts";
//!     key (id);
//!     index by_owner (owner);
//! }
//!
//! arguments! {
//!     pub struct Transfer {
//!         pub from: i64,
//!         pub to: i64,
//!         pub amount: i64,
//!     }
//! }
//!
//! # fn main() -> Result<(), Error> {
//! let mut builder = Database::builder().engine(batch::Bohm::default());
//! let accounts = builder.table::<Account>()?;
//! let open = builder
//!     .procedure("open an account", 1)
//!     .footprint(move |footprint, account: &Account| footprint.inserts(accounts, account))
//!     .body(move |txn, account: &Account| accounts.insert(txn, account))?;
//! let transfer = builder
//!     .procedure("transfer", 1)
//!     .footprint(move |footprint, it: &Transfer| {
//!         footprint.updates(accounts, it.from);
//!         footprint.updates(accounts, it.to);
//!     })
//!     .body(move |txn, it: &Transfer| {
//!         let from = accounts.update(txn, it.from, |account| account.balance -= it.amount)?;
//!         let to = accounts.update(txn, it.to, |account| account.balance += it.amount)?;
//!         match from.zip(to) {
//!             Some((from, _)) if from.balance >= 0 => Ok(from.balance),
//!             Some(_) => Err(Error::body("not enough money")), // nothing is written
//!             None => Err(Error::body("no such account")),
//!         }
//!     })?;
//! // No footprint: it is found by running the body on the state of the last batch.
//! let close_all = builder.procedure("close all accounts of an owner", 1).body(move |txn, owner: &String| {
//!     let ids = accounts.by(Account::by_owner()).equal(txn, owner).map(|it| Ok(it?.id)).collect::<Result<Vec<_>, Error>>()?;
//!     for id in &ids {
//!         accounts.delete(txn, *id)?;
//!     }
//!     Ok::<_, Error>(ids.len())
//! })?;
//! let db = builder.in_memory()?;
//!
//! for (id, owner) in [(1, "Ann"), (2, "Bob"), (3, "Bob")] {
//!     db.call(&open, Account { id, owner: owner.into(), balance: 100 })?;
//! }
//! let tickets = db.submit_all(&transfer, (0..3).map(|_| Transfer { from: 1, to: 2, amount: 40 }));
//! let outcomes: Vec<_> = tickets.into_iter().map(|ticket| ticket.wait().map_err(|error| error.to_string())).collect();
//! assert_eq!(outcomes, [Ok(60), Ok(20), Err("not enough money".into())]);
//! assert_eq!(db.call(&close_all, "Bob".to_owned())?, 2);
//! let left = db.read_strict(|snapshot| accounts.iter(snapshot).map(|it| Ok(it?.balance)).sum::<Result<i64, Error>>())?;
//! assert_eq!(left, 20);
//! # Ok(())
//! # }
//! ```
//!
//! # Where to look
//! - opening: [`Builder`], made by [`seriatim::Builder::engine`](crate::Builder::engine) of a [`Bohm`] with its knobs;
//! - procedures: [`Builder::procedure`], their [`Arguments`], their [`Footprint`], the [`Transaction`] of a body;
//! - calls: [`Database::submit`], [`Database::submit_all`], [`Database::try_submit`]; their [`Ticket`];
//! - on a disk: [`Builder::open`], [`Database::recovery`], [`Database::checkpoint`];
//! - reading: [`Database::read`] as of the last complete batch, [`Database::read_strict`] as of now, and with the feature `sql`
//!   `Database::read_sql` and `Database::sql_snapshot`, and for other processes, with the feature `listen`, `Database::listen`;
//! - the end: [`Database::close`].
//!
//! The page `docs/batch.md` says when to use it.
//!
//! # What is promised
//! Procedures are strictly serializable: a call that was submitted after another one's ticket was resolved stands behind it. Its
//! position in the order is [`Ticket::with_position`]. What is read as of the last complete batch is serializable, and not strict:
//! it may lack what was acknowledged a moment ago.
//!
//! On a disk a call is acknowledged, and what it did is seen, as durable as [`seriatim::Builder::durability`](crate::Builder::durability)
//! says. The log holds the calls and not their writes, so recovery executes them again: a procedure that is missing or has another
//! version is refused by name.
//!
//! # No open transactions
//! A transaction whose writes are not known has no place in the order. So there is no `begin`, no `run` and no `sql` here, and
//! the compiler says so:
//!
//! ```compile_fail,E0599
//! use seriatim::{Database, batch};
//! let db = Database::builder().engine(batch::Bohm::default()).in_memory().unwrap();
//! db.sql("UPDATE accounts SET balance = 0");
//! ```
//!
//! ```compile_fail,E0599
//! use seriatim::{Database, batch};
//! let db = Database::builder().engine(batch::Bohm::default()).in_memory().unwrap();
//! let transaction = db.begin();
//! ```
//!
//! # Invariants
//! - **L1** A call that was accepted is under way until its ticket is resolved; nothing is accepted after the database was closed.
//!   (`admission.rs`)
//! - **L2** A procedure in which a write failed halfway does not commit, so a record never lacks an entry of an index.
//!   (`transaction.rs`, `Transaction::change`)
//! - **L3** An engine table is named for its table, its key or its index with their columns; tables of another shape are refused
//!   before anything is made, unless they lack the last fields and nothing logged is to be executed without these.
//!   (`defined.rs`, `check_shapes`)
//! - **L4** A thread that runs a body or a callback waits neither for room nor for a batch. (`inside.rs`)
//! - **L5** The view for SQL writes nothing once its definitions are complete. (`sql.rs`, `View::begin`)
//! - **L6** A table is known before a logged call that uses it is executed again, and its engine table of rows is made last.
//!   (`builder.rs`, `recover`; `defined.rs`, `Defined::open`)
//!
//! `mutants` has a patch for each of L1, L2, L3, L5 and L6, and one for the entries of a declared record.

mod admission;
mod arguments;
mod builder;
mod bytes;
mod database;
mod defined;
mod footprint;
mod inside;
mod kept;
#[cfg(feature = "listen")]
mod listen;
mod procedure;
mod reconnaissance;
#[cfg(feature = "sql")]
mod sql;
mod table;
mod ticket;
mod transaction;
mod widen;

pub use arguments::Arguments;
pub use builder::{Bohm, Builder, NewProcedure};
pub use bytes::BytesTable;
pub use database::{Database, Stats};
pub use footprint::Footprint;
#[cfg(feature = "listen")]
pub use listen::Listening;
pub use model::{Decoder, Malformed};
pub use procedure::Procedure;
pub use table::{Keyed, Table, TableBy};
pub use ticket::Ticket;
pub use transaction::{Snapshot, Transaction};

pub use bohm::{Options, RecoveryReport};
