//! Savepoints: a rollback restores exactly the state at the savepoint.

use crate::anomalies::scripts;
use crate::fixture::{Knobs, Sessions, begin, with_registers};
use crate::registers::{all, delete, get, insert, invalid, put, state};
use crate::statements::SHAPES;
use crate::twin::{Direction, compare, replay, rollback_to, savepoint};
use model::{Finish, Invalid, Mode, Savepoint, Storage};

const MODES: [Mode; 2] = [Mode::ReadWrite, Mode::OwnAtStatement];

fn release(open: &mut impl Finish, savepoint: Savepoint) {
    open.savepoints().expect("the engine has savepoints").release(savepoint);
}

/// With savepoints in them, random programs answer as the twin does, which goes back by running again what came before.
pub fn random_rollbacks_answer_as_the_twin<F: Sessions>() {
    compare::<F>((Storage::Ordered, Mode::ReadWrite, Direction::Both));
}

/// The same where rows are owned at the statement.
pub fn random_rollbacks_of_owners_answer_as_the_twin<F: Sessions>() {
    compare::<F>((Storage::Ordered, Mode::OwnAtStatement, Direction::Both));
}

/// Concurrent transactions that go back replay on the twin at their serial points.
pub fn serial_points_with_rollbacks_replay_on_the_twin<F: Sessions>() {
    let knobs = Knobs { has_small_parts: true, ..Knobs::patient() };
    for shape in SHAPES {
        replay::<F>(shape, (Storage::Ordered, Direction::Both), 3, &knobs);
    }
}

/// A rollback restores rows, absent rows and deleted rows; the savepoint stays, later ones are gone.
pub fn a_rollback_restores_what_stood_at_the_savepoint<F: Sessions>() {
    for mode in MODES {
        let (engine, table) = with_registers::<F>(&Knobs::impatient(), &[(4, 40)]);
        let mut open = begin::<F>(&engine, mode);
        put(&mut open, table, 1, 1).expect("nobody in the way");
        let first = savepoint(&mut open).expect("nobody in the way");
        put(&mut open, table, 1, 2).expect("nobody in the way");
        put(&mut open, table, 2, 2).expect("nobody in the way");
        let second = savepoint(&mut open).expect("nobody in the way");
        assert!(delete(&mut open, table, 1).expect("nobody in the way"));
        assert!(delete(&mut open, table, 4).expect("nobody in the way"));
        rollback_to(&mut open, &second).expect("it is open");
        assert_eq!(all(&mut open, table).expect("nobody in the way"), [(1, 2), (2, 2), (4, 40)]);
        rollback_to(&mut open, &first).expect("it is open");
        assert_eq!(all(&mut open, table).expect("nobody in the way"), [(1, 1), (4, 40)]);
        rollback_to(&mut open, &first).expect("it stays open");
        assert_eq!(invalid(rollback_to(&mut open, &second)), Invalid::UnknownSavepoint, "a later one is gone");
        insert(&mut open, table, 2, 3).expect("the row is absent again");
        release(&mut open, first);
        open.commit().expect("nobody in the way");
        assert_eq!(state::<F>(&engine, table), [(1, 1), (2, 3), (4, 40)]);
    }
}

/// A released savepoint keeps what was written since, and an earlier one still goes back behind it.
pub fn a_released_savepoint_keeps_what_was_written<F: Sessions>() {
    for mode in MODES {
        let (engine, table) = with_registers::<F>(&Knobs::impatient(), &[]);
        let mut open = begin::<F>(&engine, mode);
        let outer = savepoint(&mut open).expect("nobody in the way");
        put(&mut open, table, 1, 1).expect("nobody in the way");
        let inner = savepoint(&mut open).expect("nobody in the way");
        put(&mut open, table, 1, 2).expect("nobody in the way");
        release(&mut open, inner);
        assert_eq!(invalid(rollback_to(&mut open, &inner)), Invalid::UnknownSavepoint, "released is gone");
        assert_eq!(get(&mut open, table, 1).expect("nobody in the way"), Some(2));
        rollback_to(&mut open, &outer).expect("it is open");
        assert_eq!(get(&mut open, table, 1).expect("nobody in the way"), None);
        put(&mut open, table, 1, 3).expect("nobody in the way");
        release(&mut open, outer);
        open.commit().expect("nobody in the way");
        assert_eq!(state::<F>(&engine, table), [(1, 3)]);
    }
}

/// An abort after rollbacks restores what stood before the transaction.
pub fn an_abort_after_rollbacks_restores_the_beginning<F: Sessions>() {
    for mode in MODES {
        let (engine, table) = with_registers::<F>(&Knobs::impatient(), &[(1, 10)]);
        let mut open = begin::<F>(&engine, mode);
        put(&mut open, table, 1, 1).expect("nobody in the way");
        let place = savepoint(&mut open).expect("nobody in the way");
        put(&mut open, table, 1, 2).expect("nobody in the way");
        put(&mut open, table, 1, 3).expect("nobody in the way");
        rollback_to(&mut open, &place).expect("it is open");
        put(&mut open, table, 1, 4).expect("nobody in the way");
        open.abort();
        assert_eq!(state::<F>(&engine, table), [(1, 10)]);
    }
}

/// A savepoint of another transaction is unknown, and both live on.
pub fn a_savepoint_belongs_to_its_transaction<F: Sessions>() {
    let (engine, table) = with_registers::<F>(&Knobs::impatient(), &[]);
    let (mut one, mut two) = (begin::<F>(&engine, Mode::ReadWrite), begin::<F>(&engine, Mode::ReadWrite));
    let place = savepoint(&mut one).expect("nobody in the way");
    put(&mut two, table, 1, 1).expect("nobody in the way");
    assert_eq!(invalid(rollback_to(&mut two, &place)), Invalid::UnknownSavepoint);
    two.commit().expect("it lives on");
    one.commit().expect("it lives on");
    assert_eq!(state::<F>(&engine, table), [(1, 1)]);
}

scripts! {
    savepoint_rollback "A rollback takes back writes; reads stay read, and owned rows owned."
    savepoint_rolled_back_past "A savepoint behind one that was rolled back to is gone."
}
