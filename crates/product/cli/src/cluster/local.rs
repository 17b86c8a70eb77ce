//! `seriatim cluster`: nodes as processes of this machine.

use crate::failure::{Failure, Outcome};
use crate::processes::{LOOK, Process, free_ports, stop_all};
use crate::signals::stop_on_signals;
use clap::Args;
use env::thread::sleep;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// The file that describes the cluster, in its directory.
const FILE: &str = "cluster.toml";

/// Run a replicated database on this machine, one server per node, until Ctrl-C.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    seriatim cluster 3 --data ./cluster\n  \
    seriatim cluster 3 --data ./cluster --port 5501 -- --engine hyper --log-format json\n  \
    psql -h 127.0.0.1 -p 5432 -U postgres -c 'SELECT * FROM seriatim_cluster'\n\n\
    Prints for each node its address and the command that starts it again, then `ready` on standard output once all accept \
    clients. A node that has ended is not started again by itself; the others continue while they are a majority.\n\n\
    On several machines each runs `seriatim serve --cluster FILE --node N`: see docs/replication.md.\n\n\
    Exit codes: 0 stopped by the user; 1 every node has ended; 2 the command could not run.")]
pub struct LocalCluster {
    /// Number of nodes.
    #[arg(value_parser = clap::value_parser!(u16).range(1..=31))]
    nodes: u16,
    /// Directory of the cluster: a directory for each node, and the file that describes them. A cluster that is there goes on.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Loopback port of the first node's clients; the others use the following ports. 0 picks free ports.
    #[arg(long, default_value_t = 5432)]
    port: u16,
    /// First of the loopback ports that a new cluster uses between its nodes, two for each. 0 picks free ports.
    #[arg(long, value_name = "PORT", default_value_t = 7500)]
    cluster_port: u16,
    /// Further arguments for each `seriatim serve`.
    #[arg(last = true, value_name = "ARGS")]
    serve: Vec<OsString>,
}

impl LocalCluster {
    pub fn run(&self) -> Outcome {
        let stop = stop_on_signals()?;
        let file = self.file()?;
        let ports = free_ports(self.port, self.nodes)?;
        let commands = (0..).zip(&ports).map(|(node, port)| self.command(&file, node, *port));
        let commands = commands.collect::<Outcome<Vec<_>>>()?;
        let shown: Vec<String> = commands.iter().map(shown).collect();
        let mut nodes = Vec::new();
        for (node, mut command) in commands.into_iter().enumerate() {
            command.arg("--until-stdin-ends");
            nodes.push(Process::start(format!("node {node}"), command)?);
        }
        for node in &mut nodes {
            if !node.is_ready(&stop) && !stop.load(Ordering::Relaxed) {
                let why = Failure::Trouble(format!("{} does not start", node.name));
                stop_all(&mut nodes);
                return Err(why);
            }
        }
        let outcome = match stop.load(Ordering::Relaxed) {
            true => Ok(()),
            false => greet(&nodes, &ports, &shown).and_then(|()| watch(&mut nodes, &stop)),
        };
        stop_all(&mut nodes);
        outcome
    }

    /// The file that describes the cluster: the one that is there, or a new one.
    fn file(&self) -> Outcome<PathBuf> {
        let path = self.data.join(FILE);
        if path.exists() {
            let nodes = super::file::ClusterFile::read(&path)?.nodes.len();
            return match nodes == usize::from(self.nodes) {
                true => Ok(path),
                false => Err(Failure::Trouble(format!("{}: the cluster has {nodes} nodes", path.display()))),
            };
        }
        let ports = free_ports(self.cluster_port, self.nodes.saturating_mul(2))?;
        let mut text = "# Made by `seriatim cluster`.\nname = \"local\"\n".to_owned();
        for pair in ports.chunks(2) {
            let [order, state] = pair else { continue };
            // A text takes everything.
            let _ = write!(text, "\n[[node]]\norder = \"127.0.0.1:{order}\"\nstate = \"127.0.0.1:{state}\"\n");
        }
        std::fs::create_dir_all(&self.data).map_err(Failure::file(&self.data))?;
        std::fs::write(&path, text).map_err(Failure::file(&path))?;
        Ok(path)
    }

    fn command(&self, file: &Path, node: u64, port: u16) -> Outcome<Command> {
        let mut command = Command::new(std::env::current_exe().map_err(Failure::trouble)?);
        command.arg("serve").arg("--cluster").arg(file).args(["--node", &node.to_string(), "--data"]);
        command.arg(self.data.join(format!("node-{node}"))).args(["--pg", &format!("127.0.0.1:{port}")]);
        command.args(&self.serve);
        Ok(command)
    }
}

/// A command as a shell takes it.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let quoted = words.map(|word| {
        let word = word.to_string_lossy();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,".contains(&byte);
        if word.bytes().all(is_plain) && !word.is_empty() {
            word.into_owned()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

fn greet(nodes: &[Process], ports: &[u16], commands: &[String]) -> Outcome {
    let mut out = stdout().lock();
    for ((node, port), command) in nodes.iter().zip(ports).zip(commands) {
        writeln!(out, "{}  process {}  psql -h 127.0.0.1 -p {port} -U postgres", node.name, node.id())?;
        writeln!(out, "  again: {command}")?;
    }
    writeln!(out, "ready")?;
    Ok(out.flush()?)
}

/// Waits until it is to stop. A node may have been started again by hand, so only the end of all of them ends the command.
fn watch(nodes: &mut [Process], stop: &AtomicBool) -> Outcome {
    while !stop.load(Ordering::Relaxed) {
        for ending in nodes.iter_mut().filter_map(Process::ending) {
            // Whoever read it may be gone.
            let _ = writeln!(io::stderr(), "{ending}");
        }
        if nodes.iter().all(Process::has_ended) {
            return Err(Failure::Finding);
        }
        sleep(LOOK);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_pasted() {
        let mut command = Command::new("/bin/seriatim");
        command.args(["serve", "--data", "a b", "--c=it's", ""]);
        assert_eq!(shown(&command), r"/bin/seriatim serve --data 'a b' '--c=it'\''s' ''");
    }
}
