//! The begin of a life.

use super::reader::{Bounds, Found};
use super::topic::Topic;
use super::{PAUSE, Producer, Reader, Reports, Trouble, common};
use crate::error::KafkaError;
use crate::incoming::{Incoming, Search};
use crate::ledger::Ledger;
use crate::options::KafkaOptions;
use crate::record::{Kind, Record};
use env::Randomness;
use env::thread::sleep;
use env::time::{Duration, Instant};
use total::Position;

/// Time for one question to a broker, at least.
const QUESTION: Duration = Duration::from_secs(5);

/// A node's clients.
pub struct Clients {
    pub topic: Topic,
    pub producer: Producer,
    pub reader: Reader,
    pub reports: Reports,
}

/// How a life began.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    pub order: u64,
    pub life: u64,
}

impl Clients {
    pub fn new(options: &KafkaOptions, retry: Duration) -> Result<Self, KafkaError> {
        if options.brokers.is_empty() {
            return Err(KafkaError::Options("no broker is named".into()));
        }
        let config = common(options, retry)?;
        let reports = Reports::default();
        let timeout = retry.max(QUESTION);
        Ok(Self {
            topic: Topic::new(&config, options, reports.clone(), timeout)?,
            producer: Producer::new(&config, &options.topic, reports.clone())?,
            reader: Reader::new(&config, &options.topic, reports.clone(), timeout)?,
            reports,
        })
    }

    /// Begins a life: from here on nothing that an earlier life of this node adds counts (K1).
    pub fn begin(&mut self, options: &KafkaOptions, resume_after: Option<Position>) -> Result<Begun, KafkaError> {
        let give_up = Instant::now() + options.patience;
        // What tells this life's begin from others', if it is sent twice.
        let mut randomness = Randomness::from_entropy();
        let (order, nonce) = (randomness.next_u64(), randomness.next_u64());
        // The record itself may have payloads that are not in the state yet.
        let needed = resume_after.map_or(0, |at| at.instance.saturating_sub(1));
        self.until(give_up, |clients| clients.topic.prepare())?;
        let mut incoming = self.until(give_up, |clients| clients.read_all(give_up))?;
        loop {
            let nodes = incoming.ledger();
            let (order, before) = (nodes.order().unwrap_or(order), nodes.life(options.node));
            let record = Record { order, kind: Kind::Begin { node: options.node, before, nonce, needed } }.encode();
            let at = self.until(give_up, |clients| {
                let is_over = || Instant::now() >= give_up || clients_refused(&clients.reports);
                let reports = clients.reports.clone();
                let appended = clients.producer.append(&record, is_over)?;
                appended.ok_or_else(|| Trouble::Again(reports.last().unwrap_or_else(|| "no broker answers".into())))
            })?;
            self.until(give_up, |clients| clients.read_to(&mut incoming, at + 1, give_up))?;
            let known = incoming.ledger().node(options.node).map(|known| (known.life, known.nonce));
            match (known, incoming.ledger().order()) {
                (Some((life, Some(found))), Some(order)) if found == nonce => return Ok(Begun { order, life }),
                // Another life has begun meanwhile, or another node has made the order.
                _ => (),
            }
        }
    }

    /// Tries until it is done, cannot be done, or the time is over.
    fn until<T>(
        &mut self,
        give_up: Instant,
        mut step: impl FnMut(&mut Clients) -> Result<T, Trouble>,
    ) -> Result<T, KafkaError> {
        loop {
            match step(self) {
                Ok(done) => return Ok(done),
                Err(Trouble::End(why)) => return Err(KafkaError::Refused(why)),
                Err(Trouble::Again(why)) => {
                    if let Some(refusal) = self.reports.refusal() {
                        return Err(KafkaError::Refused(format!("brokers and this node refuse each other: {refusal}")));
                    }
                    if Instant::now() >= give_up {
                        return Err(KafkaError::Unavailable(self.reports.last().unwrap_or(why)));
                    }
                    sleep(PAUSE);
                }
            }
        }
    }

    /// Reads what is kept of the log.
    fn read_all(&mut self, give_up: Instant) -> Result<Incoming, Trouble> {
        let bounds = self.reader.bounds()?;
        let (next, nodes) = find_begin(&mut self.reader, bounds, || Instant::now() >= give_up)?;
        let mut incoming = Incoming::at_begin(next, nodes, None);
        self.reader.seek(next)?;
        self.read_to(&mut incoming, bounds.end, give_up)?;
        Ok(incoming)
    }

    /// Reads on up to an offset.
    fn read_to(&mut self, incoming: &mut Incoming, end: u64, give_up: Instant) -> Result<(), Trouble> {
        while incoming.next() < end {
            match self.reader.read(PAUSE)? {
                Found::Record(offset, value) => {
                    incoming.take(offset, &value).map_err(|damage| Trouble::End(damage.to_string()))?;
                }
                Found::Nothing if Instant::now() < give_up => (),
                Found::Nothing => return Err(Trouble::Again("the log could not be read in time".into())),
                // Others have deleted it meanwhile.
                Found::OutOfRange => {
                    return Err(Trouble::Again("the log's begin was deleted while it was read".into()));
                }
            }
        }
        Ok(())
    }
}

fn clients_refused(reports: &Reports) -> bool {
    reports.refusal().is_some()
}

/// Returns where a reader begins, and what the records before have come to (K4).
pub fn find_begin(reader: &mut Reader, bounds: Bounds, is_over: impl Fn() -> bool) -> Result<(u64, Ledger), Trouble> {
    if bounds.begin == 0 {
        return Ok((0, Ledger::default()));
    }
    let search = Search::from(bounds.begin);
    reader.seek(bounds.begin)?;
    let mut next = bounds.begin;
    let mut end = bounds.end;
    loop {
        while next < end {
            match reader.read(PAUSE)? {
                Found::Record(offset, value) => {
                    if let Some((up_to, nodes)) = search.look(offset, &value) {
                        return Ok((up_to + 1, nodes));
                    }
                    next = offset + 1;
                }
                Found::OutOfRange => {
                    return Err(Trouble::Again("the log's begin was deleted while it was read".into()));
                }
                Found::Nothing if is_over() => return Err(Trouble::Again("the log could not be read in time".into())),
                Found::Nothing => (),
            }
        }
        // The base may have been appended between the two questions for the bounds; now it is below the end.
        let again = reader.bounds()?.end;
        if again <= end {
            break;
        }
        end = again;
    }
    Err(Trouble::End(
        "the begin of the topic was deleted, and no node of the order has done it: keep retention.ms and retention.bytes at -1, and \
         begin a new order with another topic"
            .into(),
    ))
}
