//! The file that describes a cluster: the same on all its machines.

use crate::failure::{Failure, Outcome};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Nodes of a cluster, at most: numbers from here on are those of voters that came back without their votes.
pub const MAX_NODES: usize = 32;
/// Of these vote, at most.
const MAX_VOTERS: usize = 31;
/// A name has at most so many bytes.
const MAX_NAME_BYTES: usize = 63;

/// A cluster.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterFile {
    /// Its name: nodes of another name are refused, and directories too.
    pub name: String,
    /// File with the key that all nodes share. A path is relative to the file's directory.
    pub key: Option<PathBuf>,
    /// The nodes; a node's number is its place.
    #[serde(rename = "node")]
    pub nodes: Vec<Node>,
    /// The order is that of an etcd cluster.
    pub etcd: Option<Etcd>,
    /// The order is that of a Kafka cluster.
    pub kafka: Option<Kafka>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Where its replica of the order listens; none with etcd.
    pub order: Option<String>,
    /// Where it hands over its state.
    pub state: String,
    /// Whether it votes in the order. A node without a vote is added at the end.
    #[serde(default = "votes")]
    pub votes: bool,
}

fn votes() -> bool {
    true
}

/// An etcd cluster.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Etcd {
    /// Addresses of its members.
    pub endpoints: Vec<String>,
    /// Where the order's keys are. Default: `/seriatim/NAME`.
    pub prefix: Option<String>,
    /// PEM file with the authorities of the members' certificates; the addresses then begin with https.
    pub cacert: Option<PathBuf>,
    /// PEM file with this node's certificate.
    pub cert: Option<PathBuf>,
    /// PEM file with its key.
    pub cert_key: Option<PathBuf>,
    /// A user of etcd.
    pub user: Option<String>,
    /// File with the user's password in its first line.
    pub password_file: Option<PathBuf>,
}

/// A Kafka cluster.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kafka {
    /// Addresses of some brokers: `HOST:PORT`.
    pub brokers: Vec<String>,
    /// The order's topic. Default: `seriatim.NAME`.
    pub topic: Option<String>,
    /// Copies of the topic, if it is made by a node, and the least if not.
    #[serde(default = "three")]
    pub replication: u16,
    /// PEM file with the authorities of the brokers' certificates.
    pub cacert: Option<PathBuf>,
    /// PEM file with this node's certificate.
    pub cert: Option<PathBuf>,
    /// PEM file with its key.
    pub cert_key: Option<PathBuf>,
    /// A user of Kafka.
    pub user: Option<String>,
    /// File with the user's password in its first line.
    pub password_file: Option<PathBuf>,
    /// How the user proves its password.
    #[serde(default)]
    pub sasl: Sasl,
}

fn three() -> u16 {
    3
}

/// How a user of Kafka proves its password.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sasl {
    /// It is sent; only with TLS.
    Plain,
    ScramSha256,
    #[default]
    ScramSha512,
}

impl ClusterFile {
    /// Reads the file, and makes its paths absolute.
    pub fn read(path: &Path) -> Outcome<ClusterFile> {
        let text = std::fs::read_to_string(path).map_err(Failure::file(path))?;
        let named = |what: &dyn std::fmt::Display| Failure::Trouble(format!("{}: {what}", path.display()));
        let mut file: ClusterFile = toml::from_str(&text).map_err(|error| named(&error))?;
        file.check().map_err(|what| named(&what))?;
        let beside = path.parent().unwrap_or(Path::new(""));
        let own = file.key.iter_mut();
        let etcd = file.etcd.iter_mut();
        let etcd =
            etcd.flat_map(|etcd| [&mut etcd.cacert, &mut etcd.cert, &mut etcd.cert_key, &mut etcd.password_file]);
        let kafka = file.kafka.iter_mut();
        let kafka =
            kafka.flat_map(|kafka| [&mut kafka.cacert, &mut kafka.cert, &mut kafka.cert_key, &mut kafka.password_file]);
        own.chain(etcd.flatten()).chain(kafka.flatten()).for_each(|path| *path = beside.join(&*path));
        Ok(file)
    }

    /// The order, by its name: `paxos`, `etcd` or `kafka`.
    pub fn order(&self) -> &'static str {
        match (&self.etcd, &self.kafka) {
            (Some(_), _) => "etcd",
            (None, Some(_)) => "kafka",
            (None, None) => "paxos",
        }
    }

    /// Number of nodes that vote.
    pub fn voters(&self) -> usize {
        self.nodes.iter().filter(|node| node.votes).count()
    }

    fn check(&self) -> Result<(), String> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if !(1..=MAX_NAME_BYTES).contains(&self.name.len()) || !self.name.bytes().all(is_plain) {
            return Err(format!("name {:?}: it must have 1 to {MAX_NAME_BYTES} letters, digits, -, _ or .", self.name));
        }
        if !(1..=MAX_NODES).contains(&self.nodes.len()) {
            return Err(format!("{} nodes: there must be 1 to {MAX_NODES}", self.nodes.len()));
        }
        match (&self.etcd, &self.kafka) {
            (Some(_), Some(_)) => Err("[etcd] and [kafka]: there is one order".into()),
            (Some(etcd), None) => self.check_etcd(etcd),
            (None, Some(kafka)) => self.check_kafka(kafka),
            (None, None) => self.check_voters(),
        }
    }

    fn check_etcd(&self, etcd: &Etcd) -> Result<(), String> {
        if etcd.endpoints.is_empty() {
            return Err("[etcd] needs endpoints".into());
        }
        let has_user = (etcd.user.is_some(), etcd.password_file.is_some());
        self.check_foreign("etcd", [&etcd.cacert, &etcd.cert, &etcd.cert_key], has_user)
    }

    fn check_kafka(&self, kafka: &Kafka) -> Result<(), String> {
        if !cfg!(feature = "kafka") {
            return Err("[kafka]: this program was built without the feature kafka".into());
        }
        if kafka.brokers.is_empty() {
            return Err("[kafka] needs brokers".into());
        }
        if kafka.replication == 0 {
            return Err("[kafka] replication: there must be a copy".into());
        }
        if kafka.user.is_some() && kafka.sasl == Sasl::Plain && kafka.cacert.is_none() {
            return Err("[kafka] sasl = \"plain\" sends the password: it needs cacert".into());
        }
        let has_user = (kafka.user.is_some(), kafka.password_file.is_some());
        self.check_foreign("kafka", [&kafka.cacert, &kafka.cert, &kafka.cert_key], has_user)
    }

    /// Checks what orders have in common that are not those of the nodes.
    fn check_foreign(
        &self,
        name: &str,
        [cacert, cert, cert_key]: [&Option<PathBuf>; 3],
        (has_user, has_password): (bool, bool),
    ) -> Result<(), String> {
        if cert.is_some() != cert_key.is_some() || (cert.is_some() && cacert.is_none()) {
            return Err(format!("[{name}] cert needs cert_key and cacert"));
        }
        if has_user != has_password {
            return Err(format!("[{name}] user needs password_file, and the other way round"));
        }
        match self.nodes.iter().position(|node| node.order.is_some() || !node.votes) {
            Some(at) => {
                Err(format!("node {at}: with [{name}] a node has neither an order address nor a vote of its own"))
            }
            None => Ok(()),
        }
    }

    fn check_voters(&self) -> Result<(), String> {
        if let Some(at) = self.nodes.iter().position(|node| node.order.is_none()) {
            return Err(format!("node {at} needs an address for the order: order = \"HOST:PORT\""));
        }
        let voters = self.voters();
        if !(1..=MAX_VOTERS).contains(&voters) {
            return Err(format!("{voters} nodes vote: there must be 1 to {MAX_VOTERS}"));
        }
        match self.nodes.iter().take(voters).position(|node| !node.votes) {
            Some(at) => Err(format!("node {at} has no vote, and stands before one that has: put it at the end")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: &str = r#"
name = "shop"
key = "cluster.key"

[[node]]
order = "a:7400"
state = "a:7401"

[[node]]
order = "b:7400"
state = "b:7401"

[[node]]
order = "c:7400"
state = "c:7401"
votes = false
"#;

    fn parsed(text: &str) -> Result<ClusterFile, String> {
        let file: ClusterFile = toml::from_str(text).map_err(|error| error.to_string())?;
        file.check().map(|()| file)
    }

    #[test]
    fn a_file_is_read_and_its_paths_are_beside_it() {
        let directory = testing::Directory::made("cluster-file");
        let path = directory.file("cluster.toml", THREE);
        let file = ClusterFile::read(&path).unwrap();
        assert_eq!(file.key, Some(directory.join("cluster.key")));
        assert_eq!((file.nodes.len(), file.voters()), (3, 2));
        assert_eq!(file.nodes[0].order.as_deref(), Some("a:7400"));
        let error = ClusterFile::read(&directory.join("none")).unwrap_err();
        assert!(matches!(error, Failure::Trouble(what) if what.contains("none: No such file")));
    }

    #[cfg(feature = "kafka")]
    #[test]
    fn kafka_is_described_as_etcd_is() {
        let kafka = "name = \"x\"\n[[node]]\nstate = \"a:2\"\n[kafka]\nbrokers = [\"b:9092\"]\n";
        let file = parsed(kafka).unwrap();
        assert_eq!(file.order(), "kafka");
        let described = file.kafka.unwrap();
        assert_eq!((described.replication, described.sasl), (3, Sasl::ScramSha512));
        for (more, why) in [
            ("replication = 0\n", "there must be a copy"),
            ("user = \"u\"\npassword_file = \"p\"\nsasl = \"plain\"\n", "needs cacert"),
            ("user = \"u\"\n", "needs password_file"),
            ("cert = \"c\"\n", "cert needs"),
            ("[etcd]\nendpoints = [\"http://e:1\"]\n", "there is one order"),
        ] {
            let error = parsed(&format!("{kafka}{more}")).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[cfg(not(feature = "kafka"))]
    #[test]
    fn kafka_needs_a_feature() {
        let error = parsed("name = \"x\"\n[[node]]\nstate = \"a:2\"\n[kafka]\nbrokers = [\"b:9092\"]\n").unwrap_err();
        assert!(error.contains("without the feature kafka"), "{error}");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let node = "[[node]]\norder = \"a:1\"\nstate = \"a:2\"\n";
        let etcd = "[[node]]\nstate = \"a:2\"\n[etcd]\nendpoints = [\"http://e:2379\"]\n";
        assert_eq!(parsed(&format!("name = \"x\"\n{etcd}")).unwrap().order(), "etcd");
        assert_eq!(parsed(THREE).unwrap().order(), "paxos");
        for (text, why) in [
            (format!("name = \"a b\"\n{node}"), "letters, digits"),
            (format!("name = \"\"\n{node}"), "1 to 63"),
            ("name = \"x\"\nnode = []".into(), "0 nodes"),
            (format!("name = \"x\"\n{}", node.repeat(33)), "33 nodes"),
            (format!("name = \"x\"\n{}", node.repeat(32)), "32 nodes vote"),
            ("name = \"x\"\n[[node]]\nstate = \"a:2\"".into(), "needs an address for the order"),
            (format!("name = \"x\"\n{node}votes = false\n{node}"), "put it at the end"),
            (format!("name = \"x\"\n{node}votes = false\n"), "0 nodes vote"),
            (format!("name = \"x\"\ncolour = 1\n{node}"), "unknown field `colour`"),
            (format!("name = \"x\"\n{node}[etcd]\nendpoints = [\"http://e:1\"]"), "neither an order address"),
            ("name = \"x\"\n[[node]]\nstate = \"a:2\"\n[etcd]\nendpoints = []".into(), "needs endpoints"),
            (format!("name = \"x\"\n{etcd}cert = \"c\"\n"), "cert needs"),
            (format!("name = \"x\"\n{etcd}user = \"u\"\n"), "password_file"),
        ] {
            let error = parsed(&text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
