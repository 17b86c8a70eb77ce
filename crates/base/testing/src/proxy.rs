//! A proxy between a client and a server, which can be cut, and can lose answers.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

/// A proxy of one port of 127.0.0.1.
pub struct Proxy {
    /// Its port.
    pub port: u16,
    gate: Arc<Mutex<Gate>>,
}

#[derive(Default)]
struct Gate {
    is_cut: bool,
    loses_answers: bool,
    has_ended: bool,
    open: Vec<TcpStream>,
}

fn lock(gate: &Mutex<Gate>) -> MutexGuard<'_, Gate> {
    gate.lock().unwrap()
}

impl Proxy {
    /// Starts one on a free port, to a port of 127.0.0.1.
    pub fn start(to: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let gate = Arc::new(Mutex::new(Gate::default()));
        let shared = Arc::clone(&gate);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if lock(&shared).has_ended {
                    return;
                }
                // A server that is down refuses, and so the client's connection ends.
                if let Ok(server) = TcpStream::connect(("127.0.0.1", to)) {
                    join(&shared, client, server);
                }
            }
        });
        Proxy { port, gate }
    }

    /// Ends all connections, and takes no new ones.
    pub fn cut(&self) {
        let mut gate = lock(&self.gate);
        gate.is_cut = true;
        gate.open.drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }

    /// Takes connections again, and passes answers on.
    pub fn connect(&self) {
        let mut gate = lock(&self.gate);
        (gate.is_cut, gate.loses_answers) = (false, false);
    }

    /// What the server answers is lost from here on.
    pub fn lose_answers(&self) {
        lock(&self.gate).loses_answers = true;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
        lock(&self.gate).has_ended = true;
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Copies in both directions until one ends.
fn join(gate: &Arc<Mutex<Gate>>, client: TcpStream, server: TcpStream) {
    let mut opened = lock(gate);
    if opened.is_cut {
        return;
    }
    opened.open.extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
    drop(opened);
    for (from, to, are_answers) in [(&client, &server, false), (&server, &client, true)] {
        let (mut from, mut to, gate) = (from.try_clone().unwrap(), to.try_clone().unwrap(), Arc::clone(gate));
        thread::spawn(move || {
            let mut buffer = [0; 16 << 10];
            while let Ok(bytes @ 1..) = from.read(&mut buffer) {
                let is_lost = are_answers && lock(&gate).loses_answers;
                if !is_lost && to.write_all(&buffer[..bytes]).is_err() {
                    break;
                }
            }
            // The other end notices, and ends the other direction.
            let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
        });
    }
}
