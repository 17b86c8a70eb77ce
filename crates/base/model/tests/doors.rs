//! The doors' own parts, over a toy store: pending results, procedures by name, footprints, draws, attempts that stop.

use seriatim_model::twin::Twin;
use seriatim_model::{
    Access, AsDeclared, Begin, Columns, Committed, Declared, Decoder, Delta, Draws, Error, Footprint, FootprintEntry,
    Guarded, Invalid, Item, Key, Later, Malformed, NameTaken, Pending, Procedure, Program, Reexecutable, Registry,
    Result, Retry, RowBuf, RowRef, Scan, ScanEnd, Schema, TableId, Touch, UnknownCall, encode_call,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::ops::{Bound, ControlFlow};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

const T: TableId = TableId(0);

fn twin() -> Twin {
    let mut twin = Twin::new();
    twin.create_table(Schema::bytes("t").u64_key().build().expect("a schema"));
    twin
}

fn get(access: &mut (impl Access + ?Sized), key: u64) -> Result<Option<u64>> {
    let mut row = RowBuf::new();
    let found = access.read(T, &Key::from_u64(key), Columns::All, &mut row)?;
    Ok(found.then(|| u64::from_le_bytes(row.bytes().try_into().expect("eight bytes"))))
}

fn set(access: &mut (impl Access + ?Sized), key: u64, value: u64) -> Result<()> {
    access.put(T, &Key::from_u64(key), RowRef::new(&value.to_le_bytes()))
}

/// Copies one number to another place, and adds something drawn.
#[derive(Clone, Debug, PartialEq)]
struct Copy {
    from: u64,
    to: u64,
}

impl Program for Copy {
    type Output = u64;
    type Error = Error;
    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<u64> {
        let drawn = access.draws().map_or(0, |draws| draws.below(1000));
        let value = get(access, self.from)?.unwrap_or(0) + drawn;
        set(access, self.to, value)?;
        Ok(value)
    }
}

impl Procedure for Copy {
    const NAME: &'static str = "copy";
    fn encode_arguments(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.from.to_le_bytes());
        out.extend_from_slice(&self.to.to_le_bytes());
    }
    fn decode_arguments(arguments: &[u8]) -> std::result::Result<Copy, Malformed> {
        let mut reader = Decoder::new(arguments);
        let copy = Copy { from: reader.u64()?, to: reader.u64()? };
        reader.end()?;
        Ok(copy)
    }
    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        Ok(Footprint::default().reads(T, self.from).touches(T, self.to, Touch::Overwrite))
    }
}

/// Another procedure of the same name.
struct Impostor;

impl Program for Impostor {
    type Output = ();
    type Error = Error;
    fn run<A: Access + ?Sized>(&mut self, _: &mut A) -> Result<()> {
        Ok(())
    }
}

impl Procedure for Impostor {
    const NAME: &'static str = "copy";
    fn encode_arguments(&self, _: &mut Vec<u8>) {}
    fn decode_arguments(_: &[u8]) -> std::result::Result<Impostor, Malformed> {
        Ok(Impostor)
    }
    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        Ok(Footprint::default())
    }
}

/// Adds, by a number that its name stands for.
struct Named(&'static str, u64);

impl Program for Named {
    type Output = ();
    type Error = Error;
    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<()> {
        access.put(T, &Key::from_u64(self.1), RowRef::new(self.0.as_bytes()))
    }
}

impl Procedure for Named {
    const NAME: &'static str = "named";
    fn name(&self) -> &str {
        self.0
    }
    fn version(&self) -> u32 {
        7
    }
    fn encode_arguments(&self, out: &mut Vec<u8>) {
        out.push(self.1 as u8);
    }
    fn decode_arguments(_: &[u8]) -> std::result::Result<Named, Malformed> {
        Err(Malformed)
    }
    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        Ok(Footprint::default())
    }
}

#[test]
fn one_type_stands_for_procedures_that_are_named_when_the_program_runs() {
    let mut registry = Registry::new();
    for name in ["one", "two"] {
        let decode = move |arguments: &[u8]| Ok(Named(name, u64::from(*arguments.first().ok_or(Malformed)?)));
        registry.register_as(name, 7, decode).expect("a new name");
    }
    let again = registry.register_as("two", 8, |_| Ok(Named("two", 0)));
    assert_eq!(again, Err(NameTaken("two".into())));
    assert_eq!(registry.names().collect::<Vec<_>>(), ["one", "two"]);
    let mut record = Vec::new();
    encode_call(&Named("two", 5), None, &mut record);
    let call = registry.decode(&record).expect("it is registered");
    assert_eq!(
        (call.procedure.name(), registry.has(&Named("two", 5)), registry.has(&Named("three", 5))),
        ("two", true, false)
    );
}

#[test]
fn an_input_log_runs_again() {
    let mut registry = Registry::new();
    registry.register::<Copy>().expect("a new name");
    registry.register::<Copy>().expect("twice is once");
    assert_eq!(registry.register::<Impostor>(), Err(NameTaken("copy".into())));
    let mut record = Vec::new();
    encode_call(&Copy { from: 1, to: 2 }, Some(Draws::new(7, 99)), &mut record);
    let run = || {
        let mut call = registry.decode(&record).expect("a call");
        let mut store = Drawing { inner: twin(), draws: call.draws };
        set(&mut store, 1, 5).expect("nobody in the way");
        assert_eq!(call.procedure.name(), "copy");
        let footprint = call.procedure.footprint(&mut store).expect("no reconnaissance");
        assert!(footprint.covers(T, &Key::from_u64(2), Touch::Overwrite));
        assert!(call.procedure.run(&mut store));
        get(&mut store, 2).expect("no conflict")
    };
    let first = run();
    assert_eq!((first, first.is_some_and(|value| (5..1005).contains(&value))), (run(), true));

    let error = |record: &[u8]| registry.decode(record).map(|_| ()).unwrap_err();
    assert_eq!(error(&record[..record.len() - 1]), UnknownCall::Arguments("copy".into(), Malformed));
    assert_eq!(error(&record[..3]), UnknownCall::Record(Malformed));
    let mut strange = Vec::new();
    encode_call(&Copy { from: 1, to: 2 }, None, &mut strange);
    strange[4] = b'k';
    assert_eq!(error(&strange), UnknownCall::Name { name: "kopy".into(), version: 1 });
    strange[4] = b'c';
    strange[8] = 2;
    let changed = UnknownCall::Version { name: "copy".into(), logged: 2, registered: 1 };
    assert_eq!((error(&strange), registry.check(&strange)), (changed.clone(), Err(changed.clone())));
    assert!(changed.to_string().contains("copy, version 2, and version 1 is registered"), "{changed}");
    assert_eq!(registry.check(&record[..record.len() - 1]), Ok(()), "arguments are not looked at");
    let call = Copy { from: 1, to: 2 };
    assert_eq!((registry.has(&call), Registry::new().has(&call)), (true, false));
}

#[test]
fn draws_follow_from_their_seed() {
    let mut draws = Draws::new(42, -3);
    let drawn: Vec<u64> = (0..100).map(|_| draws.number()).collect();
    let mut bytes = Vec::new();
    draws.encode(&mut bytes);
    let mut again = Draws::decode(&mut Decoder::new(&bytes)).expect("16 bytes");
    assert_eq!((again, again.now()), (draws.restarted(), -3));
    assert!(drawn.iter().all(|&number| number == again.number()));
    let mut other = Draws::new(43, -3);
    assert!(drawn.iter().all(|&number| number != other.number()));
    assert!((0..1000).all(|_| other.below(10) < 10) && other.below(0) == 0);
}

/// A twin whose transactions may draw.
struct Drawing {
    inner: Twin,
    draws: Option<Draws>,
}

impl Access for Drawing {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.inner.read(table, key, columns, row)
    }
    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.inner.put(table, key, row)
    }
    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.inner.insert(table, key, row)
    }
    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.inner.update(table, key, delta)
    }
    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.inner.delete(table, key)
    }
    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.inner.scan(scan, visit)
    }
    fn draws(&mut self) -> Option<&mut Draws> {
        self.draws.as_mut()
    }
}

/// Versions by place in a fixed order, as BOHM has them: `None` is a placeholder that its producer has not filled.
#[derive(Default)]
struct Placeholders(BTreeMap<(u64, u32), Option<u64>>);

/// The reads and writes of the transaction at one place.
struct At<'s> {
    store: &'s RefCell<Placeholders>,
    place: u32,
    draws: Draws,
    stopped: bool,
}

impl Access for At<'_> {
    fn read(&mut self, _: TableId, key: &[u8], _: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        let key = Key::to_u64(key).expect("a number");
        let store = self.store.borrow();
        match store.0.range((key, 0)..(key, self.place)).next_back() {
            None => Ok(false),
            Some((_, Some(value))) => {
                row.set_bytes(&value.to_le_bytes());
                Ok(true)
            }
            Some((_, None)) => {
                self.stopped = true;
                Err(Error::NotYet)
            }
        }
    }
    fn put(&mut self, _: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        let value = u64::from_le_bytes(row.bytes().try_into().expect("eight bytes"));
        let place = (Key::to_u64(key).expect("a number"), self.place);
        *self.store.borrow_mut().0.get_mut(&place).expect("declared") = Some(value);
        Ok(())
    }
    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.put(table, key, row)
    }
    fn update(&mut self, _: TableId, _: &[u8], _: &Delta) -> Result<bool> {
        Err(Invalid::Undeclared { table: "t".into() }.into())
    }
    fn delete(&mut self, _: TableId, _: &[u8]) -> Result<bool> {
        Err(Invalid::Undeclared { table: "t".into() }.into())
    }
    fn scan(&mut self, _: &Scan<'_>, _: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        Err(Invalid::Undeclared { table: "t".into() }.into())
    }
    fn draws(&mut self) -> Option<&mut Draws> {
        Some(&mut self.draws)
    }
}

/// The later procedure is run first: it stops at the placeholder of the earlier one, and comes to the same end as in order.
#[test]
fn an_attempt_that_stops_is_no_abort_and_runs_again() {
    let calls = [Copy { from: 0, to: 1 }, Copy { from: 1, to: 2 }];
    let run_in = |order: &[usize]| {
        let store = RefCell::new(Placeholders::default());
        for (place, call) in (0..).zip(&calls) {
            store.borrow_mut().0.insert((call.to, place), None);
        }
        let (mut waiting, mut stops) = (order.to_vec(), 0);
        while !waiting.is_empty() {
            let next = waiting.remove(0);
            let mut access =
                At { store: &store, place: next as u32, draws: Draws::new(next as u64, 0), stopped: false };
            match calls[next].clone().run(&mut access) {
                Ok(_) => assert!(!access.stopped),
                Err(error) => {
                    assert!(access.stopped && !error.is_retryable() && error.abort().is_none(), "{error}");
                    stops += 1;
                    waiting.push(next);
                }
            }
        }
        (store.into_inner().0, stops)
    };
    let (in_order, none) = run_in(&[0, 1]);
    let (reversed, one) = run_in(&[1, 0]);
    assert_eq!((&in_order, none, one), (&reversed, 0, 1));
    assert!(in_order.values().all(Option::is_some));
}

#[test]
fn a_footprint_of_many_keys_is_in_order() {
    let keys = (0..500_u64).rev().map(|n| Key::from_bytes(&n.to_be_bytes()[(n % 8) as usize..]));
    let entry = |(n, key): (usize, Key)| {
        let touch = if n % 3 == 0 { Touch::Read } else { Touch::Any };
        FootprintEntry { table: TableId(n as u32 % 2), key, touch }
    };
    let mut entries: Vec<FootprintEntry> = keys.clone().chain(keys).enumerate().map(entry).collect();
    let footprint: Footprint = entries.iter().cloned().collect();
    entries.sort();
    entries.dedup();
    assert_eq!(footprint.keys(), entries);
}

#[test]
fn footprints_cover_what_they_declare() {
    let k = Key::from_u64;
    let footprint = Footprint::default()
        .touches(T, 5, Touch::Insert)
        .reads(T, 3)
        .touches(T, 4, Touch::Update)
        .touches(T, 6, Touch::Delete)
        .touches(T, 7, Touch::Overwrite)
        .writes(T, 8)
        .reads(T, 7)
        .reads(T, 3)
        .reads_range(T, Bound::Included(k(20)), Bound::Excluded(k(30)));
    let all = [Touch::Read, Touch::Insert, Touch::Update, Touch::Delete, Touch::Overwrite];
    let allowed = |key| all.map(|action| footprint.covers(T, &k(key), action));
    for (key, expected) in [
        (3, [true, false, false, false, false]),
        (4, [true, false, true, false, true]),
        (5, [true, true, false, false, false]),
        (6, [true, false, false, true, false]),
        (7, [true, false, false, false, true]),
        (8, [true; 5]),
        (9, [false; 5]),
        (20, [true, false, false, false, false]),
        (30, [false; 5]),
    ] {
        assert_eq!(allowed(key), expected, "key {key}");
    }
    assert_eq!(footprint.keys().len(), 7, "what is declared twice stands once");
    assert!(footprint.keys().is_sorted());
    let collected: Footprint = footprint.keys().iter().rev().chain(footprint.keys()).cloned().collect();
    assert_eq!(collected.keys(), footprint.keys(), "in whatever order they come, and how often");
    assert!(!footprint.covers(TableId(1), &k(8), Touch::Read));
    use Bound::{Excluded, Included, Unbounded};
    for (lower, upper, expected) in [
        (Included(20), Excluded(30), true),
        (Excluded(20), Included(29), true),
        (Included(20), Included(30), false),
        (Included(19), Excluded(30), false),
        (Unbounded, Excluded(25), false),
        (Included(25), Unbounded, false),
    ] {
        let (lower, upper) = (lower.map(Key::from_u64), upper.map(Key::from_u64));
        assert_eq!(footprint.covers_range(T, &lower, &upper), expected, "{lower:?} {upper:?}");
    }
}

#[test]
fn a_guarded_access_refuses_the_rest() {
    let mut twin = twin();
    let footprint = Footprint::default().touches(T, 1, Touch::Overwrite).reads(T, 2);
    let mut guarded = Guarded::new(&mut twin, &footprint);
    set(&mut guarded, 1, 5).expect("declared");
    assert_eq!(get(&mut guarded, 2).expect("declared"), None);
    let refused = |result: Result<()>| assert!(matches!(result, Err(Error::Invalid(Invalid::Undeclared { .. }))));
    refused(get(&mut guarded, 1).map(drop));
    refused(set(&mut guarded, 2, 5));
    refused(guarded.insert(T, &Key::from_u64(1), RowRef::new(&[0; 8])));
    refused(guarded.update(T, &Key::from_u64(1), &Delta::new()).map(drop));
    refused(guarded.delete(T, &Key::from_u64(1)).map(drop));
    refused(guarded.read_for_update(T, &Key::from_u64(2), Columns::All, &mut RowBuf::new()).map(drop));
    refused(guarded.scan(&Scan::table(T), &mut |_| ControlFlow::Continue(())).map(drop));
}

/// `Reexecutable` over the twin: one transaction at a time.
struct OneAtATime(Mutex<Twin>);

impl Reexecutable for OneAtATime {
    fn execute<P: Program>(
        &self,
        program: &mut P,
        how: Begin,
        _: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error> {
        let mut store = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut access = Drawing { inner: std::mem::take(&mut store), draws: how.draws };
        let output = program.run(&mut access);
        *store = access.inner;
        if output.is_ok() {
            store.commit()
        } else {
            store.abort()
        }
        Ok((output?, Committed::default()))
    }
}

#[test]
fn the_adapter_holds_procedures_to_their_footprints() {
    let engine = AsDeclared(OneAtATime(Mutex::new(twin())));
    let never = |_, _: &Error| false;
    let how = Begin { draws: Some(Draws::new(1, 2)), ..Begin::default() };
    let first = engine.call(Copy { from: 1, to: 2 }, how, never).expect("declared").0;
    let again = engine.submit(Copy { from: 1, to: 3 }, how, Box::new(never)).wait().expect("declared").0;
    assert_eq!(first, again, "both draw from one seed");

    struct Sneak(Copy);
    impl Program for Sneak {
        type Output = u64;
        type Error = Error;
        fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<u64> {
            set(access, 99, 1)?;
            self.0.run(access)
        }
    }
    impl Procedure for Sneak {
        const NAME: &'static str = "sneak";
        fn encode_arguments(&self, out: &mut Vec<u8>) {
            self.0.encode_arguments(out);
        }
        fn decode_arguments(arguments: &[u8]) -> std::result::Result<Sneak, Malformed> {
            Ok(Sneak(Copy::decode_arguments(arguments)?))
        }
        fn footprint<A: Access + ?Sized>(&self, access: &mut A) -> Result<Footprint> {
            self.0.footprint(access)
        }
    }
    let error = engine.call(Sneak(Copy { from: 1, to: 2 }), how, never).unwrap_err();
    assert!(matches!(error, Error::Invalid(Invalid::Undeclared { .. })), "{error}");
}

/// A source that is resolved when it is polled for the second time.
struct Second(u32);

impl Later<u32> for Second {
    fn wait(self: Box<Self>) -> u32 {
        self.0
    }
    fn on_resolved(self: Box<Self>, callback: Box<dyn FnOnce(u32) + Send>) {
        callback(self.0);
    }
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<u32> {
        self.0 += 1;
        context.waker().wake_by_ref();
        if self.0.is_multiple_of(2) { Poll::Ready(self.0) } else { Poll::Pending }
    }
}

struct Count(AtomicU32);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn what_is_pending_serves_every_kind_of_caller() {
    let double = |pending: Pending<u32>| pending.map(|value| value * 2);
    assert_eq!(double(Pending::ready(4)).wait(), 8);
    assert_eq!(double(double(Pending::later(Second(4)))).wait(), 16);
    let heard = Arc::new(AtomicU32::new(0));
    for pending in [Pending::ready(3), Pending::later(Second(3))] {
        let heard = heard.clone();
        double(pending).on_resolved(move |value| {
            heard.fetch_add(value, SeqCst);
        });
    }
    assert_eq!(heard.load(SeqCst), 12);
    let wakes = Arc::new(Count(AtomicU32::new(0)));
    let waker = Waker::from(wakes.clone());
    let mut context = Context::from_waker(&waker);
    let mut pending = double(Pending::later(Second(4)));
    assert!(!pending.is_ready() && Pending::ready(1).is_ready());
    assert_eq!(Pin::new(&mut pending).poll(&mut context), Poll::Pending);
    assert_eq!(Pin::new(&mut pending).poll(&mut context), Poll::Ready(12));
    assert_eq!(wakes.0.load(SeqCst), 2);
    let taken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Pin::new(&mut pending).poll(&mut context)));
    assert!(taken.is_err(), "a value is taken once");
}

/// One after the other in an engine without a better way.
#[test]
fn several_keys_are_read_at_once() {
    let mut twin = twin();
    set(&mut twin, 1, 10).expect("alone");
    set(&mut twin, 3, 30).expect("alone");
    let keys = [3, 2, 1].map(Key::from_u64);
    let mut seen = Vec::new();
    twin.read_many(T, &keys, Columns::All, &mut |at, row| seen.push((at, row.map(|row| row.bytes()[0]))))
        .expect("alone");
    seen.sort_unstable();
    assert_eq!(seen, [(0, Some(30)), (1, None), (2, Some(10))]);
}
