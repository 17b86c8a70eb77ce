//! The two threads between the line and the order: one proposes, one certifies what is delivered.

use crate::Core;
use crate::certify::Certifier;
use crate::host::Step;
use crate::payload::{self, Payload, Record};
use crate::turn::Place;
use bytes::Bytes;
use env::time::Duration;
use model::{Error, Fault};
use total::{Delivered, Event, OrderError, Origin, Position, TotalOrder};

/// Events that are taken at a time.
const EVENTS: usize = 256;
/// How long a thread waits before it looks whether the node is closing.
const PATIENCE: Duration = Duration::from_millis(50);

impl Core {
    /// Proposes pending transactions, as many at once as have come while the payloads before were on their way.
    pub fn propose(&self, order: &impl TotalOrder) {
        loop {
            let mut payload = payload::begin_transactions();
            let bytes = order.capabilities().payload_bytes.min(self.options.payload_bytes);
            let Some(_) = self.line.take(self.options.batch, bytes, &mut payload) else { return };
            if let Err(error) = self.hand_in(order, payload.into()) {
                return self.stop(&order_failed(&error));
            }
        }
    }

    /// Proposes a payload, waiting for room as long as the node lives.
    ///
    /// # Errors
    /// The order refuses it for good.
    pub fn hand_in(&self, order: &impl TotalOrder, payload: Bytes) -> Result<(), OrderError> {
        loop {
            match order.propose(payload.clone()) {
                Ok(_) => return Ok(()),
                Err(OrderError::Busy) => match order.room(PATIENCE) {
                    Ok(_) | Err(OrderError::TimedOut) if self.line.failure().is_none() => {}
                    Ok(_) | Err(OrderError::TimedOut) => return Err(OrderError::Stopped("the node was closed".into())),
                    Err(error) => return Err(error),
                },
                Err(error) => return Err(error),
            }
        }
    }

    /// Certifies and applies what is delivered, until the node stops.
    pub fn deliver(&self, order: &impl TotalOrder) {
        let mut deliverer = Deliverer { core: self, certifier: Certifier::new(), place: Place::default() };
        let mut events = Vec::new();
        while self.line.failure().is_none() {
            match order.deliver(&mut events, EVENTS, PATIENCE) {
                Ok(()) | Err(OrderError::TimedOut) => {}
                Err(error) => return self.stop(&order_failed(&error)),
            }
            for event in events.drain(..) {
                if let Err(error) = deliverer.take(event) {
                    return self.stop(&error);
                }
            }
        }
    }

    /// Stops the node: everybody is told why.
    pub fn stop(&self, error: &Error) {
        let unknown = Error::Fault(Fault::log_failed_at_commit(error));
        let told = self.line.fail(error, &unknown);
        let jobs = self.queue.close();
        self.tell(told);
        jobs.into_iter().chain(self.line.unpark(None)).for_each(|job| job.complete(Err(error.clone())));
        self.definitions.fail(error);
        self.reached.wake();
    }
}

/// The thread that certifies.
struct Deliverer<'e> {
    core: &'e Core,
    certifier: Certifier,
    /// The last place that was delivered.
    place: Place,
}

impl Deliverer<'_> {
    fn take(&mut self, event: Event) -> Result<(), Error> {
        match event {
            Event::Ordered(delivered) => {
                let position = delivered.position;
                self.take_payload(&delivered)?;
                self.core.reached.set(position);
                Ok(())
            }
            Event::Barrier(position) => {
                self.core.reached.set(position);
                Ok(())
            }
            Event::Behind { earliest, .. } => Err(behind(earliest)),
            _ => Err(Error::Fault(Fault::NewerFormat { detail: "an unknown event of the order".into() })),
        }
    }

    fn take_payload(&mut self, delivered: &Delivered) -> Result<(), Error> {
        let detail = || format!("a payload of node {} of another version", delivered.origin.node);
        let decode = || payload::decode(&delivered.payload).map_err(|_| Fault::NewerFormat { detail: detail() });
        let payload = self.core.metered.step(Step::Decode, delivered.payload.len(), decode)?;
        match payload {
            Payload::Transactions(records) => {
                records.iter().for_each(|record| self.take_record(record, delivered.origin));
                if delivered.origin == self.core.origins.own() {
                    self.core.line.end_payload();
                }
            }
            Payload::Definition { request, schema } => {
                self.place = self.place.next();
                let created = self.core.tables.create(schema);
                self.core.set_applied(self.place);
                if delivered.origin == self.core.origins.own() {
                    self.core.definitions.resolve(request, created);
                }
            }
        }
        Ok(())
    }

    fn take_record(&mut self, record: &Record<'_>, origin: Origin) {
        let core = self.core;
        self.place = self.place.next();
        let decided = self.certifier.decide(core, record, origin, self.place);
        core.counts.count_decision(decided.is_ok());
        if origin != core.origins.own() {
            return core.set_applied(self.place);
        }
        let decision = decided.map(|()| self.place).map_err(|conflict| conflict.into_error(core, record.turn));
        core.metered.step(Step::Deliver, 1, || {
            // What was refused is taken back first: who begins at this place cannot have met it (D7).
            let told = core.line.deliver(record.turn, decision, core);
            core.set_applied(self.place);
            core.tell(told);
        });
        if !core.speculates() {
            core.run_again(core.line.unpark(Some(record.turn)));
        }
    }
}

/// The error of a node whose order has failed.
pub(crate) fn order_failed(error: &OrderError) -> Error {
    Error::Fault(Fault::LogFailed { detail: error.to_string() })
}

fn behind(earliest: Position) -> Error {
    let detail =
        format!("this node was away too long: what was ordered up to instance {} is not kept", earliest.instance);
    Error::Fault(Fault::LogFailed { detail })
}
