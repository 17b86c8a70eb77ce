//! Brokers that want certificates, or users with passwords.

mod common;

use common::Kafka;
use env::time::Duration;
use seriatim_kafka::{KafkaError, KafkaOptions, KafkaOrder, KafkaTls, KafkaUser, Mechanism};
use testing::Authority;
use testing::brokers::{Brokers, Listener, Setting};
use total::suite::{Cluster, propose, take};
use total::{OrderLimits, TotalOrder};

fn start(options: KafkaOptions) -> Result<KafkaOrder, KafkaError> {
    KafkaOrder::start(options, OrderLimits::default(), None)
}

/// Starts a node that should not start.
fn refused(options: KafkaOptions) -> KafkaError {
    start(options).expect_err("it should be refused")
}

fn assert_works(order: &KafkaOrder) {
    propose::<Kafka>(order, "x".into());
    take::<Kafka>(order, &[order.origin().node], 1);
    order.barrier(Kafka::PATIENCE).expect("it is placed");
}

/// One broker, with a listener that wants certificates and two that want users.
#[test]
fn brokers_and_nodes_show_who_they_are() {
    if !Kafka::can_start() {
        return;
    }
    let Some(authority) = Authority::new("certificates of Kafka") else { return };
    let Some(stranger) = Authority::new("certificates of Kafka") else { return };
    ["broker", "node"].iter().for_each(|name| authority.sign(name));
    let both = authority.text("broker.key") + &authority.text("broker.pem");
    let keys = std::path::PathBuf::from(authority.path("both.pem"));
    std::fs::write(&keys, both).unwrap();
    let listener = |name, protocol| Listener { name, protocol };
    let scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;";
    let plain = "org.apache.kafka.common.security.plain.PlainLoginModule required user_orderer=\"word\";";
    let setting = Setting {
        listeners: vec![
            listener("CERTIFIED", "SSL"),
            listener("SCRAM", "SASL_PLAINTEXT"),
            listener("PLAIN", "SASL_SSL"),
        ],
        properties: format!(
            "ssl.keystore.type=PEM\nssl.keystore.location={}\nssl.truststore.type=PEM\nssl.truststore.location={}\n\
             listener.name.certified.ssl.client.auth=required\n\
             listener.name.scram.sasl.enabled.mechanisms=SCRAM-SHA-256,SCRAM-SHA-512\n\
             listener.name.scram.scram-sha-256.sasl.jaas.config={scram}\n\
             listener.name.scram.scram-sha-512.sasl.jaas.config={scram}\n\
             listener.name.plain.sasl.enabled.mechanisms=PLAIN\nlistener.name.plain.plain.sasl.jaas.config={plain}\n\
             authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n\
             super.users=User:ANONYMOUS;User:CN=node;User:orderer\n",
            keys.display(),
            authority.path("ca.pem"),
        ),
        format: ["SCRAM-SHA-512=[name=orderer,password=word]", "SCRAM-SHA-256=[name=other,password=thing]"]
            .iter()
            .flat_map(|user| ["--add-scram".to_owned(), (*user).to_owned()])
            .collect(),
    };
    let mut brokers = Brokers::new(1, setting);
    brokers.start();
    let options = |listener: usize| KafkaOptions {
        replication: 1,
        patience: Kafka::PATIENCE,
        ..KafkaOptions::new(0, vec![format!("127.0.0.1:{}", brokers.port(0, listener))])
    };
    certificates(&options(0), &authority, &stranger);
    users(&options(1));
    password_in_tls(&options(2), &authority);
}

fn certificates(options: &KafkaOptions, authority: &Authority, stranger: &Authority) {
    let identity = Some((authority.text("node.pem"), authority.text("node.key")));
    let tls = KafkaTls { authorities: authority.text("ca.pem"), identity };
    let right = KafkaOptions { tls: Some(tls.clone()), ..options.clone() };
    assert_works(&start(right.clone()).unwrap());
    assert!(!format!("{right:?}").contains("PRIVATE KEY"));
    let other = KafkaTls { authorities: stranger.text("ca.pem"), ..tls.clone() };
    let unknown = refused(KafkaOptions { tls: Some(other), ..options.clone() });
    assert!(matches!(&unknown, KafkaError::Refused(why) if why.contains("certificate verify failed")), "{unknown}");
    let nobody = KafkaTls { identity: None, ..tls };
    let nobody = refused(KafkaOptions { tls: Some(nobody), patience: Duration::from_secs(5), ..options.clone() });
    assert!(matches!(nobody, KafkaError::Refused(_) | KafkaError::Unavailable(_)), "{nobody}");
}

fn users(options: &KafkaOptions) {
    let of = |name: &str, password: &str, mechanism| KafkaOptions {
        user: Some(KafkaUser { name: name.into(), password: password.into(), mechanism }),
        ..options.clone()
    };
    let right = of("orderer", "word", Mechanism::ScramSha512);
    assert_works(&start(right.clone()).unwrap());
    assert!(!format!("{right:?}").contains("word"));
    for (options, reason) in [
        (of("orderer", "guess", Mechanism::ScramSha512), "brokers and this node refuse each other"),
        (of("other", "thing", Mechanism::ScramSha256), "it needs the rights to read, write, delete"),
    ] {
        let error = refused(options);
        assert!(matches!(&error, KafkaError::Refused(why) if why.contains(reason)), "{error}");
    }
}

fn password_in_tls(options: &KafkaOptions, authority: &Authority) {
    let tls = Some(KafkaTls { authorities: authority.text("ca.pem"), identity: None });
    let user = Some(KafkaUser { name: "orderer".into(), password: "word".into(), mechanism: Mechanism::Plain });
    assert_works(&start(KafkaOptions { tls, user, ..options.clone() }).unwrap());
}
