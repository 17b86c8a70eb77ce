//! Messages of errors for people, and their classification for programs.

use seriatim_model::{
    Abort, AbortClass, ColumnType, Duplicate, Error, Fault, Invalid, Key, Limit, LimitKind, Schema, Target, Timestamp,
};
use std::ops::Bound;
use std::sync::Arc;

fn details() -> Arc<Schema> {
    let table = Schema::table("order_details")
        .column("order_id", ColumnType::Int)
        .column("product", ColumnType::Text)
        .key(["order_id", "product"]);
    Arc::new(table.build().expect("a good schema"))
}

fn key(order: i64, product: &str) -> Key {
    Key::new().push_i64(order).push_text(product).clone()
}

fn abort(class: AbortClass, target: Target) -> Abort {
    Abort {
        class,
        rule: "later-reader",
        explanation: "a younger transaction has read it",
        table: Some(details()),
        target,
        transaction: Timestamp(7),
        other: Some(Timestamp(9)),
        met: None,
    }
}

#[test]
fn aborts_name_rule_table_key_and_the_other() {
    let open = Target::Range(Bound::Unbounded, Bound::Excluded(key(2, "b")));
    let closed = Target::Range(Bound::Included(key(1, "a")), Bound::Unbounded);
    for (target, text) in [
        (Target::None, ""),
        (Target::Key(key(10248, "tofu")), ", key (order_id=10248, product='tofu')"),
        (Target::Gap(key(1, "a")), ", the gap at key (order_id=1, product='a')"),
        (open, ", range the beginning to (order_id=2, product='b') (excluded)"),
        (closed, ", range (order_id=1, product='a') to the end"),
    ] {
        assert_eq!(
            abort(AbortClass::ReadWrite, target).to_string(),
            format!(
                "transaction T7 aborted (later-reader): a younger transaction has read it; table order_details{text}; \
                 other transaction T9; the transaction might succeed if retried"
            )
        );
    }
}

#[test]
fn aborts_say_no_more_than_they_know() {
    let mut bare = abort(AbortClass::Requested, Target::Key(key(1, "a")));
    (bare.table, bare.other) = (None, None);
    let text = "transaction T7 aborted (later-reader): a younger transaction has read it";
    assert_eq!(Error::from(bare).to_string(), text);
}

#[test]
fn duplicates_name_what_is_taken() {
    let duplicate = Error::from(Duplicate { table: details(), key: key(1, "tofu") });
    assert_eq!(duplicate.to_string(), "duplicate key (order_id=1, product='tofu') in table order_details");
    assert_eq!((duplicate.sqlstate(), duplicate.is_retryable(), duplicate.is_conflict()), ("23505", false, false));
}

#[test]
fn keys_print_as_their_tables_users_know_them() {
    let print = |schema: Schema, key: &[u8]| {
        let (table, key) = (Arc::new(schema), Key::from(key));
        let text = Duplicate { table, key }.to_string();
        text.trim_start_matches("duplicate key ").trim_end_matches(" in table t").to_owned()
    };
    let integers = || Schema::bytes("t").u64_key().build().unwrap();
    let bytes = || Schema::bytes("t").build().unwrap();
    let typed = || Schema::table("t").column("day", ColumnType::Date).key(["day"]).build().unwrap();
    assert_eq!(print(integers(), &0x6161_6161_6161_6161u64.to_be_bytes()), "7016996765293437281");
    assert_eq!(print(bytes(), b"aaaaaaaa"), "'aaaaaaaa'");
    assert_eq!(print(bytes(), &[0, 1]), "\\x0001");
    assert_eq!(print(typed(), Key::new().push_i64(0)), "(day=1970-01-01)");
    assert_eq!(print(typed(), b"x"), "'x'", "what is no key of the table is shown raw");
}

#[test]
fn classes_decide_on_a_retry() {
    use AbortClass::*;
    for (class, retryable, conflict, state) in [
        (ReadWrite, true, true, "40001"),
        (WriteWrite, true, true, "40001"),
        (Definition, true, true, "40001"),
        (Footprint, true, true, "40001"),
        (Priority, true, true, "40001"),
        (WaitLimit, true, true, "55P03"),
        (Interrupted, false, false, "57014"),
        (Age, false, false, "25P04"),
        (Requested, false, false, "40000"),
    ] {
        let error = Error::from(abort(class, Target::None));
        let reported = (error.is_retryable(), error.is_conflict(), error.sqlstate());
        assert_eq!(reported, (retryable, conflict, state), "{class}");
        assert_eq!(error.to_string().ends_with("might succeed if retried"), retryable);
        assert_eq!(error.abort().map(|abort| abort.class), Some(class));
    }
}

#[test]
fn limits_say_which_and_by_how_much() {
    let limit = |kind| Error::from(Limit { kind, limit: 4, actual: 5 });
    let words = [
        (LimitKind::KeyBytes, "bytes of a key", "54000"),
        (LimitKind::RowBytes, "bytes of a row", "54000"),
        (LimitKind::WriteSetRows, "rows written by one transaction", "54000"),
        (LimitKind::WriteSetBytes, "bytes written by one transaction", "54000"),
        (LimitKind::Transactions, "open transactions", "53400"),
        (LimitKind::Tables, "tables", "54000"),
        (LimitKind::Attempts, "attempts of one transaction", "40001"),
        (LimitKind::Batch, "procedures of one batch", "54000"),
        (LimitKind::Queue, "procedures under way", "53400"),
        (LimitKind::Waiters, "transactions that wait for one other", "53400"),
        (LimitKind::Locks, "keys locked by one transaction", "53400"),
        (LimitKind::ReadSet, "rows and gaps read by one transaction", "54000"),
    ];
    for (kind, what, state) in words {
        assert_eq!(limit(kind).to_string(), format!("limit on {what} exceeded: 5 requested, 4 allowed"));
        assert_eq!(
            (limit(kind).sqlstate(), limit(kind).is_retryable(), limit(kind).abort().is_none()),
            (state, false, true)
        );
    }
}

#[test]
fn mistakes_say_what_is_wrong() {
    let table = || "t".to_owned();
    for (invalid, text, state) in [
        (Invalid::UnknownTable { table: table() }, "table t does not exist", "42P01"),
        (Invalid::TableExists { table: table() }, "table t already exists", "42P07"),
        (Invalid::UnknownIndex { table: table(), index: "i".into() }, "table t has no index i", "42704"),
        (Invalid::Key { table: table() }, "the key does not fit table t", "22000"),
        (Invalid::Row { table: table(), what: "why".into() }, "the row does not fit table t: why", "22000"),
        (Invalid::Schema { table: table(), what: "why".into() }, "the schema of table t is invalid: why", "42P16"),
        (Invalid::ReadOnly, "cannot write in a read-only transaction", "25006"),
        (Invalid::Shape { table: table(), what: "why".into() }, "table t exists with another definition: why", "42P16"),
        (Invalid::Option { what: "why".into() }, "why", "22023"),
        (Invalid::Directory { path: "d".into(), what: "why".into() }, "d: why", "55000"),
        (Invalid::UnknownSavepoint, "the savepoint does not exist, or was released or rolled back", "3B001"),
        (Invalid::Unsupported { what: "backup" }, "not supported here: backup", "0A000"),
    ] {
        let error = Error::from(invalid);
        assert_eq!((error.to_string().as_str(), error.sqlstate()), (text, state));
    }
}

#[test]
fn faults_say_what_to_do() {
    let detail = || "no space left".to_owned();
    for (fault, part, state) in [
        (Fault::DiskFull { detail: detail() }, "nothing was changed", "53100"),
        (Fault::OutcomeUnknown { detail: detail() }, "whether the transaction committed is unknown", "08007"),
        (Fault::log_failed_at_commit(detail()), "the log failed: no space left; reopen the database", "08007"),
        (Fault::LogFailed { detail: detail() }, "accepts no more writes", "08007"),
        (Fault::Corruption { detail: detail() }, "data directory damaged", "XX001"),
        (Fault::NewerFormat { detail: detail() }, "data directory of a newer version: ", "0A000"),
        (Fault::Locked { detail: detail(), by_ending: false }, "data directory in use", "55006"),
        (Fault::Clock { detail: detail() }, "clock fault", "58000"),
        (Fault::Disk { detail: detail() }, "disk error", "58030"),
        (Fault::Left { detail: detail() }, "connect to another node", "57P03"),
    ] {
        let error = Error::from(fault);
        let text = error.to_string();
        assert!(text.contains(part) && text.contains("no space left"), "{text}");
        assert_eq!((error.sqlstate(), error.is_retryable(), error.is_conflict()), (state, false, false));
    }
    for (fault, text, state) in [
        (Fault::ReadOnly, "the database was opened read-only", "25006"),
        (Fault::Closed, "the database was closed", "57P03"),
        (Fault::CheckpointRunning, "another checkpoint is being written", "55006"),
    ] {
        let error = Error::from(fault);
        assert_eq!((error.to_string().as_str(), error.sqlstate(), error.is_retryable()), (text, state, false));
    }
}

#[test]
fn a_limit_on_memory_says_how_much_and_by_which_setting() {
    let message = Error::from(Limit { kind: LimitKind::Memory, limit: 10, actual: 11 }).to_string();
    assert!(message.contains("11 bytes of the 10 allowed") && message.contains("--memory"), "{message}");
}
