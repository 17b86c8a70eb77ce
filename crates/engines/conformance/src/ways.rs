//! The three ways in which a caller takes a pending value: it blocks, it is called back, it polls.

use model::Pending;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// A way to take a pending value.
pub type Way<T> = fn(Pending<T>) -> T;

/// The three ways, each with its name.
pub fn ways<T: Send + 'static>() -> [(&'static str, Way<T>); 3] {
    [("blocking", Pending::wait), ("called back", called_back), ("polling", polled)]
}

fn called_back<T: Send + 'static>(pending: Pending<T>) -> T {
    let (sender, receiver) = mpsc::channel();
    pending.on_resolved(move |value| sender.send(value).expect("the receiver waits"));
    receiver.recv().expect("it is called back")
}

/// A task of its own, on this thread.
fn polled<T: Send + 'static>(pending: Pending<T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut pending = pin!(pending);
    loop {
        match pending.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
