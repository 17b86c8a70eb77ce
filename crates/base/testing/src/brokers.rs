//! Brokers of Kafka in KRaft mode, as processes, each of them also a controller.

use crate::{Directory, free_ports};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Where `make test-kafka` puts the broker's libraries.
const LIBRARIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../target/kafka/lib");
const CLUSTER: &str = "MkU3OEVBNTcwNTJENDM2Qg";

/// Returns whether brokers can be started; if not, says so.
pub fn can_start() -> bool {
    let what = "an order on Kafka";
    if !Path::new(LIBRARIES).join("ready").exists() {
        crate::skip("the broker's libraries are missing (make test-kafka downloads them)", what);
        return false;
    }
    crate::has("java", what)
}

/// A listener of each broker for clients.
pub struct Listener {
    /// Its name in the brokers' settings.
    pub name: &'static str,
    /// `PLAINTEXT`, `SSL` and so on.
    pub protocol: &'static str,
}

/// What a cluster is like.
#[derive(Default)]
pub struct Setting {
    /// Listeners for clients.
    pub listeners: Vec<Listener>,
    /// Further settings.
    pub properties: String,
    /// Arguments for the tool that makes the brokers' directories.
    pub format: Vec<String>,
}

/// Brokers that stop with the process that has started them.
pub struct Brokers {
    directory: PathBuf,
    setting: Setting,
    count: usize,
    /// Of each broker, of its listeners, then for brokers, then for controllers.
    ports: Vec<Vec<u16>>,
    /// Ports that clients are told, where they differ from the brokers'.
    advertised: Vec<Vec<u16>>,
    running: Vec<Option<Broker>>,
}

/// A broker, and the shell that ends it when this process has ended, whatever has ended that.
struct Broker {
    shell: Child,
    input: ChildStdin,
    process: String,
}

/// Kills the broker when a line comes, and removes all when none can come any more.
const SHELL: &str = r#"
directory=$1 log=$2; shift 2
"$@" </dev/null >>"$log" 2>&1 &
echo $!
read line || gone=1
kill -9 $! 2>/dev/null
wait $! 2>/dev/null
[ -z "$gone" ] || rm -rf "$directory"
"#;

impl Brokers {
    /// Ports for so many brokers with these listeners.
    pub fn new(count: usize, setting: Setting) -> Brokers {
        let each = setting.listeners.len() + 2;
        let ports: Vec<Vec<u16>> = free_ports(count * each).chunks(each).map(<[u16]>::to_vec).collect();
        // Not removed by a drop: brokers of a whole test program have none.
        let directory = std::mem::ManuallyDrop::new(Directory::made("kafka")).path().to_owned();
        let running = (0..count).map(|_| None).collect();
        Brokers { directory, setting, count, advertised: ports.clone(), ports, running }
    }

    /// Port of a broker's listener.
    pub fn port(&self, broker: u64, listener: usize) -> u16 {
        self.ports[broker as usize][listener]
    }

    /// Tells clients another port.
    pub fn advertise(&mut self, broker: u64, listener: usize, port: u16) {
        self.advertised[broker as usize][listener] = port;
    }

    /// Starts all brokers, on new directories.
    pub fn start(&mut self) {
        let tools: Vec<Child> = (0..self.count).map(|broker| self.format(broker)).collect();
        for mut tool in tools {
            assert!(tool.wait().unwrap().success(), "the log is in {}", self.directory.display());
        }
        (0..self.count as u64).for_each(|broker| self.start_again(broker));
    }

    fn file(&self, broker: usize, kind: &str) -> PathBuf {
        self.directory.join(format!("broker-{broker}.{kind}"))
    }

    fn java(&self) -> Command {
        let mut java = Command::new("java");
        java.args(["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]).arg(format!("{LIBRARIES}/*"));
        java
    }

    /// Begins to make a broker's directory.
    fn format(&self, broker: usize) -> Child {
        let config = self.file(broker, "properties");
        std::fs::write(&config, self.properties(broker)).unwrap();
        let log = File::create(self.file(broker, "log")).unwrap();
        let mut tool = self.java();
        tool.args(["kafka.tools.StorageTool", "format", "--cluster-id", CLUSTER, "--config"]).arg(config);
        tool.args(&self.setting.format).stdin(Stdio::null());
        tool.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
    }

    fn properties(&self, broker: usize) -> String {
        let names: Vec<&str> =
            self.setting.listeners.iter().map(|it| it.name).chain(["INTERNAL", "CONTROLLER"]).collect();
        let list = |ports: &[u16], count: usize| {
            let each = names.iter().zip(ports).take(count).map(|(name, port)| format!("{name}://127.0.0.1:{port}"));
            each.collect::<Vec<_>>().join(",")
        };
        let protocols = self.setting.listeners.iter().map(|it| format!("{}:{},", it.name, it.protocol));
        let controller = names.len() - 1;
        let voters = (0..self.count).map(|at| format!("{at}@127.0.0.1:{}", self.ports[at][controller]));
        let copies = self.count;
        let mut text = format!(
            "process.roles=broker,controller\nnode.id={broker}\ncontroller.quorum.voters={}\nlisteners={}\n\
             advertised.listeners={}\nlistener.security.protocol.map={}INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT\n\
             inter.broker.listener.name=INTERNAL\ncontroller.listener.names=CONTROLLER\nlog.dirs={}\n",
            voters.collect::<Vec<_>>().join(","),
            list(&self.ports[broker], names.len()),
            list(&self.advertised[broker], controller),
            protocols.collect::<String>(),
            self.file(broker, "data").display(),
        );
        write!(
            text,
            "min.insync.replicas={}\noffsets.topic.num.partitions=1\noffsets.topic.replication.factor={copies}\n\
             auto.create.topics.enable=false\nbroker.session.timeout.ms=3000\nbroker.heartbeat.interval.ms=500\n\
             replica.lag.time.max.ms=3000\nlog.segment.bytes=16777216\nlog.cleaner.dedupe.buffer.size=2097152\n\
             num.network.threads=1\nnum.io.threads=2\nbackground.threads=2\n{}",
            copies / 2 + 1,
            self.setting.properties
        )
        .unwrap();
        text
    }

    /// Starts a broker that does not run, on its directory.
    pub fn start_again(&mut self, broker: u64) {
        let broker = broker as usize;
        let java = self.java();
        let mut command = Command::new("sh");
        command.args(["-c", SHELL, "sh"]).arg(&self.directory).arg(self.file(broker, "log"));
        command.arg(java.get_program()).args(java.get_args()).arg("kafka.Kafka").arg(self.file(broker, "properties"));
        let mut shell = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut process = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut process).unwrap();
        let input = shell.stdin.take().unwrap();
        let before = self.running[broker].replace(Broker { shell, input, process: process.trim().to_owned() });
        assert!(before.is_none(), "it runs");
    }

    /// Ends a broker at once.
    pub fn kill(&mut self, broker: u64) {
        if let Some(Broker { mut shell, mut input, .. }) = self.running[broker as usize].take() {
            input.write_all(b"kill\n").unwrap();
            shell.wait().unwrap();
        }
    }

    /// Whether a broker was started and not killed.
    pub fn is_running(&self, broker: u64) -> bool {
        self.running[broker as usize].is_some()
    }

    /// Sends a signal to a broker.
    pub fn signal(&self, broker: u64, name: &str) {
        let process = &self.running[broker as usize].as_ref().expect("it runs").process;
        let sent = Command::new("kill").args(["-s", name, process]).status().unwrap();
        assert!(sent.success());
    }
}
