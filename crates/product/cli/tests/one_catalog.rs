//! A table of a program and one of SQL, joined by psql, across a kill.

mod common;
mod server;

use common::{Directory, run};
use server::Server;
use testing::has;

#[test]
fn psql_joins_a_table_of_load_with_one_of_sql_also_after_a_kill() {
    if !has("psql", "the join of a table of a program with one of SQL") {
        return;
    }
    let directory = Directory::new("one-catalog");
    let data = directory.path().join("data");
    let path = data.to_str().unwrap();
    let file = directory.file("customers.csv", "id,city\n1,Graz\n2,Reims\n");
    run(["load", "--data", path, "customers", file.to_str().unwrap(), "--key", "id"]).ok();
    let server = Server::start(&data, &[]);
    server.show("CREATE TABLE orders (id serial PRIMARY KEY, customer bigint REFERENCES customers, total numeric)");
    server.show("INSERT INTO orders (customer, total) VALUES (1, 10.5), (1, 2), (2, 7)");
    server.show("INSERT INTO customers VALUES (3, 'Wien')");
    let joined =
        "SELECT city, sum(total) FROM customers LEFT JOIN orders ON customer = customers.id GROUP BY 1 ORDER BY 1";
    let expected = "Graz|12.5\nReims|7\nWien|";
    assert_eq!(server.show(joined), expected);
    assert!(server.show("\\di").contains("customers_pkey"));
    server.kill();
    let server = Server::start(&data, &[]);
    assert_eq!(server.show(joined), expected);
    server.kill();
    assert!(run(["tables", "--data", path]).ok().contains("customers: 3 rows by id\n"));
    let newer = directory.file("newer.csv", "id,city\n4,Linz\n");
    run(["load", "--data", path, "customers", newer.to_str().unwrap()]).ok();
    assert_eq!(run(["dump", "--data", path, "customers"]).ok(), "id,city\n1,Graz\n2,Reims\n3,Wien\n4,Linz\n");
}
