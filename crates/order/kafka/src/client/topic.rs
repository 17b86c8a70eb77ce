//! The topic: made if it is not there, checked if it is; and the deletion of records.

use super::{Context, PARTITION, Reports, Trouble, creation, trouble, trouble_of};
use crate::error::KafkaError;
use crate::options::KafkaOptions;
use env::time::Duration;
use futures_executor::block_on;
use rdkafka::admin::{AdminClient, AdminOptions, ConfigResource, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

/// Greatest length of a record, which has a payload of 1 MiB, or a batch of as much.
pub const MAX_MESSAGE_BYTES: usize = 2 << 20;

/// What the topic has to be like: the setting, and the value that it is made with.
const SETTINGS: [(&str, &str); 5] = [
    // The order says itself what is deleted, and when.
    ("cleanup.policy", "delete"),
    ("retention.ms", "-1"),
    ("retention.bytes", "-1"),
    // A copy that lacks acknowledged records never leads.
    ("unclean.leader.election.enable", "false"),
    ("max.message.bytes", "2097152"),
];

/// Administers the topic.
pub struct Topic {
    name: String,
    replication: u16,
    client: AdminClient<Context>,
    timeout: Duration,
}

impl Topic {
    pub fn new(
        common: &ClientConfig,
        options: &KafkaOptions,
        reports: Reports,
        timeout: Duration,
    ) -> Result<Self, KafkaError> {
        let client = common.create_with_context(Context(reports)).map_err(|error| creation(&error))?;
        Ok(Self { name: options.topic.clone(), replication: options.replication.max(1), client, timeout })
    }

    fn options(&self) -> AdminOptions {
        AdminOptions::new().request_timeout(Some(self.timeout))
    }

    /// More than half of the copies: then any two majorities have one in common.
    fn majority(&self) -> u16 {
        self.replication / 2 + 1
    }

    /// Makes the topic if it is not there, and checks it.
    pub fn prepare(&self) -> Result<(), Trouble> {
        let topic = [ResourceSpecifier::Topic(&self.name)];
        let mut found =
            block_on(self.client.describe_configs(&topic, &self.options())).map_err(|error| trouble(&error))?;
        match found.pop() {
            // The library's answer for a topic that is not there.
            Some(Ok(settings)) if settings.entries.is_empty() => self.make(),
            Some(Ok(settings)) => {
                self.check(&settings)?;
                self.check_copies()
            }
            Some(Err(RDKafkaErrorCode::UnknownTopicOrPartition)) => self.make(),
            Some(Err(code)) => Err(trouble_of(code)),
            None => Err(Trouble::Again(format!("{}: its settings are not known", self.name))),
        }
    }

    /// Makes the topic. It is checked by the next try, when all brokers know of it.
    fn make(&self) -> Result<(), Trouble> {
        let majority = self.majority().to_string();
        let mut topic = NewTopic::new(&self.name, 1, TopicReplication::Fixed(self.replication.into()));
        topic = topic.set("min.insync.replicas", &majority);
        for (setting, value) in SETTINGS {
            topic = topic.set(setting, value);
        }
        let made = block_on(self.client.create_topics([&topic], &self.options())).map_err(|error| trouble(&error))?;
        let again = Trouble::Again(format!("{} was made", self.name));
        match made.into_iter().next() {
            Some(Err((_, RDKafkaErrorCode::InvalidReplicationFactor))) => {
                Err(Trouble::Again(format!("the topic is to have {} copies, and fewer brokers run", self.replication)))
            }
            Some(Err((_, code))) if code != RDKafkaErrorCode::TopicAlreadyExists => Err(trouble_of(code)),
            _ => Err(again),
        }
    }

    /// Refuses a topic that does not keep what was acknowledged.
    fn check(&self, settings: &ConfigResource) -> Result<(), Trouble> {
        let least = [("min.insync.replicas", self.majority().to_string())];
        let least = least.iter().map(|(name, value)| (*name, value.as_str()));
        for (name, wanted) in least.chain(SETTINGS) {
            let found = settings.get(name).and_then(|entry| entry.value.as_deref());
            let found = found.ok_or_else(|| Trouble::Again(format!("{}: its settings are not known", self.name)))?;
            if !serves(name, found, wanted) {
                return Err(Trouble::End(format!(
                    "the topic {} has {name}={found}, and the order needs {wanted}: kafka-configs.sh --alter --entity-type topics \
                     --entity-name {} --add-config {name}={wanted}",
                    self.name, self.name
                )));
            }
        }
        Ok(())
    }

    /// Refuses a topic with several partitions, or with too few copies.
    fn check_copies(&self) -> Result<(), Trouble> {
        let metadata =
            self.client.inner().fetch_metadata(Some(&self.name), self.timeout).map_err(|error| trouble(&error))?;
        let unknown = || Trouble::Again(format!("{}: its partitions are not known", self.name));
        let topic = metadata.topics().iter().find(|topic| topic.name() == self.name).ok_or_else(unknown)?;
        let copies = match topic.partitions() {
            [] => return Err(unknown()),
            [partition] => partition.replicas().len(),
            partitions => {
                return Err(Trouble::End(format!(
                    "the topic {} has {} partitions, and an order needs one: choose another topic",
                    self.name,
                    partitions.len()
                )));
            }
        };
        if copies < usize::from(self.replication) {
            return Err(Trouble::End(format!(
                "the topic {} has {copies} copies, and {} are asked for: add copies with kafka-reassign-partitions.sh, or choose \
                 another topic",
                self.name, self.replication
            )));
        }
        Ok(())
    }

    /// Deletes the records up to this offset.
    pub fn delete(&self, up_to: u64) -> Result<(), Trouble> {
        let mut place = TopicPartitionList::new();
        let before = i64::try_from(up_to + 1).map_err(|_| Trouble::End(format!("{up_to} is no offset")))?;
        place.add_partition_offset(&self.name, PARTITION, Offset::Offset(before)).map_err(|error| trouble(&error))?;
        let done = block_on(self.client.delete_records(&place, &self.options())).map_err(|error| trouble(&error))?;
        let failed = done.elements().iter().find_map(|partition| partition.error().err());
        match failed.as_ref().map(|error| (error.rdkafka_error_code(), trouble(error))) {
            // Somebody has deleted more.
            None | Some((Some(RDKafkaErrorCode::OffsetOutOfRange), _)) => Ok(()),
            Some((_, trouble)) => Err(trouble),
        }
    }
}

/// Whether a setting's value does: of lengths and copies more is right too.
fn serves(name: &str, found: &str, wanted: &str) -> bool {
    let at_least = |least: u64| found.parse::<u64>().is_ok_and(|found| found >= least);
    match (name, wanted.parse()) {
        ("min.insync.replicas" | "max.message.bytes", Ok(least)) => at_least(least),
        _ => found == wanted,
    }
}
