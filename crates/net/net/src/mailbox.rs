//! A bounded queue between threads, emptied whole: one lock and at most one wake-up for however much has gathered.
//!
//! The receiver is woken only if it sleeps, so a busy receiver costs its senders no system call. A sender that finds the queue
//! full waits ([`Mailbox::send`]), keeps its item ([`Mailbox::offer`]), or continues with something else until there is room
//! ([`Mailbox::room`]).

use std::future::poll_fn;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// The other end is gone, or everything stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

/// Why something was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The box is full.
    Full,
    /// The box is closed.
    Closed,
}

/// A bounded queue with one taker.
#[derive(Debug)]
pub struct Mailbox<T> {
    state: Mutex<State<T>>,
    /// Something has arrived, or the box is closed.
    arrived: Condvar,
    /// The box was emptied, or closed.
    emptied: Condvar,
    /// It is full from this weight on.
    limit: usize,
}

#[derive(Debug)]
struct State<T> {
    items: Vec<T>,
    weight: usize,
    closed: bool,
    /// The taker sleeps on `arrived`.
    sleeps: bool,
    /// Senders that sleep on `emptied`.
    waiting: usize,
    /// The taker, if it is a task that sleeps.
    taker: Option<Waker>,
    /// Senders that are tasks and sleep.
    senders: Vec<Waker>,
}

impl<T> Mailbox<T> {
    /// An empty one. What is sent has a weight each; more is taken while the sum is below `limit`.
    pub fn new(limit: usize) -> Self {
        let state = State {
            items: Vec::new(),
            weight: 0,
            closed: false,
            sleeps: false,
            waiting: 0,
            taker: None,
            senders: Vec::new(),
        };
        Self { state: Mutex::new(state), arrived: Condvar::new(), emptied: Condvar::new(), limit }
    }

    /// Never poisoned in a harmful way: no code of others runs under the lock.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds something, waiting while the box is full.
    pub fn send(&self, item: T, weight: usize) -> Result<(), Closed> {
        let mut state = self.lock();
        while state.weight >= self.limit && !state.closed {
            state.waiting += 1;
            state = self.emptied.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        self.add(state, item, weight)
    }

    /// Adds something unless the box is full.
    pub fn offer(&self, item: T, weight: usize) -> Result<(), Refused> {
        let state = self.lock();
        if state.weight >= self.limit && !state.closed {
            return Err(Refused::Full);
        }
        self.add(state, item, weight).map_err(|Closed| Refused::Closed)
    }

    /// Adds something even if the box is full: for what is bounded by other means.
    pub fn force(&self, item: T, weight: usize) -> Result<(), Closed> {
        self.add(self.lock(), item, weight)
    }

    /// Adds something that can wait until the taker wakes up for another reason, even if the box is full.
    pub fn leave(&self, item: T, weight: usize) -> Result<(), Closed> {
        let mut state = self.lock();
        if state.closed {
            return Err(Closed);
        }
        state.items.push(item);
        state.weight += weight;
        Ok(())
    }

    /// Adds all of these, in order, unless the box is full: then they stay where they are.
    pub fn offer_all(&self, items: &mut Vec<T>, weight: usize) -> Result<(), Refused> {
        if self.lock().weight >= self.limit {
            return Err(Refused::Full);
        }
        self.force_all(items, weight).map_err(|Closed| Refused::Closed)
    }

    /// Adds all of these, in order, even if the box is full.
    pub fn force_all(&self, items: &mut Vec<T>, weight: usize) -> Result<(), Closed> {
        let mut state = self.lock();
        if state.closed {
            return Err(Closed);
        }
        state.items.append(items);
        state.weight += weight;
        self.wake_taker(state);
        Ok(())
    }

    fn add(&self, mut state: MutexGuard<'_, State<T>>, item: T, weight: usize) -> Result<(), Closed> {
        if state.closed {
            return Err(Closed);
        }
        state.items.push(item);
        state.weight += weight;
        self.wake_taker(state);
        Ok(())
    }

    fn wake_taker(&self, mut state: MutexGuard<'_, State<T>>) {
        let sleeps = std::mem::take(&mut state.sleeps);
        let taker = state.taker.take();
        drop(state);
        if sleeps {
            self.arrived.notify_one();
        }
        if let Some(taker) = taker {
            taker.wake();
        }
    }

    /// Sleeps, as a task, while the box is full.
    pub async fn room(&self) -> Result<(), Closed> {
        poll_fn(|context| {
            let mut state = self.lock();
            if state.closed {
                return Poll::Ready(Err(Closed));
            }
            if state.weight < self.limit {
                return Poll::Ready(Ok(()));
            }
            if !state.senders.iter().any(|sender| sender.will_wake(context.waker())) {
                state.senders.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    /// Moves everything to the end of `items`; if there is nothing, sleeps until something arrives or the deadline has passed.
    pub fn take(&self, items: &mut Vec<T>, deadline: Option<Instant>) -> Result<(), Closed> {
        let mut state = self.lock();
        loop {
            if !state.items.is_empty() {
                self.empty(state, items);
                return Ok(());
            }
            if state.closed {
                return Err(Closed);
            }
            state.sleeps = true;
            let Some(deadline) = deadline else {
                state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let time_limit = deadline.saturating_duration_since(Instant::now());
            if time_limit.is_zero() {
                state.sleeps = false;
                return Ok(());
            }
            state = self.arrived.wait_timeout(state, time_limit).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The same for a task, without a deadline.
    pub async fn taken(&self, items: &mut Vec<T>) -> Result<(), Closed> {
        poll_fn(|context| self.poll_take(context, items)).await
    }

    fn poll_take(&self, context: &Context<'_>, items: &mut Vec<T>) -> Poll<Result<(), Closed>> {
        let mut state = self.lock();
        if !state.items.is_empty() {
            self.empty(state, items);
            return Poll::Ready(Ok(()));
        }
        if state.closed {
            return Poll::Ready(Err(Closed));
        }
        state.taker = Some(context.waker().clone());
        Poll::Pending
    }

    fn empty(&self, mut state: MutexGuard<'_, State<T>>, items: &mut Vec<T>) {
        if items.is_empty() {
            std::mem::swap(items, &mut state.items);
        } else {
            items.append(&mut state.items);
        }
        state.weight = 0;
        self.wake_senders(state);
    }

    fn wake_senders(&self, mut state: MutexGuard<'_, State<T>>) {
        let waiting = state.waiting > 0;
        let senders = std::mem::take(&mut state.senders);
        drop(state);
        if waiting {
            self.emptied.notify_all();
        }
        senders.into_iter().for_each(Waker::wake);
    }

    /// Nothing is taken in any more; what is there can still be taken out.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let sleeps = std::mem::take(&mut state.sleeps);
        let taker = state.taker.take();
        self.wake_senders(state);
        if sleeps {
            self.arrived.notify_one();
        }
        if let Some(taker) = taker {
            taker.wake();
        }
    }

    /// The weight of what waits.
    pub fn weight(&self) -> usize {
        self.lock().weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn everything_is_taken_in_order_and_at_once() {
        let mailbox = Mailbox::new(10);
        (0..3).for_each(|n| mailbox.offer(n, 1).expect("room"));
        let mut items = vec![9];
        mailbox.take(&mut items, None).expect("open");
        assert_eq!((items, mailbox.weight()), (vec![9, 0, 1, 2], 0));
        let mut none = Vec::new();
        assert_eq!(mailbox.take(&mut none, Some(Instant::now())), Ok(()));
        assert!(none.is_empty());
    }

    #[test]
    fn a_full_box_refuses_until_it_is_emptied() {
        let mailbox = Mailbox::new(2);
        mailbox.offer("heavy", 5).expect("room for one, however heavy");
        assert_eq!(mailbox.offer("light", 1), Err(Refused::Full));
        mailbox.force("urgent", 1).expect("open");
        mailbox.take(&mut Vec::new(), None).expect("open");
        assert_eq!(mailbox.offer("light", 1), Ok(()));
    }

    #[test]
    fn what_is_left_is_taken_with_the_next_thing() {
        let mailbox = Mailbox::new(2);
        mailbox.leave(1, 1).expect("open");
        mailbox.force(2, 1).expect("open");
        let mut items = Vec::new();
        mailbox.take(&mut items, None).expect("open");
        assert_eq!(items, [1, 2]);
    }

    #[test]
    fn a_closed_box_gives_what_it_has_and_takes_nothing() {
        let mailbox = Mailbox::new(2);
        mailbox.offer(1, 1).expect("room");
        mailbox.close();
        assert_eq!((mailbox.offer(2, 1), mailbox.send(2, 1)), (Err(Refused::Closed), Err(Closed)));
        let mut items = Vec::new();
        assert_eq!((mailbox.take(&mut items, None), mailbox.take(&mut items, None)), (Ok(()), Err(Closed)));
        assert_eq!(items, [1]);
    }

    #[test]
    fn senders_and_taker_wait_for_each_other() {
        const COUNT: usize = 20_000;
        let mailbox = Arc::new(Mailbox::new(7));
        let senders: Vec<_> = (0..2)
            .map(|_| {
                let mailbox = Arc::clone(&mailbox);
                thread::spawn(move || (0..COUNT).try_for_each(|n| mailbox.send(n, 1)))
            })
            .collect();
        let mut taken = Vec::new();
        while taken.len() < 2 * COUNT {
            let before = taken.len();
            mailbox.take(&mut taken, None).expect("open");
            assert!(taken.len() - before <= 7, "never more than the limit");
        }
        assert!(senders.into_iter().all(|sender| sender.join().expect("no panic").is_ok()));
        taken.sort_unstable();
        assert!(taken.iter().enumerate().all(|(position, n)| position / 2 == *n));
    }

    #[test]
    fn tasks_wait_too() {
        const COUNT: usize = 5_000;
        let runtime = || tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let mailbox = Arc::new(Mailbox::new(3));
        let sender = Arc::clone(&mailbox);
        let sender = thread::spawn(move || {
            runtime().block_on(async {
                for n in 0..COUNT {
                    sender.room().await?;
                    sender.force(n, 1)?;
                }
                Ok::<_, Closed>(())
            })
        });
        let taken = runtime().block_on(async {
            let mut taken = Vec::new();
            while taken.len() < COUNT {
                mailbox.taken(&mut taken).await.expect("open");
            }
            taken
        });
        assert_eq!(sender.join().expect("no panic"), Ok(()));
        assert!(taken.into_iter().eq(0..COUNT));
    }
}
