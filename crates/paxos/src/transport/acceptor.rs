//! Connections that others make.

use std::rc::Rc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::spawn_local;
use tokio::time::sleep;

use super::greet::{GreetingError, accept as greet};
use super::{Net, clients, link, prepare};
use crate::auth::greeting::Identity;
use crate::auth::require_key;

/// Connections that have not greeted yet, at most; more wait in the operating system's queue.
const MAX_STRANGERS: usize = 256;

/// The operating system may have no descriptor left for a while.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Takes connections for ever.
pub(super) async fn accept(net: Rc<Net>, listener: TcpListener) {
    let strangers = Rc::new(Semaphore::new(MAX_STRANGERS));
    loop {
        let Ok(()) = strangers.acquire().await.map(tokio::sync::SemaphorePermit::forget) else { return };
        match listener.accept().await {
            Ok((stream, from)) if require_key(net.setup.key.as_ref(), from).is_ok() => {
                spawn_local(welcome(Rc::clone(&net), stream, Rc::clone(&strangers)));
            }
            Ok(_) => strangers.add_permits(1),
            Err(_) => {
                strangers.add_permits(1);
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn welcome(net: Rc<Net>, mut stream: TcpStream, strangers: Rc<Semaphore>) {
    let mut claimed = None;
    let greeted = match prepare(&stream) {
        Ok(()) => {
            let judge = |identity: &Identity| {
                if let Identity::Replica(membership) = identity {
                    claimed = Some(membership.id);
                }
                net.judge(identity, None)
            };
            greet(&mut stream, |identity| net.key_for(identity), net.identity(), judge).await
        }
        Err(error) => Err(GreetingError::Io(error)),
    };
    strangers.add_permits(1);
    match greeted {
        Ok(greeted) => match greeted.identity {
            Identity::Client => clients::run(&net, stream, greeted).await,
            Identity::Replica(membership) => link::run(&net, membership.id, stream, greeted).await,
        },
        Err(error) => link::stop_if_refused(&net, claimed, &error),
    }
}
