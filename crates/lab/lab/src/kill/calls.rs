//! The procedure of the kill loop: it counts for its thread, leaves a row of its own, and mixes registers that all share. Most declare
//! their footprints; of those that do not, half guess when they are submitted, and half when their batch is sealed.

use model::{
    Access, Columns, Decoder, Error, Footprint, Invalid, Key, Malformed, Procedure, Program, Registry, Result, RowBuf,
    Schema, Storage, TableId, Touch,
};

/// Counters of threads, and shared registers.
pub const COUNTERS: TableId = TableId(0);
/// A row for each call.
pub const CALLS: TableId = TableId(1);
/// Registers that all share, and behind them those that are followed to.
const SHARED: u64 = 16;
const FIRST_SHARED: u64 = 1 << 20;

/// The tables, in the order of their numbers.
pub fn schemas() -> Vec<Schema> {
    let table = |name: &str| Schema::bytes(name).u64_key().storage(Storage::Ordered).build().expect("a good schema");
    vec![table("counters"), table("calls")]
}

/// The procedures.
pub fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.register::<Tick>().expect("a new name");
    registry
}

/// Call `number` of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// The thread.
    pub thread: u64,
    /// Its number.
    pub number: u64,
    /// Argument of what it writes.
    pub by: u64,
}

impl Tick {
    /// Returns whether it fails after it has written.
    pub fn fails(self) -> bool {
        self.number % 7 == 3
    }

    /// Returns whether a trial run finds which register it changes.
    fn follows(self) -> bool {
        self.number % 4 == 1
    }

    /// Returns whether it has that trial run when its batch is sealed, behind what such calls before it would write. The others that
    /// follow have it when they are submitted.
    fn is_late(self) -> bool {
        self.follows() && self.number % 8 == 1
    }

    /// Key of its row.
    pub fn key(self) -> u64 {
        self.thread << 40 | self.number
    }

    fn shared(self) -> u64 {
        FIRST_SHARED + self.by % SHARED
    }

    fn mixed(self, before: u64) -> u64 {
        before.wrapping_mul(31).wrapping_add(self.by)
    }

    fn followed(seen: u64) -> u64 {
        FIRST_SHARED + SHARED + seen % SHARED
    }
}

/// A number in a row; zero if there is none.
pub fn number<A: Access + ?Sized>(access: &mut A, table: TableId, key: u64) -> Result<u64> {
    let mut row = RowBuf::new();
    let found = access.read(table, &Key::from_u64(key), Columns::All, &mut row)?;
    Ok(if found { Key::to_u64(row.bytes()).unwrap_or_default() } else { 0 })
}

fn put<A: Access + ?Sized>(access: &mut A, table: TableId, key: u64, number: u64) -> Result<()> {
    access.put(table, &Key::from_u64(key), RowBuf::from_bytes(&number.to_be_bytes()).row())
}

fn foresee<A: Access + ?Sized>(access: &mut A, table: TableId, key: u64, number: u64) {
    access.foresee(table, &Key::from_u64(key), Some(RowBuf::from_bytes(&number.to_be_bytes()).row()));
}

impl Program for Tick {
    type Output = ();
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<()> {
        let count = number(access, COUNTERS, self.thread)?;
        put(access, COUNTERS, self.thread, count + 1)?;
        let seen = number(access, COUNTERS, self.shared())?;
        put(access, CALLS, self.key(), seen)?;
        let changed = if self.follows() { Tick::followed(seen) } else { self.shared() };
        let before = number(access, COUNTERS, changed)?;
        put(access, COUNTERS, changed, self.mixed(before))?;
        if self.fails() { Err(Invalid::ReadOnly.into()) } else { Ok(()) }
    }
}

impl Procedure for Tick {
    const NAME: &'static str = "tick";

    fn encode_arguments(&self, out: &mut Vec<u8>) {
        [self.thread, self.number, self.by].into_iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
    }

    fn decode_arguments(arguments: &[u8]) -> std::result::Result<Tick, Malformed> {
        let mut from = Decoder::new(arguments);
        let tick = Tick { thread: from.u64()?, number: from.u64()?, by: from.u64()? };
        from.end()?;
        Ok(tick)
    }

    fn guesses(&self) -> bool {
        self.is_late()
    }

    fn footprint<A: Access + ?Sized>(&self, access: &mut A) -> Result<Footprint> {
        let footprint = Footprint::default().touches(COUNTERS, Key::from_u64(self.thread), Touch::Update);
        let footprint = footprint.touches(CALLS, Key::from_u64(self.key()), Touch::Overwrite);
        let shared = Key::from_u64(self.shared());
        if !self.follows() {
            return Ok(footprint.touches(COUNTERS, shared, Touch::Update));
        }
        let seen = number(access, COUNTERS, self.shared())?;
        let followed = Tick::followed(seen);
        if self.is_late() && !self.fails() {
            let count = number(access, COUNTERS, self.thread)?;
            foresee(access, COUNTERS, self.thread, count + 1);
            foresee(access, CALLS, self.key(), seen);
            let before = number(access, COUNTERS, followed)?;
            foresee(access, COUNTERS, followed, self.mixed(before));
        }
        Ok(footprint.reads(COUNTERS, shared).touches(COUNTERS, Key::from_u64(followed), Touch::Update))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is killed has footprints of all three kinds, and some of each fail.
    #[test]
    fn footprints_are_declared_guessed_and_found_at_sealing() {
        let ticks = || (0..56).map(|number| Tick { thread: 0, number, by: 0 });
        let count = |is_it: fn(&Tick) -> bool| {
            (ticks().filter(is_it).count(), ticks().filter(|it| is_it(it) && it.fails()).count())
        };
        assert_eq!(count(|it| !it.follows()), (42, 6));
        assert_eq!(count(|it| it.follows() && !it.guesses()), (7, 1));
        assert_eq!(count(Procedure::guesses), (7, 1));
    }
}
