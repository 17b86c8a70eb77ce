//! The predicate tree: what a transaction has read by, arranged for the writes that are tested against it.
//!
//! ```text
//! table 3 --- keys 7..9 --- B = 15 --- I = 1     columns {B, I, V}
//!         \             \-- (any)                columns {V}
//!          \- key 12                             columns {B}
//! ```
//!
//! A path is a conjunction; what begins alike is tested once; a write meets the tree if it meets a path. Points are found by
//! binary search. Source: section 2.3.2, figure 4.

use super::{Condition, KeyRange, PredicateLog};
use crate::undo::ColumnSet;
use crate::writer::Write;
use model::{RawValue, TableId};

/// A predicate tree of all tables.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Sorted by table and key, each once.
    points: Vec<(TableId, Box<[u8]>, ColumnSet)>,
    /// Sorted by table.
    tables: Vec<(TableId, Vec<Node<KeyRange>>)>,
}

#[derive(Debug)]
struct Node<C> {
    condition: C,
    /// The columns of the paths that end here, if any do.
    ends: Option<ColumnSet>,
    children: Vec<Node<Condition>>,
}

/// The values of the columns of one image of a row.
pub(crate) type Values<'v> = &'v dyn Fn(u16) -> RawValue<'v>;

/// The columns of a row before and after a write, where there was one.
pub(crate) trait Images {
    /// Returns whether `accepts` one of the images, given the values of its columns.
    fn any(&self, accepts: &mut dyn for<'v> FnMut(Values<'v>) -> bool) -> bool;
}

impl Tree {
    /// The tree of a log.
    pub fn build(log: &PredicateLog) -> Tree {
        let mut points: Vec<_> =
            log.points.iter().map(|point| (point.table, Box::from(log.key(point)), point.columns)).collect();
        points.sort_unstable_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        points.dedup_by(|later, first| {
            let is_same = (later.0, &later.1) == (first.0, &first.1);
            if is_same {
                first.2 = first.2.with(later.2);
            }
            is_same
        });
        let mut tree = Tree { points, tables: Vec::new() };
        for range in &log.ranges {
            let at = match tree.tables.binary_search_by_key(&range.table, |(table, _)| *table) {
                Ok(at) => at,
                Err(at) => {
                    tree.tables.insert(at, (range.table, Vec::new()));
                    at
                }
            };
            let node = node_of(&mut tree.tables[at].1, &range.keys);
            node.add(&range.conditions, range.columns);
        }
        tree
    }

    /// Returns whether a write meets a predicate. Its images are looked at only where a restriction asks for them.
    pub fn meets(&self, write: &Write, images: &impl Images) -> bool {
        if write.columns.is_empty() {
            return false; // The row was locked, not changed.
        }
        let point =
            self.points.binary_search_by(|(table, key, _)| (*table, &**key).cmp(&(write.table, &write.key[..])));
        let is_seen = |columns: ColumnSet| write.columns == ColumnSet::ALL || columns.meets(write.columns);
        if point.is_ok_and(|at| is_seen(self.points[at].2)) {
            return true;
        }
        let Ok(at) = self.tables.binary_search_by_key(&write.table, |(table, _)| *table) else { return false };
        let mut in_range = self.tables[at].1.iter().filter(|node| node.condition.contains(&write.key)).peekable();
        if in_range.peek().is_none() {
            return false;
        }
        let nodes: Vec<_> = in_range.collect();
        nodes.iter().any(|node| node.ends.is_some_and(is_seen))
            || nodes.iter().any(|node| !node.children.is_empty())
                && images.any(&mut |value| nodes.iter().any(|node| node.is_met_below(value, &is_seen)))
    }
}

/// The node of a condition, added if it is not there.
fn node_of<'t, C: Clone + PartialEq>(nodes: &'t mut Vec<Node<C>>, condition: &C) -> &'t mut Node<C> {
    let at = nodes.iter().position(|node| node.condition == *condition).unwrap_or_else(|| {
        nodes.push(Node { condition: condition.clone(), ends: None, children: Vec::new() });
        nodes.len() - 1
    });
    &mut nodes[at]
}

impl<C> Node<C> {
    /// Adds a path below.
    fn add(&mut self, conditions: &[Condition], columns: ColumnSet) {
        match conditions.split_first() {
            None => self.ends = Some(self.ends.unwrap_or_default().with(columns)),
            Some((first, rest)) => node_of(&mut self.children, first).add(rest, columns),
        }
    }

    /// Returns whether a row satisfies a path that ends below this node, of columns that count.
    fn is_met_below<'v>(&self, value: Values<'v>, is_seen: &impl Fn(ColumnSet) -> bool) -> bool {
        self.children.iter().any(|child| {
            child.condition.may_hold(&|column| value(column))
                && (child.ends.is_some_and(is_seen) || child.is_met_below(value, is_seen))
        })
    }
}
