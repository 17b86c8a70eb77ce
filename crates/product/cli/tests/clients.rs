//! Clients in Python place orders while an auditor reads: sums are exact, the history is strictly serializable, and no
//! acknowledged order is lost when the server is killed. And the loops of `docs/retries.md` are those that `make test-clients` runs.

mod server;

use server::{Server, python};
use std::path::Path;
use std::process::Command;
use testing::{Directory, text};

struct Clients {
    python: std::path::PathBuf,
    acknowledged: std::path::PathBuf,
}

impl Clients {
    fn new(directory: &Directory, what: &str) -> Option<Clients> {
        Some(Clients { python: python(what)?, acknowledged: directory.join("acknowledged") })
    }

    fn command(&self, port: u16, arguments: &[&str]) -> Command {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/orders.py");
        let mut command = Command::new(&self.python);
        command.arg(script).arg(port.to_string()).args(arguments);
        command
    }

    #[track_caller]
    fn run(&self, port: u16, arguments: &[&str]) -> String {
        let output = self.command(port, arguments).output().unwrap();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?}\n{out}\n{err}");
        out
    }

    fn orders(&self, clients: u32, orders: u32) -> [String; 4] {
        let file = self.acknowledged.to_str().unwrap().to_owned();
        ["run".into(), clients.to_string(), orders.to_string(), file]
    }
}

fn numbers(line: &str) -> Vec<u64> {
    line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn eight_clients_and_an_auditor_leave_a_strictly_serializable_history() {
    for engine in ["mvto", "hyper"] {
        leave_a_strictly_serializable_history(engine);
    }
}

fn leave_a_strictly_serializable_history(engine: &str) {
    let directory = Directory::made("clients");
    let Some(clients) = Clients::new(&directory, "orders of eight clients") else { return };
    let history = directory.join("history");
    let options = ["--durability", "async", "--engine", engine, "--history", history.to_str().unwrap()];
    let server = Server::start(&directory.join("data"), &options);
    clients.run(server.port, &["setup"]);
    let arguments = clients.orders(8, 40);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let out = clients.run(server.port, &arguments);
    let [orders, attempts, audits] = numbers(&out)[..] else { panic!("{out}") };
    assert_eq!(orders, 320);
    assert!(attempts <= 3 * orders, "{attempts} attempts for {orders} orders");
    assert!(audits > 0, "the auditor must have looked");
    clients.run(server.port, &["audit", clients.acknowledged.to_str().unwrap()]);
    assert_eq!(server.stop(), Some(0));

    let mut check = Command::new(env!("CARGO_BIN_EXE_seriatim"));
    let verdict = check.args(["check", "--model", "strict"]).arg(&history).output().unwrap();
    assert!(verdict.status.success(), "{}\n{}", text(&verdict.stdout), text(&verdict.stderr));
}

/// Engines take turns: each recovers what the other one was killed over.
#[test]
fn twenty_kills_take_no_acknowledged_order_away() {
    let directory = Directory::made("kills");
    let Some(clients) = Clients::new(&directory, "kills under orders") else { return };
    let (data, acknowledged) = (directory.join("data"), clients.acknowledged.to_str().unwrap().to_owned());
    let mut server = Server::start(&data, &[]);
    clients.run(server.port, &["setup"]);
    for round in 0..20 {
        let arguments = clients.orders(4, 1_000_000);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let before = acknowledged_orders(&clients.acknowledged);
        let running = clients
            .command(server.port, &arguments)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // The kill comes after so many acknowledgements, in another place of the work each round.
        let wanted = before + 5 + 3 * round;
        while acknowledged_orders(&clients.acknowledged) < wanted {
            std::thread::yield_now();
        }
        server.kill();
        let output = running.wait_with_output().unwrap();
        assert!(output.status.success(), "round {round}: {}", text(&output.stderr));
        server = Server::start(&data, &["--engine", ["mvto", "hyper"][round as usize % 2]]);
        let out = clients.run(server.port, &["audit", &acknowledged]);
        let [acknowledged, found] = numbers(&out)[..] else { panic!("{out}") };
        assert!(found >= acknowledged && acknowledged >= wanted, "round {round}: {out}");
    }
    assert_eq!(server.stop(), Some(0));
}

fn acknowledged_orders(file: &Path) -> u64 {
    std::fs::read(file).map_or(0, |bytes| bytes.iter().filter(|&&byte| byte == b'\n').count() as u64)
}

#[test]
fn the_loops_of_the_documentation_are_those_that_are_tested() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    let document = std::fs::read_to_string(server::repository().join("docs/retries.md")).unwrap();
    let mut found = 0;
    for block in document.split("<!-- code: ").skip(1) {
        let (file, rest) = block.split_once(" -->").unwrap();
        let code: Vec<&str> = rest.lines().skip(2).take_while(|line| *line != "```").collect();
        let program = std::fs::read_to_string(programs.join(file)).unwrap();
        let lines = program.lines().skip_while(|line| !line.ends_with("shown: begin"));
        let shown: Vec<&str> = lines.skip(1).take_while(|line| !line.ends_with("shown: end")).collect();
        let indented = shown.iter().filter(|line| !line.is_empty());
        let margin = indented.map(|line| line.len() - line.trim_start().len()).min().unwrap();
        let shown: Vec<&str> = shown.iter().map(|line| line.get(margin..).unwrap_or_default()).collect();
        assert_eq!(code, shown, "docs/retries.md and {file}");
        found += 1;
    }
    assert!(found >= 5, "{found} blocks");
}
