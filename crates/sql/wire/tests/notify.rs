//! Notifications on the wire: to sessions that ask nothing, before ReadyForQuery, and not inside a block.

mod common;

use common::{Client, query, start};

/// The next message, which must be a notification: its text after the sender's number.
fn notification(client: &mut Client) -> String {
    let (kind, body) = client.message().unwrap();
    assert_eq!(kind, b'A');
    String::from_utf8_lossy(&body[4..]).replace('\0', " ")
}

#[test]
fn an_idle_session_is_sent_notifications_at_once() {
    let server = start();
    let (mut listener, mut sender) = (server.client(), server.client());
    assert_eq!(listener.query("listen news"), "C[LISTEN] Z[I]");
    for payload in ["first", "second"] {
        assert_eq!(sender.query(&format!("notify news, '{payload}'")), "C[NOTIFY] Z[I]");
        assert_eq!(notification(&mut listener), format!("news {payload} "));
    }
    let (kind, body) = {
        sender.query("notify news");
        listener.message().unwrap()
    };
    assert_eq!((kind, u32::from_be_bytes(body[..4].try_into().unwrap())), (b'A', sender.key.0));
}

#[test]
fn a_session_in_a_block_is_sent_notifications_at_its_end() {
    let server = start();
    let (mut listener, mut sender) = (server.client(), server.client());
    listener.query("listen a; listen b");
    assert_eq!(listener.query("begin"), "C[BEGIN] Z[T]");
    sender.query("begin; notify b, '1'; notify a, '2'; commit");
    assert!(listener.query("select 1").ends_with("D[1] C[SELECT 1] Z[T]"));
    listener.send(&query("commit"));
    let (kind, _) = listener.message().unwrap();
    assert_eq!(kind, b'C');
    assert_eq!([notification(&mut listener), notification(&mut listener)], ["b 1 ", "a 2 "]);
    assert_eq!(listener.message().unwrap(), (b'Z', b"I".to_vec()));
}
