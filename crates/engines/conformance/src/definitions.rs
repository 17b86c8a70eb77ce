//! Tables that are created and dropped while transactions run.

use crate::fixture::{Knobs, Sessions, begin, ddl, with_registers};
use crate::registers::{all, get, insert, invalid, put, registers, state};
use model::{Finish, Interactive, Invalid, Mode, Storage};

/// A name is taken once; a table is found under its name until it is dropped, and then the name is free again.
pub fn a_table_is_created_once_and_dropped_once<F: Sessions>() {
    let (engine, table) = with_registers::<F>(&Knobs::impatient(), &[(1, 1)]);
    let again = ddl::<F>(&engine).create_table_unlisted(registers("registers", Storage::Hash));
    assert_eq!(invalid(again), Invalid::TableExists { table: "registers".into() });
    assert_eq!(invalid(ddl::<F>(&engine).drop_table("others")), Invalid::UnknownTable { table: "others".into() });
    let listed =
        || ddl::<F>(&engine).tables().iter().map(|(id, schema)| (*id, schema.name().to_owned())).collect::<Vec<_>>();
    assert_eq!(listed(), [(table, "registers".to_owned())]);
    ddl::<F>(&engine).drop_table("registers").expect("it is there");
    assert_eq!(listed(), []);
    assert_eq!(invalid(ddl::<F>(&engine).drop_table("registers")), Invalid::UnknownTable { table: "registers".into() });
    let mut open = begin::<F>(&engine, Mode::ReadWrite);
    let unknown = Invalid::UnknownTable { table: format!("number {}", table.0) };
    assert_eq!(invalid(get(&mut open, table, 1)), unknown);
    open.commit().expect("it lives on");
    let next =
        ddl::<F>(&engine).create_table_unlisted(registers("registers", Storage::Ordered)).expect("the name is free");
    assert_ne!(next, table, "a number is not given again");
    assert_eq!(state::<F>(&engine, next), []);
}

/// A table that is created unlisted is used at once by transactions that began before it.
pub fn an_older_transaction_uses_a_younger_table<F: Sessions>() {
    for mode in [Mode::ReadWrite, Mode::OwnAtStatement] {
        let (engine, before) = with_registers::<F>(&Knobs::impatient(), &[(1, 1)]);
        let mut old = begin::<F>(&engine, mode);
        assert_eq!(get(&mut old, before, 1).expect("nobody in the way"), Some(1));
        let younger =
            ddl::<F>(&engine).create_table_unlisted(registers("younger", Storage::Ordered)).expect("a new table");
        insert(&mut old, younger, 1, 2).expect("nobody in the way");
        put(&mut old, before, 1, 3).expect("nobody in the way");
        assert_eq!(all(&mut old, younger).expect("nobody in the way"), [(1, 2)]);
        old.commit().expect("nobody in the way");
        assert_eq!((state::<F>(&engine, before), state::<F>(&engine, younger)), (vec![(1, 3)], vec![(1, 2)]));
    }
}

/// A table is dropped under open writers: whatever becomes of them, their other writes are whole, and the engine lives on.
pub fn a_table_is_dropped_under_writers<F: Sessions>() {
    for mode in [Mode::ReadWrite, Mode::OwnAtStatement] {
        let (engine, kept) = with_registers::<F>(&Knobs::impatient(), &[(1, 1)]);
        let dropped =
            ddl::<F>(&engine).create_table_unlisted(registers("dropped", Storage::Ordered)).expect("a new table");
        let mut writer = begin::<F>(&engine, mode);
        put(&mut writer, dropped, 1, 2).expect("nobody in the way");
        put(&mut writer, kept, 1, 2).expect("nobody in the way");
        put(&mut writer, kept, 2, 2).expect("nobody in the way");
        ddl::<F>(&engine).drop_table("dropped").expect("it is there");
        let committed = writer.commit().is_ok();
        let rows = state::<F>(&engine, kept);
        assert_eq!(rows, if committed { vec![(1, 2), (2, 2)] } else { vec![(1, 1)] });
        F::collect(&engine);
        F::assert_idle(&engine, rows.len() as u64);
    }
}

/// A checkpoint changes nothing that is seen, before it, beside it and after it.
pub fn a_checkpoint_changes_nothing<F: Sessions>() {
    let (engine, table) = with_registers::<F>(&Knobs::impatient(), &[(1, 1), (2, 2)]);
    let mut open = begin::<F>(&engine, Mode::ReadWrite);
    put(&mut open, table, 3, 3).expect("nobody in the way");
    ddl::<F>(&engine).checkpoint().expect("nothing stands in the way");
    assert_eq!(all(&mut open, table).expect("nobody in the way"), [(1, 1), (2, 2), (3, 3)]);
    open.commit().expect("nobody in the way");
    ddl::<F>(&engine).checkpoint().expect("nothing stands in the way");
    assert_eq!(state::<F>(&engine, table), [(1, 1), (2, 2), (3, 3)]);
    engine.begin(model::Begin::default()).map(drop).expect("it works on");
}
