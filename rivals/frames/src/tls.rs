//! TLS 1.3 with a certificate on both sides, of one authority of the cluster's own.

use crate::{Links, PEERS};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection};
use std::io::{Read, Write};
use std::sync::{Arc, LazyLock};

static CONFIGS: LazyLock<(Arc<ClientConfig>, Arc<ServerConfig>)> = LazyLock::new(configs);

pub struct Tls {
    links: Vec<(Connection, Connection)>,
    wire: Vec<u8>,
    opened: Vec<u8>,
}

impl Links for Tls {
    const NAME: &str = "TLS 1.3, mutual (rustls)";

    fn connect() -> Self {
        Tls { links: (0..PEERS).map(|_| handshake()).collect(), wire: Vec::new(), opened: vec![0; 1 << 16] }
    }

    fn send(&mut self, frame: &[u8]) {
        for (sender, receiver) in &mut self.links {
            sender.writer().write_all(frame).expect("room for a frame");
            let opened = exchange(sender, receiver, &mut self.wire, &mut self.opened);
            assert_eq!(opened, frame.len());
        }
    }
}

/// An authority, and a certificate of it that either end shows.
fn configs() -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let mut authority = CertificateParams::new(Vec::new()).expect("no names");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().expect("a key")).expect("an authority");
    let key = KeyPair::generate().expect("a key");
    let replica = CertificateParams::new(vec!["replica".to_owned()]).expect("a name");
    let certificate = replica.signed_by(&key, &authority).expect("a certificate");
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).expect("the authority's certificate");
    let roots = Arc::new(roots);
    let chain = || -> Vec<CertificateDer<'static>> { vec![certificate.der().clone()] };
    let secret = || PrivateKeyDer::try_from(key.serialize_der()).expect("a key in its usual form");
    let clients = WebPkiClientVerifier::builder(Arc::clone(&roots)).build().expect("a verifier");
    let client = ClientConfig::builder().with_root_certificates(roots).with_client_auth_cert(chain(), secret());
    let server = ServerConfig::builder().with_client_cert_verifier(clients).with_single_cert(chain(), secret());
    let mut client = client.expect("a client");
    client.resumption = rustls::client::Resumption::disabled();
    (Arc::new(client), Arc::new(server.expect("a server")))
}

/// Both ends of a handshake.
fn handshake() -> (Connection, Connection) {
    let (client, server) = &*CONFIGS;
    let name = ServerName::try_from("replica").expect("a name");
    let mut initiator = Connection::from(ClientConnection::new(Arc::clone(client), name).expect("a client"));
    let mut acceptor = Connection::from(ServerConnection::new(Arc::clone(server)).expect("a server"));
    let (mut wire, mut opened) = (Vec::new(), vec![0; 1 << 12]);
    while initiator.is_handshaking() || acceptor.is_handshaking() {
        exchange(&mut initiator, &mut acceptor, &mut wire, &mut opened);
        exchange(&mut acceptor, &mut initiator, &mut wire, &mut opened);
    }
    exchange(&mut acceptor, &mut initiator, &mut wire, &mut opened);
    (initiator, acceptor)
}

/// Carries what one end wants to send to the other; returns how many bytes of data came out there.
fn exchange(from: &mut Connection, to: &mut Connection, wire: &mut Vec<u8>, opened: &mut [u8]) -> usize {
    wire.clear();
    while from.wants_write() {
        from.write_tls(wire).expect("memory");
    }
    let (mut rest, mut bytes) = (&wire[..], 0);
    while !rest.is_empty() {
        to.read_tls(&mut rest).expect("memory");
        to.process_new_packets().expect("what the other end sent");
        while let Ok(read @ 1..) = to.reader().read(opened) {
            bytes += read;
        }
    }
    bytes
}
