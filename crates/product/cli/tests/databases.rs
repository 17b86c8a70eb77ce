//! Several databases in one server, as PostgreSQL's tools make, list, dump and drop them; a kill between the steps.

mod server;

use server::Server;
use std::process::{Command, Output};
use testing::{Directory, has, text};

/// A program of PostgreSQL that connects to a server.
fn tool(server: &Server, name: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(name);
    command.args(["-h", "127.0.0.1", "-p", &server.port.to_string(), "-U", "postgres"]);
    command.args(arguments).output().unwrap()
}

#[track_caller]
fn run(server: &Server, name: &str, arguments: &[&str]) -> String {
    let output = tool(server, name, arguments);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{name} {arguments:?}\n{out}\n{err}");
    out
}

/// psql in a database, without decoration.
#[track_caller]
fn psql(server: &Server, database: &str, sql: &str) -> String {
    run(server, "psql", &["-XAtq", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", sql]).trim_end().to_owned()
}

#[track_caller]
fn fails(server: &Server, name: &str, arguments: &[&str]) -> String {
    let output = tool(server, name, arguments);
    assert!(!output.status.success(), "{name} {arguments:?}");
    text(&output.stderr)
}

#[test]
fn postgresqls_tools_work_with_several_databases() {
    if !has("createdb", "tools with several databases") {
        return;
    }
    let directory = Directory::made("databases");
    let server = Server::start(&directory.join("data"), &[]);
    run(&server, "createuser", &["-d", "-L", "admins"]);
    run(&server, "createuser", &["-g", "admins", "app"]);
    assert!(fails(&server, "createuser", &["app"]).contains("role \"app\" already exists"));
    run(&server, "createuser", &["gone"]);
    run(&server, "dropuser", &["gone"]);
    psql(&server, "postgres", "ALTER ROLE app PASSWORD 'secret'");
    run(&server, "createdb", &["-O", "app", "app", "the shop"]);
    assert!(fails(&server, "createdb", &["app"]).contains("database \"app\" already exists"));
    psql(
        &server,
        "app",
        "SET ROLE app; CREATE TABLE city (id serial PRIMARY KEY, name text UNIQUE); INSERT INTO city (name) VALUES ('Graz')",
    );
    psql(&server, "app", "ALTER DATABASE app SET work_mem = '9MB'");
    psql(&server, "postgres", "CREATE TABLE other (a int)");
    let list = run(&server, "psql", &["-XAt", "-l"]);
    for name in ["app|", "postgres|", "template0|", "template1|"] {
        assert!(list.lines().any(|line| line.starts_with(name)), "{list}");
    }
    let moved = run(&server, "psql", &["-XAtq", "-c", "\\c app", "-c", "SELECT current_database()", "-c", "\\l+ app"]);
    assert!(moved.lines().any(|line| line == "app") && moved.contains("the shop"), "{moved}");
    assert!(fails(&server, "psql", &["-d", "nope", "-c", "SELECT 1"]).contains("database \"nope\" does not exist"));

    // A dump with its database restores where the database is not.
    let dump = directory.join("app.sql");
    let file = dump.to_str().unwrap();
    run(&server, "pg_dump", &["-C", "-f", file, "app"]);
    run(&server, "dropdb", &["app"]);
    assert!(fails(&server, "dropdb", &["app"]).contains("database \"app\" does not exist"));
    run(&server, "dropdb", &["--if-exists", "app"]);
    run(&server, "psql", &["-Xq", "-v", "ON_ERROR_STOP=1", "-d", "postgres", "-f", file]);
    assert_eq!(psql(&server, "app", "SELECT id, name, current_setting('work_mem') FROM city"), "1|Graz|9MB");

    // All of them, into another server.
    let everything = directory.join("all.sql");
    run(&server, "pg_dumpall", &["-f", everything.to_str().unwrap()]);
    let copy = Server::start(&directory.join("copy"), &[]);
    let restored = tool(&copy, "psql", &["-Xq", "-d", "postgres", "-f", everything.to_str().unwrap()]);
    let complaints = text(&restored.stderr);
    let expected = |line: &str| !line.contains("ERROR") || line.ends_with("role \"postgres\" already exists");
    assert!(complaints.lines().all(expected), "{complaints}");
    let roles = "SELECT rolname, rolcreatedb, rolcanlogin, rolpassword ~ '^SCRAM' FROM pg_authid WHERE rolname LIKE 'a%' ORDER BY 1";
    assert_eq!(psql(&copy, "postgres", roles), "admins|t|f|\napp|f|t|t");
    assert_eq!(psql(&copy, "app", "SELECT relowner::regrole FROM pg_class WHERE relname = 'city'"), "app");
    assert_eq!(
        psql(&copy, "postgres", "SELECT member::regrole FROM pg_auth_members WHERE roleid = 'admins'::regrole"),
        "app"
    );
    run(&copy, "psql", &["-XAtq", "-U", "app", "-d", "app", "-c", "INSERT INTO city (name) VALUES ('Linz')"]);
    assert_eq!(psql(&copy, "app", "SELECT name FROM city ORDER BY 1"), "Graz\nLinz");
    assert_eq!(psql(&copy, "postgres", "SELECT count(*) FROM other"), "0");
    assert_eq!((server.stop(), copy.stop()), (Some(0), Some(0)));
}

/// Databases are made, used and dropped until a kill: afterwards each is whole or not there, and nothing of others remains.
#[test]
fn a_kill_leaves_no_half_database() {
    let directory = Directory::made("databases-kill");
    let data = directory.join("data");
    let mut server = Server::start(&data, &["--durability", "async"]);
    psql(&server, "postgres", "CREATE TABLE made (name text)");
    for round in 0..6 {
        let script = format!(
            "CREATE DATABASE d{round};\n\\c d{round}\nCREATE TABLE t (a int PRIMARY KEY, b int UNIQUE);\nINSERT INTO t VALUES (1, 2);\n\
             \\c postgres\nCREATE DATABASE e{round};\nDROP DATABASE d{round};\n"
        )
        .repeat(20);
        let file = directory.join("script.sql");
        std::fs::write(&file, script).unwrap();
        let mut client = Command::new("psql");
        client.args([
            "-Xq",
            "-h",
            "127.0.0.1",
            "-p",
            &server.port.to_string(),
            "-U",
            "postgres",
            "-d",
            "postgres",
            "-f",
        ]);
        let running = client.arg(&file).stderr(std::process::Stdio::null()).spawn().unwrap();
        let wanted = format!("SELECT count(*) FROM pg_database WHERE datname = 'e{round}'");
        while psql(&server, "postgres", &wanted) == "0" {}
        server.kill();
        let _ = running.wait_with_output().unwrap();
        let engine = ["mvto", "hyper"][round % 2];
        server = Server::start(&data, &["--durability", "async", "--engine", engine]);
        let there = psql(&server, "postgres", "SELECT datname FROM pg_database WHERE datname LIKE 'd_'");
        for name in there.lines() {
            let tables = psql(&server, name, "SELECT count(*) FROM pg_class WHERE relname = 't'");
            assert!(tables == "0" || psql(&server, name, "SELECT count(*) FROM t").len() == 1, "{name}: {tables}");
            psql(&server, "postgres", &format!("DROP DATABASE {name}"));
        }
    }
    assert_eq!(server.stop(), Some(0));
}
