//! Readers that always commit and read one moment; and settled readers, before which every transaction has ended.

use crate::anomalies::scripts;
use crate::fixture::{Knobs, Sessions, begin, with_registers};
use crate::registers::{abort, all, get, load, put, state};
use model::{AbortClass, Begin, Finish, Interactive, Mode};

/// A reader sees the state at its begin, whatever commits meanwhile and whatever is collected, and commits.
pub fn a_reader_sees_the_state_at_its_begin<F: Sessions>() {
    const { assert!(F::READERS_COMMIT) };
    for mode in [Mode::ReadOnly, Mode::Snapshot] {
        let (engine, table) = with_registers::<F>(&Knobs::impatient(), &[(1, 1), (2, 2)]);
        let mut reader = begin::<F>(&engine, mode);
        assert_eq!(get(&mut reader, table, 1).expect("nobody in the way"), Some(1));
        for value in 10..40 {
            load::<F>(&engine, table, &[(1, value), (2, value), (value, value)]);
            F::collect(&engine);
        }
        assert_eq!(all(&mut reader, table).expect("nobody in the way"), [(1, 1), (2, 2)]);
        reader.commit().expect("a read-only transaction always commits");
        assert_eq!(state::<F>(&engine, table).len(), 32);
    }
}

/// Readers of all ages each see their own moment.
pub fn readers_of_all_ages_see_their_own_moment<F: Sessions>() {
    let (engine, table) = with_registers::<F>(&Knobs { has_small_parts: true, ..Knobs::impatient() }, &[(1, 0)]);
    let mut readers = Vec::new();
    for value in 1..=20 {
        readers.push((begin::<F>(&engine, Mode::ReadOnly), value - 1));
        load::<F>(&engine, table, &[(1, value)]);
        F::collect(&engine);
    }
    // The oldest and the youngest in turn: each takes its version with it, and no other one.
    for turn in 0..readers.len() {
        let (mut reader, value) = readers.remove(if turn % 2 == 0 { 0 } else { readers.len() - 1 });
        assert_eq!(get(&mut reader, table, 1).expect("nobody in the way"), Some(value));
        reader.commit().expect("a read-only transaction always commits");
        F::collect(&engine);
    }
    assert_eq!(state::<F>(&engine, table), [(1, 20)]);
    F::collect(&engine);
    F::assert_idle(&engine, 1);
}

/// A settled reader waits for older writers, within its limit, and delays nobody.
pub fn a_settled_reader_waits_for_older_writers_and_delays_nobody<F: Sessions>() {
    let (engine, table) = with_registers::<F>(&Knobs::impatient(), &[(1, 1)]);
    let mut writer = begin::<F>(&engine, Mode::OwnAtStatement);
    put(&mut writer, table, 1, 2).expect("nobody in the way");
    let mut early = engine.begin_owned(Begin { mode: Mode::Snapshot, ..Begin::default() }).expect("room for two");
    let seen = get(&mut early, table, 1);
    if F::SNAPSHOTS_WAIT {
        assert_eq!(abort(seen).class, AbortClass::WaitLimit, "an older writer is open");
    } else {
        assert_eq!(seen.expect("it waits for nobody"), Some(1));
    }
    writer.commit().expect("nobody in the way");
    let mut settled = begin::<F>(&engine, Mode::Snapshot);
    assert_eq!(get(&mut settled, table, 1).expect("everything older has ended"), Some(2));
    let mut younger = begin::<F>(&engine, Mode::OwnAtStatement);
    put(&mut younger, table, 1, 3).expect("a settled reader delays nobody");
    assert_eq!(get(&mut settled, table, 1).expect("nobody delays it"), Some(2));
    younger.commit().expect("a settled reader delays nobody");
    assert_eq!(get(&mut settled, table, 1).expect("nobody delays it"), Some(2));
    settled.commit().expect("a read-only transaction always commits");
}

scripts! {
    snapshot "A settled reader begins when all older writers have ended, and delays nobody."
    read_only_transactions "Read-only transactions see the state at their begin and refuse to write."
}
