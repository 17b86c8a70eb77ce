//! In each strongly connected component, the most telling cycle.

use super::edges::{Edge, Graph, Kind, Node};
use super::explain::explain;
use super::facts::Facts;
use super::order::Basis;
use crate::history::KeyId;
use crate::report::Findings;
use std::collections::VecDeque;

/// Edges that the search for the shortest and most telling cycle of one component may look at. Beyond, a longer cycle or a cycle with
/// more anti-dependencies than needed may be shown; never none.
const BUDGET: usize = 5_000_000;

/// A step of a cycle from one transaction to another, stand-ins left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) key: Option<KeyId>,
    pub(super) kind: Kind,
}

/// Adds one finding for each strongly connected component, the smallest first.
pub(super) fn find_cycles(facts: &Facts, graph: &Graph, bases: &[Basis], findings: &mut Findings) {
    let mut components = graph.components(ALL);
    components.sort_by_key(Vec::len);
    let mut places = vec![Node::MAX; if components.is_empty() { 0 } else { graph.node_count() }];
    for component in components {
        findings.add(|| {
            let part = Component::new(graph, component, &mut places, facts.took_effect.len());
            explain(facts, bases, &part.most_telling_cycle())
        });
    }
}

const READS: Kind = Kind::WR.or(Kind::PREDICATE_WR);
const FLOW: Kind = Kind::WW.or(READS);
const ITEMS: Kind = FLOW.or(Kind::RW);
const ORDER: Kind = ITEMS.or(Kind::PREDICATE_RW);
const ALL: Kind = ORDER.or(Kind::TIME);

/// One strongly connected component as a graph of its own.
struct Component {
    graph: Graph,
    /// By node: its number in the whole graph.
    nodes: Vec<Node>,
    /// Numbers in the whole graph below this are transactions.
    transactions: usize,
    search: Search,
}

impl Component {
    fn new(whole: &Graph, nodes: Vec<Node>, places: &mut [Node], transactions: usize) -> Self {
        for (place, &node) in nodes.iter().enumerate() {
            places[node as usize] = place as Node;
        }
        let inside = nodes.iter().flat_map(|&node| whole.from(node));
        let inside = inside.filter(|edge| places[edge.to as usize] != Node::MAX);
        let edges: Vec<Edge> = inside
            .map(|edge| Edge { from: places[edge.from as usize], to: places[edge.to as usize], ..*edge })
            .collect();
        for &node in &nodes {
            places[node as usize] = Node::MAX;
        }
        Component { graph: Graph::new(nodes.len(), &edges), search: Search::new(nodes.len()), nodes, transactions }
    }

    /// The first in the order of the anomalies' severity: without real time before with it, and G0, G1c, G-single, G2-item, G2.
    fn most_telling_cycle(mut self) -> Vec<Hop> {
        let cycle = [Kind::NONE, Kind::TIME].into_iter().find_map(|time| {
            self.shortest_cycle(Kind::WW.or(time))
                .or_else(|| self.shortest_cycle(FLOW.or(time)))
                .or_else(|| self.shortest_with_one_anti_dependency(time))
                .or_else(|| self.shortest_cycle(ITEMS.or(time)))
                .or_else(|| self.shortest_cycle(ORDER.or(time)))
        });
        self.hops(&cycle.expect("a strongly connected component has a cycle"))
    }

    /// A shortest cycle of allowed edges, within the budget.
    fn shortest_cycle(&mut self, allowed: Kind) -> Option<Vec<Edge>> {
        let components = self.graph.components(allowed);
        let component = components.into_iter().min_by_key(Vec::len)?;
        self.search.budget = BUDGET;
        let mut best: Option<Vec<Edge>> = None;
        for node in component {
            if !self.is_transaction(node) {
                continue;
            }
            if is_shortest(&best) || (best.is_some() && self.search.budget == 0) {
                break;
            }
            keep_shorter(&mut best, self.search.path(&self.graph, node, node, allowed));
        }
        best
    }

    /// A shortest cycle with exactly one anti-dependency, within the budget.
    fn shortest_with_one_anti_dependency(&mut self, time: Kind) -> Option<Vec<Edge>> {
        let allowed = ORDER.or(time);
        if self.graph.components(allowed).is_empty() {
            return None;
        }
        self.search.budget = BUDGET;
        let mut best: Option<Vec<Edge>> = None;
        let edges = self.graph.edges().iter().copied();
        for edge in edges.filter(|edge| edge.kind.is_anti_dependency() && edge.kind.within(allowed)) {
            if is_shortest(&best) || self.search.budget == 0 {
                break;
            }
            let back = self.search.path(&self.graph, edge.to, edge.from, FLOW.or(time));
            keep_shorter(
                &mut best,
                back.map(|mut path| {
                    path.insert(0, edge);
                    path
                }),
            );
        }
        best
    }

    fn is_transaction(&self, node: Node) -> bool {
        (self.nodes[node as usize] as usize) < self.transactions
    }

    /// Leaves the stand-ins out; the cycle starts at a transaction.
    fn hops(&self, cycle: &[Edge]) -> Vec<Hop> {
        let mut hops: Vec<Hop> = Vec::new();
        for edge in cycle {
            let to = self.nodes[edge.to as usize];
            match hops.last_mut() {
                Some(hop) if !self.is_transaction(edge.from) => {
                    hop.to = to;
                    hop.key = edge.key.or(hop.key);
                }
                _ => hops.push(Hop { from: self.nodes[edge.from as usize], to, key: edge.key, kind: edge.kind }),
            }
        }
        hops
    }
}

fn length(cycle: &[Edge]) -> usize {
    cycle.iter().filter(|edge| edge.kind != Kind::ON).count()
}

fn is_shortest(best: &Option<Vec<Edge>>) -> bool {
    best.as_ref().is_some_and(|best| length(best) <= 2)
}

fn keep_shorter(best: &mut Option<Vec<Edge>>, other: Option<Vec<Edge>>) {
    let Some(other) = other else { return };
    if best.as_ref().is_none_or(|best| length(&other) < length(best)) {
        *best = Some(other);
    }
}

/// Breadth-first search in which edges that lead on from stand-ins cost nothing.
struct Search {
    /// Which of the searches a node's other marks belong to.
    stamps: Vec<u32>,
    stamp: u32,
    distances: Vec<u32>,
    arrivals: Vec<Edge>,
    queue: VecDeque<(Node, u32)>,
    budget: usize,
}

impl Search {
    fn new(nodes: usize) -> Self {
        let blank = Edge { from: 0, to: 0, key: None, kind: Kind::NONE };
        Search {
            stamps: vec![0; nodes],
            stamp: 0,
            distances: vec![0; nodes],
            arrivals: vec![blank; nodes],
            queue: VecDeque::new(),
            budget: BUDGET,
        }
    }

    /// A shortest path of at least one edge; `to` may be `from`.
    fn path(&mut self, graph: &Graph, from: Node, to: Node, allowed: Kind) -> Option<Vec<Edge>> {
        self.stamp += 1;
        self.queue.clear();
        self.spread(graph, from, 0, allowed);
        while let Some((node, distance)) = self.queue.pop_front() {
            if node == to {
                return Some(self.way_back(from, to));
            }
            if distance == self.distances[node as usize] {
                self.spread(graph, node, distance, allowed);
            }
        }
        None
    }

    fn spread(&mut self, graph: &Graph, node: Node, distance: u32, allowed: Kind) {
        let edges = graph.from(node);
        self.budget = self.budget.saturating_sub(edges.len() + 1);
        for edge in edges.iter().filter(|edge| edge.kind.within(allowed)) {
            let is_free = edge.kind == Kind::ON;
            let distance = distance + u32::from(!is_free);
            let to = edge.to as usize;
            if self.stamps[to] == self.stamp && self.distances[to] <= distance {
                continue;
            }
            self.stamps[to] = self.stamp;
            self.distances[to] = distance;
            self.arrivals[to] = *edge;
            if is_free {
                self.queue.push_front((edge.to, distance));
            } else {
                self.queue.push_back((edge.to, distance));
            }
        }
    }

    fn way_back(&self, from: Node, to: Node) -> Vec<Edge> {
        let mut path = vec![self.arrivals[to as usize]];
        let mut at = path[0].from;
        while at != from {
            let edge = self.arrivals[at as usize];
            path.push(edge);
            at = edge.from;
        }
        path.reverse();
        path
    }
}
