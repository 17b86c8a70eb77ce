//! The cluster that the engine is a node of: `seriatim_cluster` and `seriatim_cluster_aborts`. Both are empty where it is of none.

use super::layout::{columns, tables};
use super::value::{NULL, bool, text};
use crate::Result;
use crate::catalog::VirtualTable;
use crate::context::System;
use crate::database::Member;
use crate::types::{Datum, Row};

pub(super) static TABLES: &[VirtualTable] = tables! { "pg_catalog", System:
    12905 seriatim_cluster = members; {
        node: Int8, is_self: Bool, address: Text, part: Text, connected: Bool, state: Text, applied: Text, known: Text,
        lag: Int8, delivered: Text, on_disk: Int8, disk_lag: Int8, problem: Text
    }
    12906 seriatim_cluster_aborts = aborts; {
        rule: Text, aborts: Int8
    }
};

fn members(system: &mut System<'_>) -> Result<Vec<Row>> {
    let members = system.database().options.cluster.as_ref().map_or_else(Vec::new, |cluster| cluster.members());
    Ok(members.into_iter().map(row).collect())
}

fn row(member: Member) -> Row {
    let optional = |value: Option<String>| value.map_or(NULL, text);
    vec![
        count(member.node),
        bool(member.is_self),
        optional(member.address),
        optional(member.part),
        member.is_connected.map_or(NULL, bool),
        optional(member.state),
        optional(member.applied),
        optional(member.known),
        member.lag.map_or(NULL, count),
        optional(member.delivered),
        member.on_disk.map_or(NULL, count),
        member.disk_lag.map_or(NULL, count),
        optional(member.problem),
    ]
}

fn aborts(system: &mut System<'_>) -> Result<Vec<Row>> {
    let aborts = system.database().options.cluster.as_ref().map_or_else(Vec::new, |cluster| cluster.aborts());
    Ok(aborts.into_iter().map(|(rule, aborts)| vec![text(rule), count(aborts)]).collect())
}

fn count(number: u64) -> Datum {
    Datum::Int8(i64::try_from(number).unwrap_or(i64::MAX))
}
