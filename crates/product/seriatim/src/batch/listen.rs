//! SQL over the tables for other processes: PostgreSQL's protocol, reading only.

use crate::batch::database::Database;
use crate::{Fault, Invalid, Result};
use std::fmt;
use std::net::SocketAddr;

/// Serves clients until it is dropped: see [`Database::listen`].
pub struct Listening {
    /// Dropped first.
    server: wire::Background,
    _database: Database,
}

impl Database {
    /// Has `psql` and drivers of PostgreSQL read the tables, at an address of this machine: port 0 is any free one. Each statement is as
    /// of the last complete batch, those of one block as of the same, and what would write ends with 25006, as in
    /// [`Database::sql_snapshot`]. There are no passwords, so other than loopback addresses are refused. After [`Database::close`]
    /// statements end with an error.
    ///
    /// ```
    /// # use seriatim::{Database, Error, batch};
    /// # fn main() -> Result<(), Error> {
    /// let db = Database::builder().engine(batch::Bohm::default()).in_memory()?;
    /// let listening = db.listen(([127, 0, 0, 1], 0).into())?;
    /// println!("psql -h 127.0.0.1 -p {} -U postgres", listening.address().port());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Invalid::Option`] if the address is not a loopback one, or cannot be listened on; [`Error::Sql`](crate::Error::Sql);
    /// [`Fault::Closed`].
    pub fn listen(&self, address: SocketAddr) -> Result<Listening> {
        if self.inner.shared.admission.is_closed() {
            return Err(Fault::Closed.into());
        }
        let options = wire::Options { address, ..wire::Options::default() };
        let started = wire::Server::bind(self.sql_database()?, options).and_then(wire::Server::start);
        let cannot = |error| Invalid::Option { what: format!("cannot listen on {address}: {error}") };
        Ok(Listening { server: started.map_err(cannot)?, _database: self.clone() })
    }
}

impl Listening {
    /// Returns the address, with its port.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }
}

impl fmt::Debug for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listening").field("address", &self.address()).finish_non_exhaustive()
    }
}
