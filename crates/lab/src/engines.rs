//! The engines: the only place that names them.

mod one_mutex;

pub use one_mutex::OneMutex;

use model::{Interactive, Result, Schema, TableId};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// An engine that workloads can run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// One mutex around one sorted map: no protocol, no product, the yardstick
    Twin,
}

impl EngineName {
    /// What its transactions are promised of each other.
    pub fn isolation(self) -> &'static str {
        match self {
            EngineName::Twin => "strict serializable",
        }
    }

    /// Whether it can keep its data on a disk.
    pub fn is_durable(self) -> bool {
        match self {
            EngineName::Twin => false,
        }
    }
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EngineName::Twin => "twin",
        })
    }
}

/// How an engine is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The directory of its data; `None`: in memory.
    pub data: Option<PathBuf>,
    /// Whether its limits are made so small that reaching them is common: for histories, never for figures.
    pub has_small_limits: bool,
}

/// What is done with an engine, whichever it is.
pub trait OnEngine {
    /// What comes of it.
    type Output;

    /// Does it. `tables` are those that were asked for, in that order.
    fn run<E: Interactive>(self, engine: Arc<E>, tables: Vec<TableId>) -> Self::Output;
}

/// Opens the engine, creates the tables, and hands both to `task`.
///
/// # Errors
/// What the engine says when it is opened or a table is created.
pub fn on_engine<T: OnEngine>(
    name: EngineName,
    _settings: &Settings,
    schemas: Vec<Schema>,
    task: T,
) -> Result<T::Output> {
    match name {
        EngineName::Twin => {
            let engine = OneMutex::new();
            let tables = create_tables(schemas, |schema| Ok(engine.create_table(schema)))?;
            Ok(task.run(Arc::new(engine), tables))
        }
    }
}

fn create_tables(schemas: Vec<Schema>, create: impl FnMut(Schema) -> Result<TableId>) -> Result<Vec<TableId>> {
    schemas.into_iter().map(create).collect()
}
