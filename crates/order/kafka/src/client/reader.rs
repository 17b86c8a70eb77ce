//! Reads records.

use super::{Context, PARTITION, Reports, Trouble, creation, trouble};
use crate::error::KafkaError;
use bytes::Bytes;
use env::time::Duration;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::message::Message;
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

/// What is in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Offset of the first record that is kept.
    pub begin: u64,
    /// Offset behind the last record that can be read.
    pub end: u64,
}

/// What a read has found.
#[derive(Debug)]
pub enum Found {
    /// A record.
    Record(u64, Bytes),
    /// Nothing yet.
    Nothing,
    /// The offset to be read is not in the log, or not any more.
    OutOfRange,
}

/// Reads the topic's records from an offset on.
pub struct Reader {
    topic: String,
    config: ClientConfig,
    reports: Reports,
    client: BaseConsumer<Context>,
    has_place: bool,
    timeout: Duration,
}

impl Reader {
    /// A client with these settings. `timeout` is for one question.
    pub fn new(common: &ClientConfig, topic: &str, reports: Reports, timeout: Duration) -> Result<Self, KafkaError> {
        let mut config = common.clone();
        config
            // The library reads nothing without one; nothing is committed to it, and nobody joins it.
            .set("group.id", topic)
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("auto.offset.reset", "error")
            // Other nodes' records that may still be undone are no part of an order's topic: there are no transactions.
            .set("isolation.level", "read_uncommitted")
            .set("check.crcs", "true")
            .set("fetch.wait.max.ms", "500")
            .set("fetch.error.backoff.ms", "50")
            .set("fetch.message.max.bytes", super::topic::MAX_MESSAGE_BYTES.to_string())
            .set("queued.max.messages.kbytes", "16384")
            .set("max.poll.interval.ms", "86400000");
        let client = config.create_with_context(Context(reports.clone())).map_err(|error| creation(&error))?;
        Ok(Self { topic: topic.to_owned(), config, reports, client, has_place: false, timeout })
    }

    /// Asks the leader what is in the log.
    pub fn bounds(&self) -> Result<Bounds, Trouble> {
        let (begin, end) =
            self.client.fetch_watermarks(&self.topic, PARTITION, self.timeout).map_err(|error| trouble(&error))?;
        match (u64::try_from(begin), u64::try_from(end)) {
            (Ok(begin), Ok(end)) => Ok(Bounds { begin, end }),
            _ => Err(Trouble::Again(format!("{}: its bounds are not known", self.topic))),
        }
    }

    /// Reads from this offset on.
    ///
    /// Each place has a client of its own: librdkafka 2.12 stops the process by an assertion when a partition is assigned again, or the
    /// client is closed, while it still stops to read from the place before.
    pub fn seek(&mut self, offset: u64) -> Result<(), Trouble> {
        if self.has_place {
            let context = Context(self.reports.clone());
            self.client =
                self.config.create_with_context(context).map_err(|error| Trouble::End(creation(&error).to_string()))?;
        }
        self.has_place = true;
        let mut place = TopicPartitionList::new();
        let offset = i64::try_from(offset).map_err(|_| Trouble::End(format!("{offset} is no offset")))?;
        place
            .add_partition_offset(&self.topic, PARTITION, Offset::Offset(offset))
            .and_then(|()| self.client.assign(&place))
            .map_err(|error| trouble(&error))
    }

    /// Reads the next record.
    pub fn read(&self, patience: Duration) -> Result<Found, Trouble> {
        match self.client.poll(patience) {
            None => Ok(Found::Nothing),
            Some(Ok(message)) => {
                let offset = u64::try_from(message.offset()).unwrap_or(u64::MAX);
                Ok(Found::Record(offset, Bytes::copy_from_slice(message.payload().unwrap_or_default())))
            }
            Some(Err(error)) => match error.rdkafka_error_code() {
                Some(RDKafkaErrorCode::AutoOffsetReset | RDKafkaErrorCode::OffsetOutOfRange) => Ok(Found::OutOfRange),
                _ => Err(trouble(&error)),
            },
        }
    }
}
