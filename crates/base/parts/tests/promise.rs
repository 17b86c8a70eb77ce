//! A promise delivers its value to every kind of waiter: blocked, polling, or called back; before and after it is resolved.
#![cfg(not(any(loom, feature = "shuttle")))]

use model::Pending;
use seriatim_parts::promise::promise;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

/// Sends a message for each wake-up.
struct Bell(Mutex<mpsc::Sender<()>>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // Whoever listened may have gone.
        let _ = self.0.lock().expect("nobody panics").send(());
    }
}

/// Polls until the value is there, asleep in between: what an executor does.
fn block_on<T>(mut pending: Pending<T>) -> T {
    let (bell, rung) = mpsc::channel();
    let waker = Waker::from(Arc::new(Bell(Mutex::new(bell))));
    let mut context = Context::from_waker(&waker);
    loop {
        match Pin::new(&mut pending).poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => rung.recv().expect("the waker is kept"),
        }
    }
}

/// Each way to wait, before the promise is resolved (it may also win the race) and after.
#[test]
fn every_kind_of_waiter_gets_the_value() {
    let called = |pending: Pending<u32>| {
        let (sender, receiver) = mpsc::channel();
        pending.on_resolved(move |value| sender.send(value).expect("the test listens"));
        receiver.recv().expect("called")
    };
    let ways: [fn(Pending<u32>) -> u32; 3] = [Pending::wait, block_on, called];
    for way in ways {
        for round in 0..200 {
            let (promise, pending) = promise();
            let waiter = thread::spawn(move || way(pending));
            promise.resolve(round);
            assert_eq!(waiter.join().expect("no panic"), round);
        }
        let (promise, pending) = promise();
        promise.resolve(7);
        assert_eq!(way(pending), 7);
    }
}

#[test]
fn a_poller_may_block_or_listen_afterwards() {
    let (promise_one, mut pending) = promise();
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(Pin::new(&mut pending).poll(&mut context), Poll::Pending);
    promise_one.resolve(1);
    assert_eq!(pending.wait(), 1);
    let (promise_two, mut pending) = promise();
    assert_eq!(Pin::new(&mut pending).poll(&mut context), Poll::Pending);
    let (sender, receiver) = mpsc::channel();
    pending.on_resolved(move |value| sender.send(value).expect("the test listens"));
    promise_two.resolve(2);
    assert_eq!(receiver.recv().expect("called"), 2);
}

#[test]
fn a_promise_that_is_dropped_ends_the_wait() {
    let (promise, pending) = promise::<u32>();
    let waiter = thread::spawn(move || pending.wait());
    drop(promise);
    assert!(waiter.join().is_err(), "it panics instead of waiting for ever");
}

#[test]
fn nobody_need_wait() {
    let (promise, pending) = promise();
    drop(pending);
    promise.resolve(1);
}
