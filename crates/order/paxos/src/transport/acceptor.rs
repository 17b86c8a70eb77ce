//! Incoming connections.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::spawn_local;
use tokio::time::sleep;

use net::auth::require_key;
use net::connection::prepare;
use net::handshake::accept as greet;

use super::{Net, link};
use crate::core::ReplicaId;
use crate::membership::{Greeted, GreetingError, Identity, Refusal};

/// Maximum number of connections that have not completed the handshake. Another one replaces the oldest that has sent nothing, or the
/// oldest: so silent sockets cannot keep peers out, which send their greeting at once.
pub const MAX_PENDING_HANDSHAKES: usize = 256;

/// The operating system may have no descriptor left for a while.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// A connection that has not greeted yet.
#[derive(Debug, Default)]
struct PendingHandshake {
    /// It has sent its identity, but no proof yet.
    has_spoken: Cell<bool>,
    /// Its place is another's.
    dismissed: Notify,
}

/// In the order in which they came.
#[derive(Debug, Default)]
struct PendingHandshakes {
    came: Cell<u64>,
    waiting: RefCell<BTreeMap<u64, Rc<PendingHandshake>>>,
}

impl PendingHandshakes {
    fn enter(&self) -> (u64, Rc<PendingHandshake>) {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.len() >= MAX_PENDING_HANDSHAKES {
            let silent = waiting.iter().find(|(_, stranger)| !stranger.has_spoken.get()).map(|(number, _)| *number);
            let last = silent.or_else(|| waiting.keys().next().copied()).and_then(|number| waiting.remove(&number));
            last.into_iter().for_each(|stranger| stranger.dismissed.notify_one());
        }
        let (number, stranger) = (self.came.get(), Rc::<PendingHandshake>::default());
        self.came.set(number + 1);
        waiting.insert(number, Rc::clone(&stranger));
        (number, stranger)
    }

    fn leave(&self, number: u64) {
        self.waiting.borrow_mut().remove(&number);
    }
}

/// Takes connections for ever.
pub(super) async fn accept(net: Rc<Net>, listener: TcpListener) {
    let strangers = Rc::<PendingHandshakes>::default();
    loop {
        match listener.accept().await {
            Ok((stream, from)) if require_key(net.setup.key.as_ref(), from).is_ok() => {
                spawn_local(accept_connection(Rc::clone(&net), stream, Rc::clone(&strangers)));
            }
            Ok(_) => {}
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
        // Others get their turn however many come.
        tokio::task::coop::consume_budget().await;
    }
}

async fn accept_connection(net: Rc<Net>, mut stream: TcpStream, strangers: Rc<PendingHandshakes>) {
    let (number, stranger) = strangers.enter();
    let mut claimed = None;
    let greeted = tokio::select! {
        greeted = read_greeting(&net, &mut stream, &stranger, &mut claimed) => greeted,
        () = stranger.dismissed.notified() => Err(GreetingError::Refusing(Refusal::TooManyConnections)),
    };
    strangers.leave(number);
    match greeted {
        Ok(greeted) => match greeted.identity {
            // Without a server of clients they were refused.
            Identity::Client => {
                if let Some(client_side) = net.client_side.clone() {
                    client_side.serve(stream, greeted).await;
                }
            }
            Identity::Replica(membership) => link::run(&net, membership.id, stream, greeted).await,
        },
        Err(error) => link::stop_if_refused(&net, claimed, &error),
    }
}

async fn read_greeting(
    net: &Net,
    stream: &mut TcpStream,
    stranger: &PendingHandshake,
    claimed: &mut Option<ReplicaId>,
) -> Result<Greeted, GreetingError> {
    prepare(stream)?;
    let judge = |identity: &Identity| {
        if let Identity::Replica(membership) = identity {
            *claimed = Some(membership.id);
        }
        net.judge(identity, None)
    };
    let key_for = |identity: &Identity| {
        stranger.has_spoken.set(true);
        net.key_for(identity)
    };
    greet(stream, key_for, net.identity(), judge).await
}
