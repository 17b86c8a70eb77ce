//! Drivers, ORMs and tools of others: each runs its own first use (connect, migrate, reflect, insert, select, pool, transaction)
//! against the server and, as control, against PostgreSQL 15.
//!
//! `make test-clients` installs the clients and runs this; `cargo test` leaves it out. What PostgreSQL passes passes here, or
//! `clients/clients.json` names the step as a gap, with the reason and a way around it. A gap that is none any more fails the
//! test, so that the list only shrinks. The outcome is `docs/compatibility.md`: written by a run of all clients, compared by
//! continuous integration. `CLIENTS=a,b` runs only these.

mod compatibility {
    pub mod catalog;
    pub mod report;
    pub mod run;
}
mod server;

use compatibility::catalog::Client;
use compatibility::report::{self, Outcome};
use compatibility::run::{self, Target};
use server::Server;
use std::collections::VecDeque;
use std::sync::Mutex;
use testing::reference::Reference;
use testing::{Directory, say, skip};

#[test]
fn clients_are_served_as_postgresql_serves_them() {
    let what = "clients beside PostgreSQL 15";
    let Some(reference) = Reference::start(what) else { return };
    let all = Client::all();
    let wanted = std::env::var("CLIENTS").unwrap_or_default();
    let is_wanted = |client: &Client| wanted.is_empty() || wanted.split(',').any(|name| name == client.name);
    let chosen: VecDeque<&Client> = all.iter().filter(|client| is_wanted(client) && is_installed(client)).collect();
    let complete = chosen.len() == all.len();
    assert!(!chosen.is_empty() || wanted.is_empty(), "no client of CLIENTS={wanted} is in clients.json, or installed");

    let (waiting, outcomes) = (Mutex::new(chosen), Mutex::new(Vec::new()));
    let worker = || {
        loop {
            let Some(client) = waiting.lock().unwrap().pop_front() else { break };
            let outcome = try_client(client, &reference);
            say(&outcome.line());
            outcomes.lock().unwrap().push(outcome);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(worker);
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap();
    outcomes.sort_by_key(|outcome| all.iter().position(|client| client.name == outcome.client.name));
    let faults: Vec<String> = outcomes.iter().flat_map(Outcome::faults).collect();
    assert!(faults.is_empty(), "\n{}\noutput: {}", faults.join("\n"), run::logs().display());
    if complete {
        report::keep(&outcomes, &reference.version());
    }
}

fn is_installed(client: &Client) -> bool {
    let installed = run::is_installed(client);
    if !installed {
        skip(&format!("its {} is not installed (`make test-clients` installs it)", client.language), &client.name);
    }
    installed
}

/// Runs one client against a database of its own in PostgreSQL, and against a server of its own.
fn try_client<'c>(client: &'c Client, reference: &Reference) -> Outcome<'c> {
    let name = client.file_name();
    let created = server::psql(reference.port).args(["-c", &format!("CREATE DATABASE {name}")]).status().unwrap();
    assert!(created.success(), "cannot create a database for {}", client.name);
    let control = run::run(client, &Target { server: "postgresql", port: reference.port, database: &name });

    let directory = Directory::made(&name);
    let server = Server::start(&directory.join("data"), &["--durability", "none"]);
    let mut own = run::run(client, &Target { server: "seriatim", port: server.port, database: "postgres" });
    for step in &mut own.steps {
        let same = control.steps.iter().find(|other| other.name == step.name);
        if let Some(other) = same {
            step.compare(other);
        }
    }
    assert_eq!(server.stop(), Some(0), "the server after {}", client.name);
    Outcome { client, own, control }
}
