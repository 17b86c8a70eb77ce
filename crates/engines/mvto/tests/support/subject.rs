//! The engine's fixture for the battery.

use conformance::{Durable, Fixture, Knobs, Procedures, Programs, Sessions, Waits};
use env::{SimDisk, SystemClock};
use model::{AsReexecutable, Mode, Result, Schema, TableId};
use seriatim_mvto::{Mvto, Options};
use std::sync::Arc;

/// The engine in memory, on the machine's own clock.
pub struct Subject;

impl Fixture for Subject {
    type Engine = Mvto;

    fn open(knobs: &Knobs) -> Arc<Mvto> {
        let options = super::options_for(knobs);
        Arc::new(Mvto::in_memory(options).expect("nothing can fail in memory"))
    }

    fn create_table(engine: &Mvto, schema: Schema) -> Result<TableId> {
        engine.create_table(schema)
    }

    fn collect(engine: &Mvto) -> u64 {
        engine.collect() as u64
    }

    fn assert_idle(engine: &Mvto, _: u64) {
        let stats = engine.stats();
        assert_eq!((stats.active, stats.asleep, stats.waiting_versions), (0, 0, 0), "open, asleep, uncollected");
    }
}

impl Sessions for Subject {
    const READERS_COMMIT: bool = true;
    const RECORDINGS: Option<&'static str> = Some(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts"));
    const NAMED_BY_SERIAL_POINT: bool = true;

    /// Some transactions were pushed and moved, if they own at the statement.
    fn was_exercised(engine: &Mvto, modes: &[Mode]) -> bool {
        engine.stats().moved > 0 || !modes.contains(&Mode::OwnAtStatement)
    }
}

impl Waits for Subject {
    fn asleep(engine: &Mvto) -> usize {
        engine.stats().asleep
    }
}

impl Durable for Subject {
    fn reopen(disk: &SimDisk) -> Result<Arc<Mvto>> {
        let log = wal::LogOptions {
            segment_bytes: 2048,
            part_bytes: 64,
            buffer_bytes: 1024,
            driver: wal::Driver::Caller,
            ..Default::default()
        };
        let options = Options { log, sites: 1, ..super::impatient() };
        Mvto::open_with(Arc::new(disk.clone()), options, SystemClock::best()).map(Arc::new)
    }

    fn table(engine: &Mvto, name: &str) -> Option<TableId> {
        engine.table(name).map(|(table, _)| table)
    }
}

impl Programs for Subject {
    type Door = AsReexecutable<Mvto>;

    fn programs(engine: &Arc<Mvto>) -> Arc<AsReexecutable<Mvto>> {
        Arc::new(AsReexecutable(engine.clone()))
    }
}

impl Procedures for Subject {
    type Door = Mvto;

    fn procedures(engine: &Arc<Mvto>) -> Arc<Mvto> {
        engine.clone()
    }
}
