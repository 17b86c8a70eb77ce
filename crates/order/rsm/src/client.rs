//! Clients: [`session`] and [`route`] decide without I/O what is sent and where to (the simulator runs the same code), and around them
//! lie a client for asynchronous programs ([`Client`]) and one for others ([`BlockingClient`]).

mod blocking;
pub(crate) mod connection;
mod remote;
pub mod route;
pub mod session;

pub use blocking::{BlockingClient, StartError};
pub use connection::ConnectError;
pub use remote::{Answer, Client, ClientError, ClientOptions, status};
pub use route::Route;
pub use session::{ClientSession, Completed, Completion, SubmitError};
