//! Parameters of workloads: presets by name, in a file of TOML for each workload, and what the command line changes of them.
//!
//! A file has the table `[default]` with every parameter, and tables that change some of them.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The presets of a workload.
#[derive(Clone, Debug)]
pub struct Presets {
    workload: &'static str,
    tables: Map<String, Value>,
}

/// The preset that all others change.
pub const DEFAULT: &str = "default";

impl Presets {
    /// Reads a file of presets.
    ///
    /// # Errors
    /// It is no TOML, or a preset is no table.
    pub fn read(workload: &'static str, file: &str) -> Result<Presets, String> {
        let tables = toml::from_str(file).map_err(|error| format!("presets of {workload}: {error}"))?;
        Ok(Presets { workload, tables })
    }

    /// Names of all presets.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// The parameters of a preset, with changes: fields that are null change nothing.
    ///
    /// # Errors
    /// There is no such preset, or the parameters are not those of the workload.
    pub fn parameters<P: DeserializeOwned>(&self, preset: &str, changes: &impl Serialize) -> Result<P, String> {
        let mut parameters = self.table(DEFAULT)?.clone();
        if preset != DEFAULT {
            parameters.extend(self.table(preset)?.clone());
        }
        let Ok(Value::Object(changes)) = serde_json::to_value(changes) else {
            return Err("changes of parameters have names".to_owned());
        };
        parameters.extend(changes.into_iter().filter(|(_, value)| !value.is_null()));
        serde_json::from_value(Value::Object(parameters))
            .map_err(|error| format!("preset {preset} of workload {}: {error}", self.workload))
    }

    fn table(&self, preset: &str) -> Result<&Map<String, Value>, String> {
        self.tables.get(preset).and_then(Value::as_object).ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            format!("workload {} has no preset {preset}; it has {}", self.workload, names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Size {
        width: u64,
        height: u64,
    }

    #[derive(Serialize)]
    struct Changes {
        width: Option<u64>,
        height: Option<u64>,
    }

    const UNCHANGED: Changes = Changes { width: None, height: None };

    #[test]
    fn presets_change_the_default_and_the_command_line_changes_presets() {
        let presets = Presets::read("sizes", "[default]\nwidth = 1\nheight = 2\n[wide]\nwidth = 10").unwrap();
        let size = |preset, changes| presets.parameters::<Size>(preset, &changes);
        assert_eq!(size(DEFAULT, UNCHANGED), Ok(Size { width: 1, height: 2 }));
        assert_eq!(size("wide", UNCHANGED), Ok(Size { width: 10, height: 2 }));
        assert_eq!(size("wide", Changes { width: None, height: Some(7) }), Ok(Size { width: 10, height: 7 }));
        assert!(size("tall", UNCHANGED).unwrap_err().contains("it has default, wide"));
    }

    #[test]
    fn unknown_parameters_are_refused() {
        let presets = Presets::read("sizes", "[default]\nwidth = 1\nheight = 2\ndepth = 3").unwrap();
        assert!(presets.parameters::<Size>(DEFAULT, &UNCHANGED).unwrap_err().contains("depth"));
        assert!(Presets::read("sizes", "width = = 1").is_err());
    }
}
