//! The nodes of a replicated database, each a process.

use super::arguments::ClusterArguments;
use crate::processes::{Failure, Processes, free_ports};
use crate::servers::{Address, await_ready, server_program};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A cluster that runs.
#[derive(Debug)]
pub struct Nodes {
    program: PathBuf,
    options: Vec<String>,
    directory: PathBuf,
    ports: Vec<u16>,
    processes: Processes,
}

impl Nodes {
    /// Starts a cluster in an empty directory, and waits until it serves.
    ///
    /// # Errors
    /// The program or free ports are missing; a node ends.
    pub fn start(arguments: &ClusterArguments, directory: &Path) -> Result<Nodes, Failure> {
        let program = server_program(arguments.server.as_deref())?;
        let count = arguments.nodes as usize;
        let ports = free_ports(count * 3)?;
        let mut text = "name = \"lab\"\n".to_owned();
        for pair in ports[count..].chunks(2) {
            // A text takes everything.
            let _ = write!(text, "\n[[node]]\norder = \"127.0.0.1:{}\"\nstate = \"127.0.0.1:{}\"\n", pair[0], pair[1]);
        }
        let cannot = |error: std::io::Error| format!("{}: {error}", directory.display());
        std::fs::create_dir_all(directory).map_err(cannot)?;
        std::fs::write(directory.join("cluster.toml"), text).map_err(cannot)?;
        let mut nodes = Nodes {
            program,
            options: arguments.serve_options.split_whitespace().map(str::to_owned).collect(),
            directory: directory.to_owned(),
            ports: ports[..count].to_vec(),
            processes: Processes::default(),
        };
        for node in 0..count {
            let mut command = nodes.command(node);
            nodes.processes.start(&mut command)?;
        }
        (0..count).try_for_each(|node| nodes.await_ready(node))?;
        Ok(nodes)
    }

    fn command(&self, node: usize) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("serve").arg("--cluster").arg(self.directory.join("cluster.toml"));
        command.args(["--node", &node.to_string(), "--pg", &format!("127.0.0.1:{}", self.ports[node]), "--data"]);
        command.arg(self.directory.join(format!("node-{node}"))).args(["--until-stdin-ends", "--log-format", "json"]);
        // What the nodes log is of interest when they fail.
        let log = std::fs::File::options().create(true).append(true).open(self.directory.join(format!("log-{node}")));
        command.args(&self.options).stderr(log.map_or_else(|_| Stdio::inherit(), Stdio::from));
        command
    }

    /// Waits until a node that was started serves.
    ///
    /// # Errors
    /// It ends instead.
    pub fn await_ready(&mut self, node: usize) -> Result<(), Failure> {
        await_ready(&mut self.processes, node).map_err(|error| format!("{error}: see {}", self.log(node)))
    }

    fn log(&self, node: usize) -> String {
        self.directory.join(format!("log-{node}")).display().to_string()
    }

    /// Kills a node without warning.
    ///
    /// # Errors
    /// It does not run.
    pub fn kill(&mut self, node: usize) -> Result<(), Failure> {
        self.processes.kill(node)
    }

    /// Starts a node again that was killed, and waits until it serves.
    ///
    /// # Errors
    /// It ends instead.
    pub fn restart(&mut self, node: usize) -> Result<(), Failure> {
        let mut command = self.command(node);
        self.processes.restart(node, &mut command)?;
        self.await_ready(node)
    }

    /// Where clients connect, by node.
    pub fn addresses(&self) -> Vec<Address> {
        self.ports.iter().map(|port| Address(*port)).collect()
    }

    /// The node that leads the order.
    ///
    /// # Errors
    /// Nobody leads.
    pub fn leader(&self) -> Result<usize, Failure> {
        let sql = "SELECT node FROM seriatim_cluster WHERE part = 'leader'";
        for address in self.addresses() {
            let row = address.connect().and_then(|mut client| client.query_opt(sql, &[]));
            if let Some(row) = row.map_err(|error| format!("cannot ask for the leader: {error:?}"))? {
                return usize::try_from(row.get::<_, i64>(0)).map_err(|_| "the leader is no node".to_owned());
            }
        }
        Err("no node leads".to_owned())
    }
}
