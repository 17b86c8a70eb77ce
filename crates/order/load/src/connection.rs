//! A client group's connection: to its own replica, or to the next that accepts it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::WriteHalf;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use env::Moment;
use net::auth::SharedKey;
use net::frame::{Decoder, MAX_FRAME_BYTES, Packer};
use net::handshake::initiate;
use paxos::membership::{Identity, Refusal};
use rsm::message::{ClientMessage, ReplicaMessage};

use super::{ClientGroup, Shared};

/// Between two tries, so that a cluster that is down is not stormed.
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Bytes to send that may wait before the clients send no more.
const MAX_UNSENT: usize = 1 << 20;

/// A client group and the replica that it connects to.
pub(super) struct Connection {
    /// In the order in which they are tried.
    pub(super) addresses: Vec<String>,
    pub(super) key: Option<Arc<SharedKey>>,
    pub(super) group: ClientGroup,
    pub(super) shared: Arc<Shared>,
}

impl Connection {
    /// Keeps the group connected until the load stops.
    pub(super) async fn run(mut self, mut stopped: watch::Receiver<()>) {
        let mut position = 0;
        loop {
            let address = self.addresses[position % self.addresses.len()].clone();
            let lost = tokio::select! {
                _ = stopped.changed() => return,
                lost = self.serve(&address) => lost,
            };
            self.shared.report(format!("{address}: {lost}"));
            self.group.disconnected();
            position += 1;
            tokio::select! {
                _ = stopped.changed() => return,
                () = sleep(BETWEEN_TRIES) => {}
            }
        }
    }

    /// Connects and sends and receives until that fails; says why.
    async fn serve(&mut self, address: &str) -> io::Error {
        match self.try_serve(address).await {
            Ok(never) => match never {},
            Err(error) => error,
        }
    }

    async fn try_serve(&mut self, address: &str) -> io::Result<std::convert::Infallible> {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let greeted = initiate(&mut stream, self.key.as_deref(), Identity::Client, |_| Ok::<_, Refusal>(()));
        let greeted = greeted.await.map_err(io::Error::other)?;
        let mut decoder = greeted.decoder;
        decoder.set_limit(MAX_FRAME_BYTES);
        let (mut from, mut to) = stream.split();
        let mut unsent = Unsent { packer: Packer::new(greeted.seal), bytes: Vec::new(), sent: 0 };
        // What came right behind the greeting is there already.
        self.receive(&mut decoder)?;
        loop {
            self.poll(&mut unsent)?;
            tokio::select! {
                read = from.read_buf(decoder.buffer()) => {
                    if read? == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    self.receive(&mut decoder)?;
                }
                written = unsent.write(&mut to), if !unsent.is_empty() => written?,
                () = sleep_until(self.deadline()) => {}
            }
        }
    }

    fn deadline(&self) -> Instant {
        let Moment(ns) = self.group.deadline();
        Instant::from_std(self.shared.start) + Duration::from_nanos(ns)
    }

    fn poll(&mut self, unsent: &mut Unsent) -> io::Result<()> {
        if unsent.bytes.len() >= MAX_UNSENT {
            return Ok(());
        }
        let mut too_long = Ok(());
        self.group.poll(self.shared.now(), |message| {
            if let Err(error) = unsent.packer.push(&message) {
                too_long = Err(io::Error::other(error));
            }
        });
        unsent.packer.drain_into(&mut unsent.bytes);
        self.shared.shed.fetch_add(self.group.take_shed(), Ordering::Relaxed);
        too_long
    }

    fn receive(&mut self, decoder: &mut Decoder) -> io::Result<()> {
        let now = self.shared.now();
        let mut latencies = self.shared.latencies_ns.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut acknowledged = 0;
        while let Some(frame) = decoder.next_frame().map_err(io::Error::other)? {
            for message in frame.messages::<ReplicaMessage>() {
                self.group.handle(now, &message.map_err(io::Error::other)?, |latency| {
                    acknowledged += 1;
                    latencies.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX));
                });
            }
        }
        self.shared.acknowledged.fetch_add(acknowledged, Ordering::Relaxed);
        Ok(())
    }
}

/// Bytes that wait to be sent.
struct Unsent {
    packer: Packer<ClientMessage>,
    bytes: Vec<u8>,
    /// Number of bytes already sent.
    sent: usize,
}

impl Unsent {
    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    async fn write(&mut self, to: &mut WriteHalf<'_>) -> io::Result<()> {
        self.sent += to.write(&self.bytes[self.sent..]).await?;
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
        }
        Ok(())
    }
}
