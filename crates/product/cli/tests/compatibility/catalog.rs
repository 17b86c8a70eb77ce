//! Clients and their known gaps: `clients/clients.json`.

use crate::server::repository;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A client: a program of steps in `clients/LANGUAGE`.
pub struct Client {
    pub name: String,
    /// Heading under which the report lists it.
    pub kind: String,
    /// Folder of its program, and how it is started ([`super::run`]).
    pub language: String,
    /// File or name of the program, and its arguments.
    pub program: Vec<String>,
    /// Steps that PostgreSQL passes and the server does not.
    pub gaps: BTreeMap<String, Gap>,
}

/// A step that fails here.
pub struct Gap {
    /// What the server lacks.
    pub missing: String,
    /// What to do instead.
    pub instead: String,
}

impl Client {
    /// Reads the list.
    pub fn all() -> Vec<Client> {
        let text = std::fs::read_to_string(programs().join("clients.json")).unwrap();
        let list: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("clients.json: {error}"));
        list.as_array().unwrap().iter().map(Client::read).collect()
    }

    /// The name in letters that files and databases may have.
    pub fn file_name(&self) -> String {
        let name = self.name.to_ascii_lowercase();
        name.split(|letter: char| !letter.is_ascii_alphanumeric())
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("_")
    }

    fn read(value: &Value) -> Client {
        let field = |name: &str| text(value, name);
        let mut program = field("program").split(' ').map(str::to_owned).collect::<Vec<_>>();
        program.retain(|word| !word.is_empty());
        let gaps = value.get("gaps").and_then(Value::as_object).into_iter().flatten();
        let gap = |gap: &Value| Gap { missing: text(gap, "missing"), instead: text(gap, "instead") };
        Client {
            name: field("name"),
            kind: field("kind"),
            language: field("language"),
            program,
            gaps: gaps.map(|(step, value)| (step.clone(), gap(value))).collect(),
        }
    }
}

fn text(value: &Value, name: &str) -> String {
    let text = value.get(name).and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("clients.json: no text {name:?} in {value}")).to_owned()
}

/// Returns the folder of the programs' sources.
pub fn programs() -> PathBuf {
    repository().join("crates/product/cli/tests/clients")
}
