//! On random programs the engine answers what the naive twin answers, statement by statement, and ends with its rows.

mod common;

use common::accounts;
use common::statements::{Statement, answer, statement};
use model::twin::Twin;
use model::{Begin, Finish, Interactive, Storage, TableId};
use proptest::prelude::*;
use seriatim_twopl::{Options, TwoPhaseLocking};

fn compare(storage: Storage, program: &[Statement]) -> Result<(), TestCaseError> {
    let engine = TwoPhaseLocking::new(Options::default());
    let mut twin = Twin::new();
    let schema = accounts("accounts", storage);
    let table = engine.create_table(schema.clone()).expect("a new table");
    assert_eq!(table, twin.create_table(schema));
    let mut transaction = common::begin(&engine);
    for statement in program {
        match statement {
            Statement::Commit => {
                transaction.commit().expect("nobody else is there");
                twin.commit();
                transaction = common::begin(&engine);
            }
            Statement::Abort => {
                transaction.abort();
                twin.abort();
                transaction = common::begin(&engine);
            }
            statement => {
                let ours = answer(&mut transaction, table, statement);
                prop_assert_eq!(ours, answer(&mut twin, table, statement), "{:?}", statement);
            }
        }
    }
    drop(transaction);
    twin.abort();
    agree_in_the_end(&engine, &mut twin, table)
}

/// The rows are the twin's, by every key; nothing is locked, and no record is left over.
fn agree_in_the_end(engine: &TwoPhaseLocking, twin: &mut Twin, table: TableId) -> Result<(), TestCaseError> {
    let mut last = engine.begin(Begin::default()).expect("room for one");
    for id in 0..8 {
        let read = Statement::Read(id, vec![0, 1, 2]);
        prop_assert_eq!(answer(&mut last, table, &read), answer(twin, table, &read));
    }
    drop(last);
    let rows = twin.rows(table).count() as u64;
    prop_assert_eq!(engine.stats().records, rows * 3, "a row and two entries each");
    prop_assert_eq!(engine.stats().open, 0);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn an_ordered_table_is_its_twin(program in proptest::collection::vec(statement(), 1..60)) {
        compare(Storage::Ordered, &program)?;
    }

    #[test]
    fn a_hash_table_is_its_twin(program in proptest::collection::vec(statement(), 1..60)) {
        compare(Storage::Hash, &program)?;
    }
}
