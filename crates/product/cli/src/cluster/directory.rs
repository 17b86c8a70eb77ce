//! The directory of a node: its database, its part of the order, and the file that says whose it is.
//!
//! ```text
//! DIR/NODE        cluster, number, order, whether it has its vote
//! DIR/database    the rows
//! DIR/order       what the order's replica has promised (Paxos)
//! DIR/spool       what the others commit while this node fetches a state
//! ```

use super::file::ClusterFile;
use crate::failure::{Failure, Outcome};
use env::{Disk, RealDisk};
use serde::Deserialize;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use wal::LOCK;

/// The file that says whose directory it is.
const NODE: &str = "NODE";
const DATABASE: &str = "database";
const ORDER: &str = "order";
const SPOOL: &str = "spool";
/// Version of the directory.
const FORMAT: u32 = 1;

/// Whose directory it is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Owner {
    format: u32,
    cluster: String,
    node: u64,
    order: String,
    /// The engine of its database.
    engine: String,
    /// It has lost an earlier directory, and with it its vote.
    has_lost_its_vote: bool,
}

/// A node's directory.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    owner: Owner,
    /// Whether this start has made it.
    pub is_new: bool,
}

impl Directory {
    /// Opens a node's directory, or makes it where there is none.
    pub fn open(path: &Path, cluster: &ClusterFile, node: u64, engine: &str) -> Outcome<Directory> {
        let (order, engine) = (cluster.order().to_owned(), engine.to_owned());
        let wanted =
            Owner { format: FORMAT, cluster: cluster.name.clone(), node, order, engine, has_lost_its_vote: false };
        match Owner::of(path)? {
            Some(found) => {
                found.check(&wanted).map_err(|what| Failure::Trouble(format!("{}: {what}", path.display())))?;
                Ok(Directory { path: path.to_owned(), owner: found, is_new: false })
            }
            None => {
                check_empty(path)?;
                let directory = Directory { path: path.to_owned(), owner: wanted, is_new: true };
                directory.write()?;
                Ok(directory)
            }
        }
    }

    /// The directory of the rows.
    pub fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    /// The directory of the order's replica.
    pub fn order(&self) -> PathBuf {
        self.path.join(ORDER)
    }

    /// The directory of what is delivered while a state is fetched.
    pub fn spool(&self) -> PathBuf {
        self.path.join(SPOOL)
    }

    /// Removes what a life has left that was killed while it fetched a state. It may be what has filled the disk, and whatever is opened
    /// next may need room. A life that has not ended has locked the database, and keeps it.
    pub fn drop_spool(&self) -> Outcome {
        let spool = self.spool();
        if !spool.exists() {
            return Ok(());
        }
        // Whoever opens the database says why it cannot be locked.
        let Ok(_lock) = RealDisk::new(self.database()).lock(LOCK) else { return Ok(()) };
        std::fs::remove_dir_all(&spool).map_err(Failure::file(&spool))
    }

    /// Whether its node has lost an earlier directory.
    pub fn has_lost_its_vote(&self) -> bool {
        self.owner.has_lost_its_vote
    }

    /// Notes, durably, that the node has no vote any more. What its replica has written so far, which nobody has accepted, is removed.
    pub fn lose_vote(&mut self) -> Outcome {
        self.owner.has_lost_its_vote = true;
        self.write()?;
        let order = self.order();
        match std::fs::remove_dir_all(&order) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Failure::file(&order)(error)),
            _ => Ok(()),
        }
    }

    /// Writes the file that says whose it is, durably, in the place of an earlier one.
    fn write(&self) -> Outcome {
        let write = || -> io::Result<()> {
            std::fs::create_dir_all(&self.path)?;
            let (next, file) = (self.path.join("NODE.tmp"), self.path.join(NODE));
            let mut out = File::create(&next)?;
            out.write_all(self.owner.text().as_bytes())?;
            out.sync_all()?;
            std::fs::rename(next, file)?;
            File::open(&self.path)?.sync_all()
        };
        write().map_err(Failure::file(&self.path.join(NODE)))
    }
}

/// Returns the name of the engine of a node's directory, if there is one.
pub fn engine_of(path: &Path) -> Outcome<Option<String>> {
    Ok(Owner::of(path)?.map(|owner| owner.engine))
}

impl Owner {
    /// Whose directory it is, if it is a node's.
    fn of(path: &Path) -> Outcome<Option<Owner>> {
        let file = path.join(NODE);
        match std::fs::read_to_string(&file) {
            Ok(text) => {
                let found = toml::from_str(&text);
                found.map(Some).map_err(|error| Failure::Trouble(format!("{}: {error}", file.display())))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::file(&file)(error)),
        }
    }

    /// As it stands in the file. Names have no character that would need a quote.
    fn text(&self) -> String {
        let Owner { format, cluster, node, order, engine, has_lost_its_vote } = self;
        format!(
            "format = {format}\ncluster = \"{cluster}\"\nnode = {node}\norder = \"{order}\"\nengine = \"{engine}\"\n\
             has_lost_its_vote = {has_lost_its_vote}\n"
        )
    }

    fn check(&self, wanted: &Owner) -> Result<(), String> {
        if self.format != wanted.format {
            return Err(format!("the directory has format {}, and this version reads {FORMAT}", self.format));
        }
        if self.cluster != wanted.cluster {
            return Err(format!("the directory belongs to cluster {:?}, not {:?}", self.cluster, wanted.cluster));
        }
        if self.node != wanted.node {
            return Err(format!("the directory belongs to node {}, not {}", self.node, wanted.node));
        }
        if self.order != wanted.order {
            return Err(format!("the directory's order is {}, not {}", self.order, wanted.order));
        }
        if self.engine != wanted.engine {
            return Err(format!("the directory's engine is {}, not {}: see --engine", self.engine, wanted.engine));
        }
        Ok(())
    }
}

/// A directory with other things in it is none of ours.
fn check_empty(path: &Path) -> Outcome {
    let mut entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Failure::file(path)(error)),
    };
    match entries.next() {
        None => Ok(()),
        Some(entry) => {
            let name = entry.map_err(Failure::file(path))?.file_name();
            Err(Failure::Trouble(format!(
                "{}: no node's directory, and not empty ({}): use one that is empty or does not exist. A database that was not in \
                 a cluster is brought in by pg_dump and psql",
                path.display(),
                name.display()
            )))
        }
    }
}

/// Refuses to change the database of a cluster's node from beside the cluster.
pub fn check_not_of_a_node(database: &Path) -> Outcome {
    let absolute = std::path::absolute(database).map_err(Failure::file(database))?;
    let above = absolute.parent().filter(|_| absolute.file_name().is_some_and(|name| name == DATABASE));
    match above.map(|above| above.join(NODE)).filter(|node| node.exists()) {
        None => Ok(()),
        Some(_) => Err(Failure::Trouble(format!(
            "{}: this database belongs to a node of a cluster, and what is changed here would not be on the others: \
             change it through the cluster",
            database.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(name: &str) -> ClusterFile {
        let text = format!("name = \"{name}\"\n[[node]]\norder = \"a:1\"\nstate = \"a:2\"");
        toml::from_str(&text).unwrap()
    }

    fn refused(opened: Outcome<Directory>) -> String {
        match opened {
            Err(Failure::Trouble(what)) => what,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_directory_belongs_to_one_node_of_one_cluster() {
        let directory = testing::Directory::new("node-directory");
        let path = directory.path();
        let open = |name: &str, node: u64, engine: &str| Directory::open(path, &cluster(name), node, engine);
        let mut made = open("shop", 1, "mvto").unwrap();
        assert!(made.is_new && !made.has_lost_its_vote());
        std::fs::create_dir(made.order()).unwrap();
        made.lose_vote().unwrap();
        assert!(!made.order().exists());
        made.lose_vote().unwrap();
        let again = open("shop", 1, "mvto").unwrap();
        assert!(!again.is_new && again.has_lost_its_vote());
        assert!(refused(open("other", 1, "mvto")).contains("cluster \"shop\", not \"other\""));
        assert!(refused(open("shop", 0, "mvto")).contains("node 1, not 0"));
        assert!(refused(open("shop", 1, "hyper")).contains("engine is mvto"));
        assert_eq!(engine_of(path).unwrap().as_deref(), Some("mvto"));
        assert_eq!(engine_of(&path.join("missing")).unwrap(), None);
        assert!(refused(Directory::open(&path.join(".."), &cluster("shop"), 1, "mvto")).contains("not empty"));
        let database = again.database();
        std::fs::create_dir(&database).unwrap();
        assert!(check_not_of_a_node(&database).is_err() && check_not_of_a_node(path).is_ok());
    }
    /// A disk that a spool has filled has no room for anything else: the spool goes first, but never that of a node that runs.
    #[test]
    fn a_spool_that_a_kill_has_left_goes_and_one_in_use_stays() {
        let made = testing::Directory::new("node-spool");
        let directory = Directory::open(made.path(), &cluster("shop"), 1, "mvto").unwrap();
        directory.drop_spool().unwrap();
        for path in [directory.spool(), directory.database()] {
            std::fs::create_dir(path).unwrap();
        }
        std::fs::write(directory.spool().join("000000.spool"), "a record").unwrap();
        let running = RealDisk::new(directory.database()).lock(LOCK).unwrap();
        directory.drop_spool().unwrap();
        assert!(directory.spool().exists());
        drop(running);
        directory.drop_spool().unwrap();
        assert!(!directory.spool().exists());
    }
}
