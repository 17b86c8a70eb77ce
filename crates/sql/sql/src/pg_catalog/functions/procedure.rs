//! The signatures and definitions of functions.

use super::{argument_oid, optional};
use crate::catalog::Oid;
use crate::context::Names;
use crate::error::{Result, SqlError, state};
use crate::pg_catalog::{names, seed};
use crate::types::{Array, Datum, Row};
use std::collections::HashMap;
use std::sync::LazyLock;

static ROWS: LazyLock<HashMap<Oid, &'static Row>> =
    LazyLock::new(|| seed::rows("pg_proc").iter().filter_map(|row| Some((row.first()?.as_oid()?, row))).collect());

/// A row of `pg_proc`, its columns by name.
struct Procedure(&'static Row);

impl Procedure {
    fn find(oid: Oid) -> Option<Procedure> {
        ROWS.get(&oid).map(|row| Procedure(row))
    }

    fn column(&self, name: &str) -> &'static Datum {
        let table = crate::pg_catalog::table(None, "pg_proc");
        let at = table.and_then(|table| table.columns.iter().position(|(column, _)| *column == name));
        at.and_then(|at| self.0.get(at)).unwrap_or(&Datum::Null)
    }

    fn text(&self, name: &str) -> &'static str {
        self.column(name).as_text().unwrap_or_default()
    }

    fn is(&self, name: &str) -> bool {
        self.column(name).as_bool() == Some(true)
    }

    fn array(&self, name: &str) -> Option<&'static Array> {
        self.column(name).as_array()
    }

    /// The arguments: type, mode (`i`, `o`, `b`, `v`, `t`) and name.
    fn arguments(&self) -> Vec<(Oid, &'static str, &'static str)> {
        let all = self.array("proallargtypes").or(self.array("proargtypes"));
        let modes = self.array("proargmodes").map_or(&[][..], |modes| &modes.elements);
        let names = self.array("proargnames").map_or(&[][..], |names| &names.elements);
        let text = |texts: &'static [Datum], at: usize| texts.get(at).and_then(Datum::as_text);
        let types = all.map_or(&[][..], |types| &types.elements).iter().filter_map(Datum::as_oid);
        let argument = |(at, data_type)| (data_type, text(modes, at).unwrap_or("i"), text(names, at).unwrap_or(""));
        types.enumerate().map(argument).collect()
    }
}

fn print_arguments(names: &mut Names<'_>, procedure: &Procedure, wanted: fn(&str) -> bool) -> Result<String> {
    let mut printed = Vec::new();
    for (data_type, mode, name) in procedure.arguments() {
        if !wanted(mode) {
            continue;
        }
        let mode = match mode {
            "o" => "OUT ",
            "b" => "INOUT ",
            "v" => "VARIADIC ",
            _ => "",
        };
        let name = if name.is_empty() { String::new() } else { names::quote(name) + " " };
        printed.push(format!("{mode}{name}{}", names::print_type(names, data_type, None)?));
    }
    Ok(printed.join(", "))
}

fn with_procedure(
    names: &mut Names<'_>,
    arguments: &[Datum],
    print: fn(&mut Names<'_>, &Procedure) -> Result<String>,
) -> Result<Datum> {
    match Procedure::find(argument_oid(arguments, 0)) {
        Some(procedure) => optional(Some(print(names, &procedure)?)),
        None => Ok(Datum::Null),
    }
}

/// With OUT arguments, without those of RETURNS TABLE.
pub(super) fn arguments(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    with_procedure(names, arguments, |names, procedure| print_arguments(names, procedure, |mode| mode != "t"))
}

/// Those that tell functions of one name apart.
pub(super) fn identity_arguments(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    with_procedure(names, arguments, |names, procedure| {
        print_arguments(names, procedure, |mode| !["t", "o"].contains(&mode))
    })
}

pub(super) fn result(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    with_procedure(names, arguments, print_result)
}

fn print_result(names: &mut Names<'_>, procedure: &Procedure) -> Result<String> {
    if procedure.arguments().iter().any(|(_, mode, _)| *mode == "t") {
        return Ok(format!("TABLE({})", print_arguments(names, procedure, |mode| mode == "t")?));
    }
    let of = procedure.column("prorettype").as_oid().unwrap_or_default();
    let printed = names::print_type(names, of, None)?;
    Ok(if procedure.is("proretset") { format!("SETOF {printed}") } else { printed })
}

/// The statement that would create the function.
pub(super) fn definition(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    if let Some(procedure) = Procedure::find(argument_oid(arguments, 0))
        && procedure.text("prokind") == "a"
    {
        let message = format!("\"{}\" is an aggregate function", procedure.text("proname"));
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
    }
    with_procedure(names, arguments, print_definition)
}

fn print_definition(names: &mut Names<'_>, procedure: &Procedure) -> Result<String> {
    let name = names::qualified("pg_catalog", procedure.text("proname"));
    let arguments = print_arguments(names, procedure, |mode| mode != "t")?;
    let result = print_result(names, procedure)?;
    let language = match procedure.column("prolang").as_oid() {
        Some(12) => "internal",
        Some(13) => "c",
        _ => "sql",
    };
    let properties = print_properties(procedure);
    let body = procedure.text("prosrc");
    Ok(format!(
        "CREATE OR REPLACE FUNCTION {name}({arguments})\n RETURNS {result}\n LANGUAGE {language}\n{properties}AS $function${body}$function$\n"
    ))
}

/// The line with what differs from the defaults.
fn print_properties(procedure: &Procedure) -> String {
    let mut words = Vec::new();
    if procedure.text("prokind") == "w" {
        words.push("WINDOW".to_owned());
    }
    match procedure.text("provolatile") {
        "i" => words.push("IMMUTABLE".into()),
        "s" => words.push("STABLE".into()),
        _ => {}
    }
    match procedure.text("proparallel") {
        "s" => words.push("PARALLEL SAFE".into()),
        "r" => words.push("PARALLEL RESTRICTED".into()),
        _ => {}
    }
    if procedure.is("proisstrict") {
        words.push("STRICT".into());
    }
    if procedure.is("proleakproof") {
        words.push("LEAKPROOF".into());
    }
    let number = |name: &str| procedure.column(name).as_f64().unwrap_or_default();
    if number("procost") != 1.0 {
        words.push(format!("COST {}", number("procost")));
    }
    let rows = number("prorows");
    if rows > 0.0 && rows != 1000.0 {
        words.push(format!("ROWS {rows}"));
    }
    if words.is_empty() { String::new() } else { format!(" {}\n", words.join(" ")) }
}
