//! Appends records, one at a time.

use super::{Context, PARTITION, PAUSE, Reports, Trouble, creation, trouble};
use crate::error::KafkaError;
use rdkafka::ClientConfig;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError as ClientError;
use rdkafka::message::{DeliveryResult, Message};
use rdkafka::producer::{BaseRecord, Producer as _, ProducerContext, ThreadedProducer};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// What became of the record that was sent.
type Outcome = Option<Result<i64, ClientError>>;

/// Receives what became of a record.
#[derive(Clone, Debug, Default)]
struct Answers {
    common: Context,
    answer: Arc<(Mutex<Outcome>, Condvar)>,
}

impl ClientContext for Answers {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        self.common.log(level, facility, line);
    }

    fn error(&self, error: ClientError, reason: &str) {
        self.common.error(error, reason);
    }
}

impl ProducerContext for Answers {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let outcome = match result {
            Ok(message) => Ok(message.offset()),
            Err((error, _)) => Err(error.clone()),
        };
        *self.answer.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        self.answer.1.notify_all();
    }
}

/// Appends records to the topic.
pub struct Producer {
    topic: String,
    config: ClientConfig,
    answers: Answers,
    client: ThreadedProducer<Answers>,
}

impl Producer {
    /// A client with these settings.
    pub fn new(common: &ClientConfig, topic: &str, reports: Reports) -> Result<Self, KafkaError> {
        let mut config = common.clone();
        config
            .set("acks", "all")
            // Fewer repetitions in the log. Nothing rests on it: brokers forget the numbers of producers.
            .set("enable.idempotence", "true")
            // The record is tried until there is an answer, as long as this process wants.
            .set("message.timeout.ms", "0")
            .set("linger.ms", "0")
            .set("message.max.bytes", super::topic::MAX_MESSAGE_BYTES.to_string());
        let answers = Answers { common: Context(reports), answer: Arc::default() };
        let client = config.create_with_context(answers.clone()).map_err(|error| creation(&error))?;
        Ok(Self { topic: topic.to_owned(), config, answers, client })
    }

    /// Appends a record, and returns its offset: more than half of the copies have it. `None` if `is_over` says so meanwhile.
    ///
    /// If it fails the record may be there all the same.
    pub fn append(&mut self, record: &[u8], is_over: impl Fn() -> bool) -> Result<Option<u64>, Trouble> {
        let shared = Arc::clone(&self.answers.answer);
        let (answer, answered) = &*shared;
        *answer.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let to_send = BaseRecord::<(), [u8]>::to(&self.topic).partition(PARTITION).payload(record);
        if let Err((error, _)) = self.client.send(to_send) {
            return Err(self.failed(&error));
        }
        let mut outcome = answer.lock().unwrap_or_else(PoisonError::into_inner);
        let result = loop {
            if let Some(result) = outcome.take() {
                break result;
            }
            if is_over() {
                return Ok(None);
            }
            outcome = answered.wait_timeout(outcome, PAUSE).unwrap_or_else(PoisonError::into_inner).0;
        };
        drop(outcome);
        match result.map(u64::try_from) {
            Ok(Ok(offset)) => Ok(Some(offset)),
            // The broker has it from an earlier try, and has forgotten where: what is sent again has a place of its own.
            Ok(Err(_)) => Err(Trouble::Again("the record's place is not known".into())),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// A producer that has failed for good is replaced by a new one.
    fn failed(&mut self, error: &ClientError) -> Trouble {
        let trouble = trouble(error);
        let Some((_, why)) = self.client.client().fatal_error() else { return trouble };
        self.answers.answer = Arc::default();
        match self.config.create_with_context(self.answers.clone()) {
            Ok(client) => self.client = client,
            Err(error) => return Trouble::End(creation(&error).to_string()),
        }
        if let Trouble::End(_) = trouble { trouble } else { Trouble::Again(why) }
    }
}
