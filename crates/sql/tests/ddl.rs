//! Definitions: inside transactions, undone with them, kept with them.

mod common;

use common::{Client, database, open, store};

#[test]
fn tables_come_and_go_with_their_transaction() {
    let database = database();
    let mut client = Client::new(&database);
    assert_eq!(client.run("create table t (a int primary key, b text unique)").tags, ["CREATE TABLE"]);
    assert_eq!(client.fails("create table t (a int)").message(), "relation \"t\" already exists");
    let answer = client.run("create table if not exists t (a int)");
    assert_eq!(answer.notices, ["NOTICE: relation \"t\" already exists, skipping"]);
    client.run("begin; create table u (a int); rollback");
    assert_eq!(client.fails("drop table u").message(), "table \"u\" does not exist");
    client.run("begin; drop table t; rollback");
    assert_eq!(client.run("drop table t").tags, ["DROP TABLE"]);
    assert_eq!(client.fails("drop table t").code(), "42P01");
}
