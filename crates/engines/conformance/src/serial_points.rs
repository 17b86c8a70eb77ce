//! Serial points, in an engine that claims them: they rise with real time, and the judges look at them.

use crate::fixture::{Knobs, Sessions, begin, claim, with_registers};
use crate::histories::{SHORT, run};
use crate::judges::judge;
use crate::registers::get;
use crate::seeds;
use check::{Operation, Record, Status};
use model::{Access, Finish, Key, Mode, RowBuf};

/// Serial points rise with real time: a transaction that began after another had ended stands behind it.
pub fn serial_points_rise_with_real_time<F: Sessions>() {
    let (engine, table) = with_registers::<F>(&Knobs::impatient(), &[(1, 1)]);
    let mut last = None;
    for round in 0..30 {
        let mode = [Mode::ReadWrite, Mode::ReadOnly, Mode::OwnAtStatement][round % 3];
        let mut open = begin::<F>(&engine, mode);
        get(&mut open, table, 1).expect("nobody in the way");
        if mode != Mode::ReadOnly {
            open.put(table, &Key::from_u64(1), RowBuf::from_bytes(&[0; 8]).row()).expect("nobody in the way");
        }
        let point = claim::<F>(&open.commit().expect("nobody in the way"));
        assert!(last < point, "{point:?} after {last:?}");
        last = point;
    }
}

/// The judges notice two transactions that exchange their places in the serial order.
pub fn a_forged_serial_point_is_refused<F: Sessions>() {
    let mut records = run::<F>(&SHORT, seeds::fixed());
    let writes = |record: &Record| record.operations.iter().any(|it| matches!(it, Operation::Write { .. }));
    let mut writers: Vec<&mut Record> =
        records.iter_mut().filter(|record| record.status == Status::Committed && writes(record)).collect();
    let half = writers.len() / 2 - 1;
    let (first, last) = (writers[0].serial_point, writers[half].serial_point);
    (writers[0].serial_point, writers[half].serial_point) = (last, first);
    assert!(!judge(records).valid);
}
