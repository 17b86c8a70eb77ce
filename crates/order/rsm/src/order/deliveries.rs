//! What was ordered, on its way to the one who takes it.

use super::proposal::Proposal;
use super::{Delivered, OrderError, OrderPosition};
use crate::service::{BadSnapshot, Service};
use bytes::Bytes;
use codec::{Malformed, Reader, put_number};
use env::time::{Duration, Instant};
use paxos::core::Instance;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// The first byte of a snapshot.
const VERSION: u8 = 1;

/// A bounded queue between the service's thread and whoever calls `deliver`.
#[derive(Debug)]
pub(super) struct Deliveries {
    state: Mutex<State>,
    /// There is something to take.
    arrived: Condvar,
    /// There is room.
    taken: Condvar,
    /// Payloads that wait, at most.
    limit: usize,
    /// Bytes of them after which no more are put.
    byte_limit: usize,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Delivered>,
    bytes: usize,
    /// What comes after all that waits, for ever.
    end: Option<OrderError>,
}

impl Deliveries {
    pub(super) fn new(limit: usize, byte_limit: usize) -> Self {
        Self { state: Mutex::default(), arrived: Condvar::new(), taken: Condvar::new(), limit, byte_limit }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of this latch panics")
    }

    /// Puts a payload, waiting while there are too many: the replica then delivers no more, and lets its leader know by being slow.
    fn put(&self, delivered: Delivered) {
        let mut state = self.lock();
        while state.end.is_none() && (state.waiting.len() >= self.limit || state.bytes >= self.byte_limit) {
            state = self.taken.wait(state).expect("no holder of this latch panics");
        }
        if state.end.is_none() {
            state.bytes += delivered.payload.len();
            state.waiting.push_back(delivered);
            self.arrived.notify_one();
        }
    }

    /// Takes the next payload.
    pub(super) fn take(&self, patience: Duration) -> Result<Delivered, OrderError> {
        let give_up = Instant::now().checked_add(patience);
        let mut state = self.lock();
        loop {
            if let Some(delivered) = state.waiting.pop_front() {
                state.bytes -= delivered.payload.len();
                self.taken.notify_one();
                return Ok(delivered);
            }
            if let Some(end) = &state.end {
                return Err(end.clone());
            }
            state = match give_up {
                None => self.arrived.wait(state).expect("no holder of this latch panics"),
                Some(give_up) => {
                    let left = give_up.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(OrderError::TimedOut);
                    }
                    self.arrived.wait_timeout(state, left).expect("no holder of this latch panics").0
                }
            };
        }
    }

    /// Nothing comes after what waits; the first reason counts.
    pub(super) fn end(&self, reason: OrderError) {
        self.lock().end.get_or_insert(reason);
        self.arrived.notify_all();
        self.taken.notify_all();
    }

    /// Why nothing more comes, if so.
    pub(super) fn ended(&self) -> Option<OrderError> {
        self.lock().end.clone()
    }
}

/// Called with the submission of each proposal of the own life that was delivered.
pub(super) type OnOwn = Box<dyn FnMut(u64) + Send>;

/// The service that delivers what it executes.
pub(super) struct DeliveryService {
    deliveries: Arc<Deliveries>,
    life: u64,
    on_own: OnOwn,
    /// Everything up to here was delivered in an earlier life.
    resume_after: Option<OrderPosition>,
    /// The last payload that was executed.
    last: Option<OrderPosition>,
}

impl DeliveryService {
    pub(super) fn new(
        deliveries: Arc<Deliveries>,
        life: u64,
        resume_after: Option<OrderPosition>,
        on_own: OnOwn,
    ) -> Self {
        Self { deliveries, life, on_own, resume_after, last: None }
    }

    /// The place of the next payload of this instance.
    fn next(&mut self, instance: Instance) -> OrderPosition {
        let index = match self.last {
            Some(last) if last.instance == instance => last.index + 1,
            _ => 0,
        };
        let position = OrderPosition { instance, index };
        self.last = Some(position);
        position
    }
}

impl Service for DeliveryService {
    fn execute(&mut self, at: Instance, request: &[u8], _: &mut Vec<u8>) {
        // What is no proposal came from a client that takes this for another service.
        let Ok(proposal) = Proposal::decode(request) else { return };
        let position = self.next(at);
        if Some(position) > self.resume_after {
            self.deliveries.put(Delivered {
                position,
                origin: proposal.origin,
                submission: proposal.submission,
                payload: Bytes::copy_from_slice(proposal.payload),
            });
        }
        if proposal.life == self.life {
            (self.on_own)(proposal.submission);
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        let mut out = vec![VERSION, u8::from(self.last.is_some())];
        if let Some(last) = self.last {
            put_number(&mut out, last.instance);
            put_number(&mut out, u64::from(last.index));
        }
        out
    }

    /// The payloads before the snapshot are in nobody's log any more: unless they were delivered in an earlier life, they are missed.
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), BadSnapshot> {
        let last = decode(snapshot).map_err(|_| BadSnapshot("it is none of an order's deliveries".into()))?;
        if last > self.last.max(self.resume_after) {
            self.deliveries.end(OrderError::Missed);
        }
        self.last = last;
        Ok(())
    }
}

fn decode(snapshot: &[u8]) -> Result<Option<OrderPosition>, Malformed> {
    let mut reader = Reader::new(snapshot);
    let wrong = Malformed::value_at(0);
    if reader.u8()? != VERSION {
        return Err(wrong);
    }
    let last = match reader.u8()? {
        0 => None,
        _ => {
            let (instance, index) = (reader.number()?, reader.number()?);
            Some(OrderPosition { instance, index: u32::try_from(index).map_err(|_| wrong)? })
        }
    };
    reader.end()?;
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const NOW: Duration = Duration::ZERO;

    fn service(deliveries: &Arc<Deliveries>, resume_after: Option<OrderPosition>) -> DeliveryService {
        DeliveryService::new(Arc::clone(deliveries), 7, resume_after, Box::new(|_| ()))
    }

    fn body(submission: u64) -> Vec<u8> {
        Proposal { origin: 2, life: 5, submission, payload: &[submission as u8] }.to_bytes().unwrap()
    }

    fn execute(service: &mut DeliveryService, at: Instance, body: &[u8]) {
        let mut reply = Vec::new();
        service.execute(at, body, &mut reply);
        assert!(reply.is_empty(), "nobody reads it");
    }

    #[test]
    fn positions_count_the_payloads_of_an_instance() {
        let deliveries = Arc::new(Deliveries::new(9, 100));
        let mut service = service(&deliveries, None);
        for (at, submission) in [(3, 0), (3, 1), (5, 2)] {
            execute(&mut service, at, &body(submission));
            execute(&mut service, at, b"\x09 no proposal");
        }
        let places: Vec<_> = (0..3).map(|_| deliveries.take(NOW).unwrap().position).collect();
        let place = |instance, index| OrderPosition { instance, index };
        assert_eq!(places, [place(3, 0), place(3, 1), place(5, 0)]);
        assert_eq!(deliveries.take(NOW), Err(OrderError::TimedOut));
    }

    #[test]
    fn the_own_life_hears_of_its_deliveries() {
        let (sender, heard) = mpsc::channel();
        let deliveries = Arc::new(Deliveries::new(9, 100));
        let on_own = Box::new(move |submission| sender.send(submission).unwrap());
        let mut service = DeliveryService::new(deliveries, 5, None, on_own);
        execute(&mut service, 0, &body(4));
        let earlier_life = Proposal { origin: 2, life: 4, submission: 0, payload: b"" }.to_bytes().unwrap();
        execute(&mut service, 0, &earlier_life);
        drop(service);
        assert_eq!(heard.iter().collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn what_an_earlier_life_has_seen_is_not_delivered_again() {
        let deliveries = Arc::new(Deliveries::new(9, 100));
        let mut service = service(&deliveries, Some(OrderPosition { instance: 3, index: 0 }));
        for (at, submission) in [(2, 0), (3, 1), (3, 2)] {
            execute(&mut service, at, &body(submission));
        }
        assert_eq!(deliveries.take(NOW).unwrap().submission, 2);
    }

    #[test]
    fn a_snapshot_of_what_was_not_delivered_ends_the_order() {
        let deliveries = Arc::new(Deliveries::new(9, 100));
        let mut ahead = service(&deliveries, None);
        execute(&mut ahead, 3, &body(0));
        let snapshot = ahead.snapshot();
        let seen = Arc::new(Deliveries::new(9, 100));
        service(&seen, ahead.last).restore(&snapshot).unwrap();
        assert_eq!(seen.ended(), None, "an earlier life has seen it");
        let missed = Arc::new(Deliveries::new(9, 100));
        let mut behind = service(&missed, None);
        behind.restore(&snapshot).unwrap();
        assert_eq!(missed.take(NOW), Err(OrderError::Missed));
        assert_eq!(behind.snapshot(), snapshot);
        for bad in [&b""[..], b"\x02\x00", b"\x01\x01\x03", b"\x01\x00\x00"] {
            assert!(behind.restore(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_full_queue_holds_the_service_up_until_somebody_takes_or_all_ends() {
        let deliveries = Arc::new(Deliveries::new(1, 100));
        let (sender, done) = mpsc::channel();
        let mut blocked = service(&deliveries, None);
        let thread = env::thread::spawn_named("service", move || {
            for submission in 0..4 {
                execute(&mut blocked, submission, &body(submission));
                sender.send(submission).unwrap();
            }
        });
        for submission in 0..2 {
            assert_eq!(deliveries.take(Duration::MAX).unwrap().submission, submission);
        }
        // The last two are not taken: the service goes on when all ends.
        deliveries.end(OrderError::Stopped("over".into()));
        thread.unwrap().join().unwrap();
        assert_eq!(done.iter().count(), 4);
    }
}
