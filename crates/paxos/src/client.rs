//! Clients: [`session`] and [`route`] decide without I/O what is sent and where to (the simulator runs the same code), and around them
//! lie a client for asynchronous programs and one for others.

pub mod route;
pub mod session;

pub use route::Route;
pub use session::{ClientSession, Completed, Completion, SubmitError};
