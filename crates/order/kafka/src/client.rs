//! What is asked of Kafka, through librdkafka.

pub mod begin;
mod producer;
mod reader;
pub mod reading;
pub mod sending;
mod topic;

pub use producer::Producer;
pub use reader::Reader;

use crate::error::KafkaError;
use crate::options::{KafkaOptions, Mechanism};
use env::time::Duration;
use rdkafka::ClientConfig;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError as ClientError, RDKafkaErrorCode};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The partition of the topic.
const PARTITION: i32 = 0;
/// Time between two tries.
const PAUSE: Duration = Duration::from_millis(50);

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Another try may help.
    Again(String),
    /// Trying again does not help.
    End(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Again(why) | Self::End(why) => f.write_str(why),
        }
    }
}

/// Says what an error of the client means for us.
fn trouble(error: &ClientError) -> Trouble {
    let code = error.rdkafka_error_code();
    code.map_or_else(|| Trouble::Again(error.to_string()), trouble_of)
}

/// Says what an error code of Kafka means for us.
fn trouble_of(code: RDKafkaErrorCode) -> Trouble {
    use RDKafkaErrorCode as Code;
    match code {
        Code::TopicAuthorizationFailed | Code::GroupAuthorizationFailed | Code::ClusterAuthorizationFailed => {
            Trouble::End(format!(
                "Kafka refuses this node's user ({code}): it needs the rights to read, write, delete, describe and describe the \
                 configuration of the topic, to create it if it is not there, and to read the consumer group of the same name"
            ))
        }
        Code::MessageSizeTooLarge => Trouble::End(format!(
            "the topic or a broker refuses long records ({code}): set the topic's max.message.bytes to {} or more",
            topic::MAX_MESSAGE_BYTES
        )),
        code => Trouble::Again(code.to_string()),
    }
}

/// The last error that the client library has reported by itself: no connection, no such user.
#[derive(Clone, Debug, Default)]
pub struct Reports(Arc<Mutex<Option<(bool, String)>>>);

impl Reports {
    fn add(&self, error: &ClientError, reason: &str) {
        let is_identity = matches!(
            error.rdkafka_error_code(),
            Some(RDKafkaErrorCode::Authentication | RDKafkaErrorCode::SaslAuthenticationFailed | RDKafkaErrorCode::SSL)
        );
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // That all brokers are down says less than why.
        let says_less = matches!(error.rdkafka_error_code(), Some(RDKafkaErrorCode::AllBrokersDown));
        if !(says_less && last.is_some()) {
            *last = Some((is_identity, reason.to_owned()));
        }
    }

    /// Returns the last one.
    pub fn last(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(_, reason)| reason.clone())
    }

    /// Returns the last one, if brokers and this node do not accept each other's identity.
    fn refusal(&self) -> Option<String> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().filter(|(is_identity, _)| *is_identity).map(|(_, reason)| reason.clone())
    }
}

/// Receives what the client library reports by itself; its log is not printed.
#[derive(Clone, Debug, Default)]
pub struct Context(pub Reports);

impl ClientContext for Context {
    fn log(&self, _level: RDKafkaLogLevel, _facility: &str, _line: &str) {}

    fn error(&self, error: ClientError, reason: &str) {
        self.0.add(&error, reason);
    }
}

impl ConsumerContext for Context {}

/// The settings that all clients of a node have.
pub fn common(options: &KafkaOptions, retry: Duration) -> Result<ClientConfig, KafkaError> {
    let mut config = ClientConfig::new();
    let retry_ms = retry.as_millis().clamp(10, 300_000).to_string();
    config
        .set("bootstrap.servers", options.brokers.join(","))
        .set("client.id", format!("seriatim-{}", options.node))
        .set("socket.timeout.ms", retry_ms)
        .set("socket.connection.setup.timeout.ms", "5000")
        .set("socket.nagle.disable", "true")
        .set("topic.metadata.refresh.interval.ms", "5000")
        .set("topic.metadata.refresh.fast.interval.ms", "100")
        .set("retry.backoff.ms", "50")
        .set("reconnect.backoff.ms", "20")
        .set("reconnect.backoff.max.ms", "500");
    let protocol = match (&options.tls, &options.user) {
        (None, None) => "plaintext",
        (Some(_), None) => "ssl",
        (None, Some(_)) => "sasl_plaintext",
        (Some(_), Some(_)) => "sasl_ssl",
    };
    config.set("security.protocol", protocol);
    if let Some(tls) = &options.tls {
        config.set("ssl.ca.pem", &tls.authorities);
        if let Some((certificate, key)) = &tls.identity {
            config.set("ssl.certificate.pem", certificate).set("ssl.key.pem", key);
        }
    }
    if let Some(user) = &options.user {
        let mechanism = match user.mechanism {
            Mechanism::Plain if options.tls.is_none() => {
                return Err(KafkaError::Options(
                    "the mechanism PLAIN sends the password: use it with TLS, or SCRAM without".into(),
                ));
            }
            Mechanism::Plain => "PLAIN",
            Mechanism::ScramSha256 => "SCRAM-SHA-256",
            Mechanism::ScramSha512 => "SCRAM-SHA-512",
        };
        config.set("sasl.mechanism", mechanism).set("sasl.username", &user.name).set("sasl.password", &user.password);
    }
    Ok(config)
}

/// Says what the library's refusal of a client means: without the values, which may be secret.
fn creation(error: &ClientError) -> KafkaError {
    KafkaError::Options(match error {
        ClientError::ClientConfig(_, why, key, _) => format!("{key}: {why}"),
        error => error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{KafkaTls, KafkaUser};

    #[test]
    fn errors_that_a_person_has_to_cure_end_the_order() {
        let end = |code| matches!(trouble_of(code), Trouble::End(_));
        assert!(end(RDKafkaErrorCode::TopicAuthorizationFailed) && end(RDKafkaErrorCode::MessageSizeTooLarge));
        assert!(!end(RDKafkaErrorCode::NotEnoughReplicas) && !end(RDKafkaErrorCode::BrokerTransportFailure));
    }

    #[test]
    fn a_password_is_not_sent_in_the_clear() {
        let user = |mechanism| Some(KafkaUser { name: "a".into(), password: "b".into(), mechanism });
        let options = KafkaOptions { user: user(Mechanism::Plain), ..KafkaOptions::new(0, vec!["a:1".into()]) };
        let retry = Duration::from_secs(1);
        assert!(matches!(common(&options, retry), Err(KafkaError::Options(why)) if why.contains("with TLS")));
        let scram = KafkaOptions { user: user(Mechanism::ScramSha512), ..options.clone() };
        assert_eq!(common(&scram, retry).unwrap().get("security.protocol"), Some("sasl_plaintext"));
        let tls = Some(KafkaTls { authorities: "c".into(), identity: None });
        assert_eq!(common(&KafkaOptions { tls, ..options }, retry).unwrap().get("security.protocol"), Some("sasl_ssl"));
    }
}
