//! `seriatim_cluster`: what whoever opened the database says of the cluster.

mod common;

use common::Client;
use seriatim_sql::database::{Cluster, Database, Member, Options};
use std::sync::Arc;

#[derive(Debug)]
struct Two;

impl Cluster for Two {
    fn members(&self) -> Vec<Member> {
        let own = Member {
            node: 0,
            address: Some("127.0.0.1:7400".into()),
            is_self: true,
            part: Some("leader".into()),
            state: Some("serving".into()),
            applied: Some("7.1".into()),
            known: Some("9.0".into()),
            lag: Some(2),
            on_disk: Some(5),
            disk_lag: Some(3),
            ..Member::default()
        };
        let other = Member {
            node: 1,
            is_connected: Some(false),
            delivered: Some("6.0".into()),
            problem: Some("connection refused".into()),
            ..Member::default()
        };
        vec![own, other]
    }

    fn aborts(&self) -> Vec<(String, u64)> {
        vec![("read-changed".into(), 3)]
    }
}

#[test]
fn members_and_aborts_are_shown() {
    let options = Options { cluster: Some(Arc::new(Two)), ..Options::default() };
    let database = Database::open(common::store(), options).unwrap();
    let mut client = Client::new(&database);
    let members = client.show("SELECT * FROM seriatim_cluster ORDER BY node");
    assert_eq!(members, "0|t|127.0.0.1:7400|leader||serving|7.1|9.0|2||5|3|\n1|f|||f|||||6.0|||connection refused");
    assert_eq!(client.show("SELECT rule, aborts FROM seriatim_cluster_aborts"), "read-changed|3");
}

#[test]
fn without_a_cluster_there_is_nothing_to_see() {
    for database in common::databases() {
        let mut client = Client::new(&database);
        assert_eq!(client.show("SELECT count(*) FROM seriatim_cluster"), "0");
        assert_eq!(client.show("SELECT count(*) FROM seriatim_cluster_aborts"), "0");
    }
}

#[test]
fn what_belongs_to_the_node_warns_once_in_a_session() {
    let options = Options { cluster: Some(Arc::new(Two)), ..Options::default() };
    let database = Database::open(common::store(), options).unwrap();
    let alone = common::database();
    for (sql, what) in [
        ("SELECT pg_advisory_lock(1)", "advisory locks exclude sessions"),
        ("SELECT pg_try_advisory_xact_lock(1, 2)", "advisory locks exclude sessions"),
        ("LISTEN news", "LISTEN receives notifications from sessions"),
        ("NOTIFY news", "NOTIFY reaches sessions"),
        ("SELECT pg_notify('news', 'x')", "NOTIFY reaches sessions"),
    ] {
        let mut client = Client::new(&database);
        let expected = [format!("WARNING: {what} of the same node only: this server is a node of a cluster")];
        assert_eq!(client.run(sql).notices, expected, "{sql}");
        assert!(client.run(sql).notices.is_empty(), "{sql}");
        // Advisory locks of a session go with it, and the next session takes one again.
        assert!(Client::new(&alone).run(sql).notices.is_empty(), "{sql}");
    }
}
