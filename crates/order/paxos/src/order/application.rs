//! Delivery of ordered payloads to their consumer.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use codec::{Malformed, Reader, put_number};
use net::mailbox::Mailbox;

use super::kept::{Keeping, Standing};
use super::lives::{Life, Lives, Turn};
use crate::application::{Application, BadSnapshot};
use crate::core::{Image, Instance, ReplicaId, Value};
use crate::image::ImageWriter;
use crate::request::{Request, requests};
use total::{Delivered, Event, OrderError, Origin, Position};

const MAGIC: [u8; 4] = *b"SPXO";
/// The first had no last payload: there the last position counts as one.
const VERSIONS: std::ops::RangeInclusive<u8> = 1..=2;
const CHECKSUM_BYTES: usize = 4;

/// The bounded queue between the application's thread and the consumer of deliveries, and the reason of its end.
#[derive(Debug)]
pub(super) struct Deliveries {
    pub(super) mailbox: Mailbox<Event>,
    /// Weight of a payload in addition to its bytes, so that the queue bounds both number and bytes.
    share: usize,
    end: Mutex<Option<OrderError>>,
}

impl Deliveries {
    /// Creates a queue that is full with this number of empty payloads, or with this number of bytes; in between, with fewer of
    /// both.
    pub(super) fn new(payloads: usize, bytes: usize) -> Self {
        let share = (bytes / payloads.max(1)).max(1);
        Self { mailbox: Mailbox::new(bytes.max(1)), share, end: Mutex::default() }
    }

    /// The same for a caller that must not wait, and asks itself whether the queue is full.
    #[cfg(feature = "sim")]
    pub(super) fn without_waits(payloads: usize, bytes: usize) -> Self {
        Self { mailbox: Mailbox::new(usize::MAX), ..Self::new(payloads, bytes) }
    }

    /// Adds an event, waiting while the queue is full: the replica then delivers no more, and its leader slows down with it.
    /// After the end the event is dropped.
    fn put(&self, event: Event) {
        let bytes = if let Event::Ordered(delivered) = &event { delivered.payload.len() } else { 0 };
        let _ = self.mailbox.send(event, bytes + self.share);
    }

    /// No code of others runs under the lock.
    fn lock(&self) -> MutexGuard<'_, Option<OrderError>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the deliveries after those in the queue; the first reason counts.
    pub(super) fn end(&self, reason: OrderError) {
        self.lock().get_or_insert(reason);
        self.mailbox.close();
    }

    /// Returns the reason of the end, if the deliveries have ended.
    pub(super) fn ended(&self) -> Option<OrderError> {
        self.lock().clone()
    }
}

/// Outcome of a payload of the own life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// It was delivered, at this place.
    Delivered(u64, Position),
    /// It came too early.
    Early,
    /// All before this number were, up to this place, in instances that this node will not see.
    Passed(u64, Position),
}

/// Hears what becomes of the own life's payloads.
pub(super) type OnOwn = Box<dyn FnMut(Own) + Send>;

/// Delivers what was ordered.
pub(super) struct OrderApplication {
    deliveries: Arc<Deliveries>,
    own: (ReplicaId, Life),
    on_own: OnOwn,
    /// Nodes that may have a state, where this one is behind.
    holders: Vec<u64>,
    /// Everything up to here was delivered in an earlier life.
    resume_after: Option<Position>,
    now: Standing,
    keeping: Arc<Keeping>,
}

impl OrderApplication {
    pub(super) fn new(
        deliveries: Arc<Deliveries>,
        own: (ReplicaId, Life),
        resume_after: Option<Position>,
        on_own: OnOwn,
        holders: Vec<u64>,
        keeping: Arc<Keeping>,
    ) -> Self {
        Self { deliveries, own, on_own, holders, resume_after, now: Standing::default(), keeping }
    }

    /// Returns whether another instance can be delivered without forgetting what the consumer needs.
    #[cfg(feature = "sim")]
    pub(super) fn has_room(&self) -> bool {
        self.keeping.lock().has_room(&self.now)
    }

    fn take(&mut self, at: Instance, batch: &Value, request: &Request<'_>) {
        let is_own = (request.origin, request.session) == self.own;
        match self.now.lives.judge(request.origin, request.session, request.sequence, at) {
            Turn::Next => {
                let position = self.now.next_position(at);
                if !request.body.is_empty() {
                    self.now.payload = Some(position);
                }
                self.put(position, batch, request, is_own);
                if is_own {
                    (self.on_own)(Own::Delivered(request.sequence, position));
                }
            }
            Turn::Early if is_own => (self.on_own)(Own::Early),
            Turn::Early | Turn::Repeated => {}
        }
    }

    fn put(&self, position: Position, batch: &Value, request: &Request<'_>, is_own: bool) {
        if Some(position) <= self.resume_after {
            return;
        }
        if request.body.is_empty() {
            if is_own {
                self.deliveries.put(Event::Barrier(position));
            }
            return;
        }
        // A slice: the batch stays in memory until its last payload is done with.
        let payload = batch.slice_ref(request.body);
        let origin = Origin { node: request.origin, life: request.session };
        self.deliveries.put(Event::Ordered(Delivered { position, origin, submission: request.sequence, payload }));
    }

    /// Says what became of the own payloads in instances that this node will not see.
    fn pass_own(&mut self, up_to: Position) {
        let next = self.now.lives.next_of(self.own.0, self.own.1);
        (self.on_own)(Own::Passed(next, up_to));
    }
}

impl Application for OrderApplication {
    fn deliver(&mut self, at: Instance, batch: &Value) {
        assert_eq!(at, self.now.next, "P9: instances are delivered in order and without holes");
        self.keeping.wait_for_room(&self.now, || self.deliveries.ended().is_some());
        self.now.next += 1;
        // What no replica makes is skipped to the batch's end, on every node alike; and what has a nonce is of no order.
        for request in requests(batch).map_while(Result::ok).filter(|request| request.nonce.is_none()) {
            self.take(at, batch, &request);
        }
        self.keeping.add(&self.now, batch.len());
    }

    /// The newest state that a life of this node may begin from.
    fn snapshot(&mut self, mut out: ImageWriter) -> io::Result<(Instance, Image)> {
        let standing = self.keeping.lock().standing(&self.now).clone();
        out.write_all(&encode(&standing))?;
        Ok((standing.next, out.finish()?))
    }

    /// The others have the payloads before the snapshot, and what follows.
    fn install(&mut self, at: Instance, image: &Image) -> Result<(), BadSnapshot> {
        self.begin(at, image, false)
    }

    /// What follows the snapshot may be in no other journal.
    fn recover(&mut self, at: Instance, image: &Image) -> Result<(), BadSnapshot> {
        self.begin(at, image, true)
    }

    fn next(&self) -> Instance {
        self.now.next
    }
}

impl OrderApplication {
    /// The payloads before the snapshot are in no log any more: unless they were delivered in an earlier life, they are missed, and the
    /// node is told so. Where there are only barriers, nothing is.
    fn begin(&mut self, at: Instance, image: &Image, is_own: bool) -> Result<(), BadSnapshot> {
        // It is short: a position, and one for each node.
        let bytes = image.to_vec()?;
        let standing = checked(&bytes)?;
        let next = standing.next;
        if next != at {
            return Err(BadSnapshot(format!("it is the state before instance {next}, not {at}")));
        }
        let seen = self.now.last.max(self.resume_after);
        let missed = standing.payload.filter(|at| Some(*at) > self.now.payload.max(self.resume_after));
        self.now = standing;
        self.keeping.lock().begin(&self.now, missed, is_own);
        if let Some(earliest) = missed {
            self.deliveries.put(Event::Behind { earliest, holders: self.holders.clone() });
        }
        if let Some(last) = self.now.last.filter(|last| Some(*last) > seen) {
            if Some(last) > self.now.payload {
                self.deliveries.put(Event::Barrier(last));
            }
            self.pass_own(last);
        }
        Ok(())
    }
}

fn encode(Standing { next, last, payload, lives }: &Standing) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.push(*VERSIONS.end());
    put_number(&mut out, *next);
    for position in [last, payload] {
        out.push(u8::from(position.is_some()));
        if let Some(Position { instance, index }) = position {
            put_number(&mut out, *instance);
            put_number(&mut out, u64::from(*index));
        }
    }
    lives.encode(&mut out);
    let checksum = crc32c::crc32c(&out);
    out.extend_from_slice(&checksum.to_le_bytes());
    out
}

fn checked(image: &[u8]) -> Result<Standing, BadSnapshot> {
    let bad = |why: &str| BadSnapshot(why.to_owned());
    let (body, checksum) = image.split_last_chunk::<CHECKSUM_BYTES>().ok_or_else(|| bad("it is too short"))?;
    let versioned = body.strip_prefix(&MAGIC).and_then(<[u8]>::split_first);
    let versioned = versioned.filter(|(version, _)| VERSIONS.contains(version));
    let (version, rest) =
        versioned.ok_or_else(|| bad("it is not a snapshot of an order's deliveries in this format version"))?;
    if crc32c::crc32c(body).to_le_bytes() != *checksum {
        return Err(bad("it does not match its checksum"));
    }
    decode(*version, &mut Reader::new(rest)).map_err(|malformed| BadSnapshot(malformed.to_string()))
}

fn decode(version: u8, reader: &mut Reader<'_>) -> Result<Standing, Malformed> {
    let next = reader.number()?;
    let last = decode_position(reader)?;
    let payload = if version == *VERSIONS.start() { last } else { decode_position(reader)? };
    let lives = Lives::decode(reader)?;
    reader.end()?;
    Ok(Standing { next, last, payload, lives })
}

fn decode_position(reader: &mut Reader<'_>) -> Result<Option<Position>, Malformed> {
    let offset = reader.offset();
    match reader.u8()? {
        0 => Ok(None),
        1 => {
            let (instance, index) = (reader.number()?, reader.number()?);
            let index = u32::try_from(index).map_err(|_| Malformed::value_at(offset))?;
            Ok(Some(Position { instance, index }))
        }
        _ => Err(Malformed::value_at(offset)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::ImageStore;
    use crate::order::kept::Kept;
    use crate::request::Chunk;
    use env::time::Instant;
    use std::sync::mpsc;

    fn application(deliveries: &Arc<Deliveries>, resume_after: Option<Position>) -> OrderApplication {
        with_own(Arc::clone(deliveries), (0, 7), resume_after, Box::new(|_| ()))
    }

    fn with_own(
        deliveries: Arc<Deliveries>,
        own: (ReplicaId, Life),
        resume_after: Option<Position>,
        on_own: OnOwn,
    ) -> OrderApplication {
        OrderApplication::new(
            deliveries,
            own,
            resume_after,
            on_own,
            vec![1, 2],
            Arc::new(Keeping::new(Kept::new(1 << 20, 64), true, Box::new(|_| ()))),
        )
    }

    fn queue() -> Arc<Deliveries> {
        Arc::new(Deliveries::new(9, 100))
    }

    /// A batch of payloads of life 5 of node 2, with these numbers.
    fn batch(submissions: &[u64]) -> Value {
        let mut chunk = Chunk::new();
        for &submission in submissions {
            let body = [submission as u8];
            chunk.push(Request { origin: 2, session: 5, sequence: submission, nonce: None, body: &body }).unwrap();
        }
        chunk.into_value()
    }

    fn events(deliveries: &Deliveries) -> Vec<Event> {
        let mut all = Vec::new();
        let _ = deliveries.mailbox.take(&mut all, Some(Instant::now()));
        all
    }

    /// Returns the deliveries in the queue.
    fn waiting(deliveries: &Deliveries) -> Vec<Delivered> {
        let delivered = |event| if let Event::Ordered(delivered) = event { Some(delivered) } else { None };
        events(deliveries).into_iter().filter_map(delivered).collect()
    }

    fn snapshot(application: &mut OrderApplication) -> (Instance, Image) {
        application.snapshot(ImageStore::in_memory().writer()).expect("memory takes it")
    }

    fn place(instance: Instance, index: u32) -> Position {
        Position { instance, index }
    }

    #[test]
    fn positions_count_the_payloads_of_an_instance() {
        let deliveries = queue();
        let mut application = application(&deliveries, None);
        let mut foreign = Chunk::new();
        foreign.push(Request { origin: 2, session: 5, sequence: 2, nonce: Some(1), body: b"of a session" }).unwrap();
        for (at, batch) in [batch(&[0, 1]), foreign.into_value(), Value::new(), batch(&[1, 2, 4])].iter().enumerate() {
            application.deliver(at as u64, batch);
        }
        let all = waiting(&deliveries);
        let places: Vec<_> = all.iter().map(|delivered| delivered.position).collect();
        assert_eq!(places, [place(0, 0), place(0, 1), place(3, 0)]);
        assert!(all.iter().all(|delivered| delivered.payload[..] == [delivered.submission as u8]));
        assert!(all.iter().all(|delivered| delivered.origin == Origin { node: 2, life: 5 }));
        assert_eq!(application.next(), 4);
    }

    #[test]
    fn the_own_life_hears_of_its_deliveries() {
        let (sender, heard) = mpsc::channel();
        let on_own = Box::new(move |own| sender.send(own).unwrap());
        let mut application = with_own(queue(), (2, 5), None, on_own);
        application.deliver(0, &batch(&[0, 2, 1, 1]));
        let mut earlier_life = Chunk::new();
        earlier_life.push(Request { origin: 2, session: 4, sequence: 0, nonce: None, body: b"x" }).unwrap();
        application.deliver(1, &earlier_life.into_value());
        drop(application);
        assert_eq!(
            heard.iter().collect::<Vec<_>>(),
            [Own::Delivered(0, place(0, 0)), Own::Early, Own::Delivered(1, place(0, 1))]
        );
    }

    #[test]
    fn a_barrier_has_a_place_that_its_own_node_is_told() {
        let mut chunk = Chunk::new();
        for (sequence, body) in [(0, &b"a"[..]), (1, b""), (2, b"b")] {
            chunk.push(Request { origin: 2, session: 5, sequence, nonce: None, body }).unwrap();
        }
        let batch = chunk.into_value();
        for (own, barriers) in [((2, 5), 1), ((2, 4), 0), ((1, 5), 0)] {
            let deliveries = queue();
            with_own(Arc::clone(&deliveries), own, None, Box::new(|_| ())).deliver(0, &batch);
            let events = events(&deliveries);
            let found = events.iter().filter(|event| **event == Event::Barrier(place(0, 1))).count();
            assert_eq!((found, events.len()), (barriers, 2 + barriers));
        }
    }

    #[test]
    fn what_an_earlier_life_has_seen_is_not_delivered_again() {
        let deliveries = queue();
        let mut application = application(&deliveries, Some(place(1, 0)));
        application.deliver(0, &batch(&[0]));
        application.deliver(1, &batch(&[1, 2]));
        assert_eq!(waiting(&deliveries).iter().map(|delivered| delivered.submission).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn a_snapshot_of_what_was_not_delivered_says_who_is_behind() {
        let mut ahead = application(&queue(), None);
        ahead.deliver(0, &batch(&[0, 1]));
        let (at, image) = snapshot(&mut ahead);
        let seen = queue();
        application(&seen, ahead.now.last).install(at, &image).unwrap();
        assert_eq!(events(&seen), [], "an earlier life has seen it");
        let missed = queue();
        let mut behind = application(&missed, None);
        behind.install(at, &image).unwrap();
        assert_eq!(events(&missed), [Event::Behind { earliest: place(0, 1), holders: vec![1, 2] }]);
        assert_eq!(snapshot(&mut behind), (at, image.clone()), "equal states have equal bytes");
        behind.deliver(1, &batch(&[1, 2]));
        assert_eq!(behind.now.last, Some(place(1, 0)), "what the snapshot has is not delivered again");
        assert!(behind.install(at + 1, &image).is_err(), "another instance's");
        let bytes = image.to_vec().unwrap();
        for cut in 0..bytes.len() {
            assert!(behind.install(at, &Image::from(&bytes[..cut])).is_err(), "cut at {cut}");
        }
        for bit in 0..8 * bytes.len() {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(behind.install(at, &Image::from(damaged)).is_err(), "bit {bit}");
        }
    }

    /// A node that has nothing, and begins with another one's snapshot, holds up nobody until it has a state. One that begins with its own
    /// may be the only one with what follows.
    #[test]
    fn another_ones_snapshot_is_not_taken_for_the_own() {
        let mut ahead = application(&queue(), None);
        ahead.deliver(0, &batch(&[0]));
        let (at, image) = snapshot(&mut ahead);
        for (is_own, has_room) in [(false, true), (true, false)] {
            let mut new = application(&Arc::new(Deliveries::new(100, 10_000)), None);
            let begun = if is_own { new.recover(at, &image) } else { new.install(at, &image) };
            begun.unwrap();
            (at..at + 64).for_each(|instance| new.deliver(instance, &batch(&[instance])));
            assert_eq!(new.keeping.lock().has_room(&new.now), has_room);
        }
    }

    /// Barriers behind the last payload that a consumer has are nothing that it has missed. Whoever waits for an own one is told.
    #[test]
    fn a_snapshot_of_barriers_leaves_nobody_behind() {
        let mut chunk = Chunk::new();
        for (sequence, body) in [(0, &b"a"[..]), (1, b""), (2, b"")] {
            chunk.push(Request { origin: 2, session: 5, sequence, nonce: None, body }).unwrap();
        }
        let mut ahead = application(&queue(), None);
        ahead.deliver(0, &chunk.into_value());
        let (at, image) = snapshot(&mut ahead);
        for has in [0, 1] {
            let (sender, heard) = mpsc::channel();
            let seen = queue();
            let own = Box::new(move |own| sender.send(own).unwrap());
            let mut later = with_own(Arc::clone(&seen), (2, 5), Some(place(0, has)), own);
            later.install(at, &image).unwrap();
            assert_eq!(events(&seen), [Event::Barrier(place(0, 2))]);
            drop(later);
            assert_eq!(heard.iter().collect::<Vec<_>>(), [Own::Passed(3, place(0, 2))]);
        }
        let missed = queue();
        application(&missed, None).install(at, &image).unwrap();
        // Any state that has the payload will do: other nodes are not told of these barriers.
        let behind = Event::Behind { earliest: place(0, 0), holders: vec![1, 2] };
        assert_eq!(events(&missed), [behind, Event::Barrier(place(0, 2))]);
    }

    /// Snapshots of the first version are read: what is last counts as a payload.
    #[test]
    fn a_snapshot_of_the_first_version_is_read() {
        let mut first = MAGIC.to_vec();
        first.extend_from_slice(&[1, 4, 1, 3, 0]);
        Lives::default().encode(&mut first);
        first.extend_from_slice(&crc32c::crc32c(&first.clone()).to_le_bytes());
        let expected = Standing { next: 4, last: Some(place(3, 0)), payload: Some(place(3, 0)), ..Standing::default() };
        assert_eq!(checked(&first).unwrap(), expected);
    }

    #[test]
    fn a_full_queue_holds_the_application_up_until_somebody_takes_or_all_ends() {
        let deliveries = Arc::new(Deliveries::new(1, 100));
        let (sender, done) = mpsc::channel();
        let mut blocked = application(&deliveries, None);
        let thread = env::thread::spawn_named("application", move || {
            for submission in 0..4 {
                blocked.deliver(submission, &batch(&[submission]));
                sender.send(submission).unwrap();
            }
        });
        for submission in 0..2 {
            let mut taken = Vec::new();
            deliveries.mailbox.take(&mut taken, None).unwrap();
            assert!(matches!(&taken[..], [Event::Ordered(delivered)] if delivered.submission == submission));
        }
        // The last two are not taken: the application goes on when all ends.
        deliveries.end(OrderError::Stopped("over".into()));
        thread.unwrap().join().unwrap();
        assert_eq!(done.iter().count(), 4);
    }
}
