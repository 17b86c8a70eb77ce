//! A proxy between a client and a server, which can be cut, can hold back what passes, and can lose answers.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

/// A proxy of one port.
pub struct Proxy {
    /// Its port.
    pub port: u16,
    address: SocketAddr,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_cut: bool,
    holds_questions: bool,
    holds_answers: bool,
    loses_answers: bool,
    has_ended: bool,
    open: Vec<TcpStream>,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Waits while what comes in this direction is held back. Returns whether it is passed on.
    fn lets_through(&self, are_answers: bool) -> bool {
        let is_held =
            |state: &mut State| !state.is_cut && if are_answers { state.holds_answers } else { state.holds_questions };
        let state = self.changed.wait_while(self.lock(), is_held).unwrap();
        !(are_answers && state.loses_answers)
    }
}

impl Proxy {
    /// Starts one on a free port of 127.0.0.1, to a port of 127.0.0.1.
    pub fn start(to: u16) -> Proxy {
        Proxy::between(Ipv4Addr::LOCALHOST.into(), SocketAddr::from((Ipv4Addr::LOCALHOST, to)))
    }

    /// Starts one on a free port of `host`, to a server.
    pub fn between(host: IpAddr, to: SocketAddr) -> Proxy {
        let listener = TcpListener::bind((host, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let gate = Arc::<Gate>::default();
        let shared = Arc::clone(&gate);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if shared.lock().has_ended {
                    return;
                }
                // A server that is down refuses, and so the client's connection ends.
                if let Ok(server) = TcpStream::connect(to) {
                    join(&shared, client, server);
                }
            }
        });
        Proxy { port: address.port(), address, gate }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends all connections, and takes no new ones.
    pub fn cut(&self) {
        let mut state = self.gate.lock();
        state.is_cut = true;
        state.open.drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
        self.gate.changed.notify_all();
    }

    /// Takes connections again, and passes on what comes and what was held back, in both directions.
    pub fn connect(&self) {
        let mut state = self.gate.lock();
        (state.is_cut, state.loses_answers) = (false, false);
        (state.holds_questions, state.holds_answers) = (false, false);
        self.gate.changed.notify_all();
    }

    /// What the client sends does not arrive before [`connect`](Self::connect): as packets that get lost are sent again.
    pub fn hold_questions(&self) {
        self.gate.lock().holds_questions = true;
    }

    /// What the server sends does not arrive before [`connect`](Self::connect).
    pub fn hold_answers(&self) {
        self.gate.lock().holds_answers = true;
    }

    /// What the server answers is lost from here on.
    pub fn lose_answers(&self) {
        self.gate.lock().loses_answers = true;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
        self.gate.lock().has_ended = true;
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

/// Copies in both directions until one ends.
fn join(gate: &Arc<Gate>, client: TcpStream, server: TcpStream) {
    let mut state = gate.lock();
    if state.is_cut {
        return;
    }
    state.open.extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
    drop(state);
    for (from, to, are_answers) in [(&client, &server, false), (&server, &client, true)] {
        let (mut from, mut to, gate) = (from.try_clone().unwrap(), to.try_clone().unwrap(), Arc::clone(gate));
        // Small packets pass at once, as they do without a proxy.
        let _ = to.set_nodelay(true);
        thread::spawn(move || {
            let mut buffer = [0; 16 << 10];
            while let Ok(bytes @ 1..) = from.read(&mut buffer) {
                if gate.lets_through(are_answers) && to.write_all(&buffer[..bytes]).is_err() {
                    break;
                }
            }
            // The other end notices, and ends the other direction.
            let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client and a server at the two ends of a proxy.
    fn ends() -> (Proxy, TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy::start(listener.local_addr().unwrap().port());
        let client = TcpStream::connect(proxy.address()).unwrap();
        (proxy, client, listener.accept().unwrap().0)
    }

    fn read(from: &mut TcpStream, bytes: usize) -> Vec<u8> {
        let mut read = vec![0; bytes];
        from.read_exact(&mut read).unwrap();
        read
    }

    #[test]
    fn what_is_held_back_arrives_when_it_may() {
        let (proxy, mut client, mut server) = ends();
        proxy.hold_questions();
        client.write_all(b"a question").unwrap();
        // The other direction is open.
        server.write_all(b"an answer").unwrap();
        assert_eq!(read(&mut client, 9), b"an answer");
        server.set_nonblocking(true).unwrap();
        assert_eq!(server.read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
        server.set_nonblocking(false).unwrap();
        proxy.connect();
        assert_eq!(read(&mut server, 10), b"a question");
    }

    #[test]
    fn a_cut_ends_connections_and_what_they_hold() {
        let (proxy, mut client, mut server) = ends();
        proxy.hold_answers();
        server.write_all(b"an answer").unwrap();
        proxy.cut();
        // Held back, it may have been on the way when the connection ended: never a part of something else.
        let mut rest = Vec::new();
        let _ = client.read_to_end(&mut rest);
        assert!(rest.is_empty() || b"an answer".starts_with(&rest), "{rest:?}");
        assert_eq!(server.read(&mut [0]).unwrap_or(0), 0);
        // Nobody gets in: the connection ends at once.
        let mut again = TcpStream::connect(proxy.address()).unwrap();
        assert_eq!(again.read(&mut [0]).unwrap_or(0), 0);
    }
}
