//! The core's thread: passes every input to the replica, one at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use env::Moment;
use net::connection::SharedFrame;
use net::mailbox::{Closed, Refused};

use super::Shared;
use super::service_loop::Job;
use crate::board::{CoreFigures, JournalFigures, count};
use crate::core::{Core, Instance, Message, ReplicaId};
use crate::error::NodeError;
use crate::inbox::CoreInput;
use crate::journal::{Journal, OwnedDirectory};
use crate::message::PeerMessage;
use crate::replica::{Effect, Input, Replica};
use crate::transport::Post;

/// Inputs between two looks at the clock, and between two moments at which others get to see what comes of them.
const INPUTS_AT_ONCE: usize = 64;

/// Minimum time between two updates of the figures. Heartbeats and ticks keep them from being much older.
const FIGURES_INTERVAL: Duration = Duration::from_millis(1);

/// Moments of a node: nanoseconds since its start, by its own clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeClock {
    start: Instant,
}

impl NodeClock {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now() }
    }

    pub(crate) fn now(self) -> Moment {
        Moment(u64::try_from(env::clock::believed(self.start.elapsed()).as_nanos()).unwrap_or(u64::MAX))
    }

    /// `None`: never.
    fn instant(self, moment: Moment) -> Option<Instant> {
        let after = || env::clock::real(Duration::from_nanos(moment.0));
        (moment != Moment::NEVER).then(|| self.start.checked_add(after())).flatten()
    }
}

/// Called whenever the leader has changed.
pub(super) type OnLeader = Box<dyn FnMut(Option<ReplicaId>) + Send>;

/// Called whenever more may be forgotten.
pub(super) type OnMayForget = Box<dyn FnMut(Instance) + Send>;

/// The thread's state.
pub(super) struct CoreLoop<C: Core> {
    replica: Replica<C>,
    journal: Option<Journal>,
    directory: Option<Arc<OwnedDirectory>>,
    clock: NodeClock,
    shared: Arc<Shared>,
    /// Bytes of requests that came.
    taken: u64,
    effects: Vec<Effect>,
    frames: FrameCache,
    on_leader: OnLeader,
    on_may_forget: OnMayForget,
    /// When the figures were last written.
    figures_at: Moment,
}

impl<C: Core> CoreLoop<C> {
    pub(super) fn new(
        replica: Replica<C>,
        journal: Option<Journal>,
        directory: Option<Arc<OwnedDirectory>>,
        clock: NodeClock,
        (on_leader, on_may_forget): (OnLeader, OnMayForget),
        shared: &Arc<Shared>,
    ) -> Self {
        Self {
            replica,
            journal,
            directory,
            clock,
            shared: Arc::clone(shared),
            taken: 0,
            effects: Vec::new(),
            frames: FrameCache::default(),
            on_leader,
            on_may_forget,
            figures_at: Moment::default(),
        }
    }

    /// Runs until the inbox is closed, or an operation fails.
    pub(super) fn run(mut self) -> Result<(), NodeError> {
        let outcome = self.serve();
        match (outcome, self.journal) {
            (Ok(Closed), Some(journal)) => Ok(journal.close()?),
            (Ok(Closed), None) => Ok(()),
            (Err(error), _) => Err(error),
        }
    }

    fn serve(&mut self) -> Result<Closed, NodeError> {
        let mut inputs = Vec::new();
        self.handle_inputs([CoreInput::Replica(Input::Tick)].into_iter())?;
        loop {
            let deadline = self.clock.instant(self.replica.deadline());
            if self.shared.inbox.take(&mut inputs, deadline).is_err() {
                return Ok(Closed);
            }
            if inputs.is_empty() {
                inputs.push(CoreInput::Replica(Input::Tick));
            }
            let mut inputs = inputs.drain(..);
            while inputs.len() > 0 {
                self.handle_inputs(inputs.by_ref().take(INPUTS_AT_ONCE))?;
            }
        }
    }

    /// Handles inputs that arrived together, then the timers that are due.
    fn handle_inputs(&mut self, inputs: impl Iterator<Item = CoreInput>) -> Result<(), NodeError> {
        let now = self.clock.now();
        for input in inputs {
            let input = match input {
                CoreInput::Replica(input) => input,
                CoreInput::JournalFailed(error) => return Err(error.into()),
            };
            if let Input::Submit(chunk) = &input {
                self.taken += chunk.bytes().len() as u64;
            }
            if let (Input::Durable(number), Some(journal)) = (&input, &mut self.journal) {
                journal.settle(*number);
                self.shared.board.write_records(journal.records_before() + number);
            }
            self.replica.handle(now, input, &mut self.effects);
        }
        if self.replica.deadline() <= now {
            self.replica.handle(now, Input::Tick, &mut self.effects);
        }
        self.put_out()?;
        self.shared.credit.grant(self.taken, self.replica.room());
        if now.since(self.figures_at) >= FIGURES_INTERVAL {
            self.figures_at = now;
            self.shared.board.write_core(self.figures());
        }
        Ok(())
    }

    fn put_out(&mut self) -> Result<(), NodeError> {
        let mut effects = std::mem::take(&mut self.effects);
        let (mut posts, mut weight) = (Vec::new(), 0);
        let journalled = self.journal.as_ref().map_or(0, Journal::appended);
        for effect in effects.drain(..) {
            match effect {
                Effect::Send(to, PeerMessage::Core(Message::Snapshot(at, image))) => {
                    posts.push(Post::Snapshot(to, at, image));
                }
                Effect::Send(to, message) => {
                    let asks_from =
                        if let PeerMessage::Core(Message::Query(from, _)) = message { Some(from) } else { None };
                    if let Some(frame) = self.frames.frame(message) {
                        weight += frame.bytes().len();
                        posts.push(match asks_from {
                            Some(from) => Post::Query(to, from, frame),
                            None => Post::Frame(to, frame),
                        });
                    }
                }
                Effect::Leader(leader, _) => (self.on_leader)(leader),
                // At once: the application may wait for it, and take no job.
                Effect::MayForget(below) => (self.on_may_forget)(below),
                Effect::Journal(record) => {
                    if let Some(journal) = &mut self.journal {
                        journal.append(&record)?;
                    }
                }
                Effect::Compact(up_to, records) => {
                    if let Some(journal) = &self.journal {
                        journal.compact(up_to, records)?;
                    }
                }
                Effect::Admitted => {
                    if let Some(directory) = &self.directory {
                        directory.admit()?;
                    }
                }
                Effect::Deliver(at, value) => {
                    let bytes = value.len();
                    self.assign(Job::Deliver(at, value), bytes);
                }
                Effect::Recover(at, image) => self.assign(Job::Recover(at, image), 0),
                Effect::Install(at, image) => self.assign(Job::Install(at, image), 0),
                Effect::TakeSnapshot => self.assign(Job::Snapshot, 0),
            }
        }
        self.effects = effects;
        self.send(posts, weight);
        self.ask_for_durability(journalled);
        Ok(())
    }

    /// The replica has bounded what the service has not done yet, so the box cannot be too full; if it is closed, so is everything.
    fn assign(&self, job: Job, weight: usize) {
        let _ = self.shared.jobs.force(job, weight);
    }

    /// Sends the posts and drops those that do not fit: the protocol retransmits lost messages.
    fn send(&self, mut posts: Vec<Post>, weight: usize) {
        if posts.is_empty() {
            return;
        }
        if self.shared.post.offer_all(&mut posts, weight) == Err(Refused::Full) {
            posts.iter().for_each(|_| count(&self.shared.board.network.dropped));
        }
    }

    /// One question for all records of this turn.
    fn ask_for_durability(&self, journalled_before: u64) {
        let Some(journal) = self.journal.as_ref().filter(|journal| journal.appended() > journalled_before) else {
            return;
        };
        let inbox = Arc::clone(&self.shared.inbox);
        journal.on_durable(move |durable| {
            let input = match durable {
                Ok(number) => CoreInput::Replica(Input::Durable(number)),
                Err(error) => CoreInput::JournalFailed(error),
            };
            // Closed: the node stops, and nobody waits for it any more.
            let _ = inbox.force(input, 1);
        });
    }

    fn figures(&self) -> CoreFigures {
        CoreFigures {
            view: self.replica.view(),
            leader: self.replica.leader(),
            admitted: self.replica.is_admitted(),
            counters: self.replica.counters().clone(),
            room: self.replica.room(),
            journal: self.journal.as_ref().map(|journal| JournalFigures {
                records: journal.appended(),
                syncs: journal.stats().syncs,
                compactions: journal.compactions(),
            }),
            durable: self.replica.durable().collect(),
        }
    }
}

/// The last frame: the next message is often the same one for another peer.
#[derive(Debug, Default)]
struct FrameCache {
    last: Option<(PeerMessage, Arc<SharedFrame>)>,
}

impl FrameCache {
    /// `None`: no frame can hold it. That cannot be, given the limits of [`Options`](crate::config::Options); if it is, it is lost.
    fn frame(&mut self, message: PeerMessage) -> Option<Arc<SharedFrame>> {
        match &self.last {
            Some((last, frame)) if *last == message => Some(Arc::clone(frame)),
            _ => {
                let frame = Arc::new(SharedFrame::new(&message).ok()?);
                self.last = Some((message, Arc::clone(&frame)));
                Some(frame)
            }
        }
    }
}
