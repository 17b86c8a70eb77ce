//! SQL over the tables of procedures: reading, as of the last complete batch.

mod batch_common;

use batch_common::{Account, Bank, Gate, Transfer};
use seriatim::sql::Answer;
use seriatim::{Database, Error, Fault, batch, record};

record! {
    #[derive(Clone, Debug, PartialEq)]
    struct Entry {
        account: i64,
        number: i64,
        amount: f64,
        text: Option<String>,
        small: i32,
    }
    table "entries";
    key (account, number);
    index by_text (text, small);
}

#[track_caller]
fn rows(answer: &Answer) -> Vec<String> {
    let width = answer.columns.len();
    let shown = |row: &seriatim::sql::Row| {
        (0..width).map(|at| row.text(at).unwrap_or_else(|| "NULL".into())).collect::<Vec<_>>().join("|")
    };
    answer.rows.iter().map(shown).collect()
}

fn ledger() -> (batch::Database, batch::Table<Account>, batch::Table<Entry>) {
    let mut builder = Database::builder().engine(batch::Bohm::default().executors(2));
    let (accounts, entries) = (builder.table::<Account>().unwrap(), builder.table::<Entry>().unwrap());
    let open = builder.procedure("open", 1).body(move |txn, it: &Account| accounts.insert(txn, it)).unwrap();
    let enter = builder.procedure("enter", 1).body(move |txn, it: &Entry| entries.insert(txn, it)).unwrap();
    let remove = builder.procedure("remove", 1).body(move |txn, it: &(i64, i64)| entries.delete(txn, *it)).unwrap();
    let db = builder.in_memory().unwrap();
    let opened = db.submit_all(&open, (0..4).map(Bank::account));
    opened.into_iter().for_each(|it| it.wait().unwrap());
    let entry = |at: i64| Entry {
        account: at % 5,
        number: at,
        amount: at as f64 / 2.0,
        text: (at % 3 != 0).then(|| format!("text {}", at % 4)),
        small: at as i32,
    };
    db.submit_all(&enter, (0..200).map(entry)).into_iter().for_each(|it| it.wait().unwrap());
    assert!(
        db.submit_all(&remove, (0..200).step_by(7).map(|at| (at % 5, at))).into_iter().all(|it| it.wait().unwrap())
    );
    db.settle().unwrap();
    (db, accounts, entries)
}

/// Each row is what the typed table has, in the order of the keys and in that of the index.
#[test]
fn sql_reads_what_the_typed_tables_have() {
    let (db, _, entries) = ledger();
    let typed: Vec<Entry> = db.read(|at| entries.iter(at).collect()).unwrap();
    assert_eq!(typed.len(), 200 - 29);
    let shown = |it: &Entry| {
        format!("{}|{}|{}|{}|{}", it.account, it.number, it.amount, it.text.as_deref().unwrap_or("NULL"), it.small)
    };
    let all = db.read_sql("SELECT * FROM entries ORDER BY account, number").unwrap();
    assert_eq!(all.column_names().collect::<Vec<_>>(), ["account", "number", "amount", "text", "small"]);
    assert_eq!(rows(&all), typed.iter().map(shown).collect::<Vec<_>>());
    for text in ["text 1", "text 3", "none"] {
        let typed: Vec<Entry> =
            db.read(|at| entries.by(Entry::by_text()).prefix(at, (Some(text.to_owned()),)).collect()).unwrap();
        let read = db.read_sql(&format!("SELECT * FROM entries WHERE text = '{text}' ORDER BY small")).unwrap();
        assert_eq!(rows(&read), typed.iter().map(shown).collect::<Vec<_>>(), "{text}");
    }
}

#[test]
fn joins_and_aggregates_work() {
    let (db, accounts, entries) = ledger();
    let read = db
        .read_sql(
            "SELECT a.reference, count(*)::bigint, sum(e.amount) FROM accounts a JOIN entries e ON e.account = a.id \
             WHERE e.text IS NOT NULL GROUP BY a.reference HAVING count(*) > 1 ORDER BY 1",
        )
        .unwrap();
    let expected = db.read(|at| {
        let mut lines = Vec::new();
        for account in accounts.iter(at) {
            let account = account?;
            let of: Vec<Entry> = entries.prefix(at, (account.id,)).collect::<Result<_, _>>()?;
            let of: Vec<Entry> = of.into_iter().filter(|it| it.text.is_some()).collect();
            let sum: f64 = of.iter().map(|it| it.amount).sum();
            lines.push(format!("{}|{}|{sum}", account.reference, of.len()));
        }
        Ok(lines)
    });
    assert_eq!(rows(&read), expected.unwrap());
    let plan = db.read_sql("EXPLAIN SELECT * FROM accounts WHERE reference = 'r2'").unwrap();
    assert!(rows(&plan).join("\n").contains("accounts_by_reference"), "{:?}", rows(&plan));
    let catalog = db.read_sql("SELECT count(*)::bigint FROM pg_indexes WHERE tablename = 'accounts'").unwrap();
    assert_eq!(rows(&catalog), ["3"]);
}

#[test]
fn writes_end_with_25006() {
    let (db, ..) = ledger();
    let mut session = db.sql_snapshot().unwrap();
    session.run("SET default_transaction_read_only = off").unwrap();
    for text in [
        "INSERT INTO accounts VALUES (9, 'x', 'y', 0, NULL)",
        "UPDATE accounts SET balance = 0",
        "DELETE FROM entries",
        "SELECT * FROM accounts FOR UPDATE",
        "CREATE TABLE other (id bigint)",
        "DROP TABLE accounts",
        "TRUNCATE entries",
        "CREATE VIEW one AS SELECT 1",
        "CREATE SEQUENCE numbers",
        "ALTER TABLE accounts ADD COLUMN more text",
    ] {
        let refused = db.read_sql(text).unwrap_err();
        assert_eq!(refused.sqlstate(), "25006", "{text}: {refused}");
        // Nor does a session that says otherwise.
        let refused = session.run(text).unwrap_err();
        assert_eq!(refused.sqlstate(), "25006", "{text} in a session: {refused}");
        let refused = session.run(&format!("BEGIN READ WRITE; {text}")).unwrap_err();
        assert_eq!(refused.sqlstate(), "25006", "{text} in a block: {refused}");
        session.run("ROLLBACK").unwrap();
    }
    assert_eq!(rows(&db.read_sql("SELECT count(*)::bigint FROM accounts").unwrap()), ["4"]);
}

/// A block sees one batch; a statement outside of it the last one. Neither waits for what is under way.
#[test]
fn statements_are_as_of_the_last_complete_batch() {
    let gate = Gate::default();
    let bank = Bank::open_with_gate(batch::Bohm::default(), &gate);
    let text = "SELECT balance FROM accounts WHERE id = 0";
    let mut block = bank.db.sql_snapshot().unwrap();
    block.run("BEGIN").unwrap();
    assert_eq!(rows(&block.run(text).unwrap()[0]), ["100"]);
    let held = bank.db.submit(&bank.hold, ());
    gate.wait_until_reached();
    let transfer = bank.db.submit(&bank.transfer, Transfer { from: 0, to: 1, amount: 5 });
    assert_eq!(rows(&bank.db.read_sql(text).unwrap()), ["100"], "it does not wait");
    gate.open();
    held.wait().unwrap();
    transfer.wait().unwrap();
    bank.db.settle().unwrap();
    assert_eq!(rows(&block.run(text).unwrap()[0]), ["100"], "the block's batch");
    assert_eq!(rows(&bank.db.read_sql(text).unwrap()), ["95"]);
    block.run("COMMIT").unwrap();
    assert_eq!(rows(&block.run(text).unwrap()[0]), ["95"]);
    assert_eq!(
        rows(&block.query("SELECT sum(balance)::bigint FROM accounts WHERE id < $1", &[&2_i64]).unwrap()),
        ["200"]
    );
    bank.db.clone().close().unwrap();
    assert!(matches!(bank.db.read_sql(text), Err(Error::Fault(Fault::Closed))));
}
