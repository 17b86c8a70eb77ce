//! The dependency graph: its edges, its compact form, and its strongly connected components.

use crate::history::KeyId;
use std::ops::BitOr;

/// Kinds of dependency that an edge stands for. A set, since an edge may hold only by real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind(u8);

impl Kind {
    /// The target overwrote what the source wrote.
    pub(super) const WW: Kind = Kind(1);
    /// The target read what the source wrote.
    pub(super) const WR: Kind = Kind(2);
    /// The target overwrote what the source read.
    pub(super) const RW: Kind = Kind(4);
    /// The target's scan did not see what the source deleted.
    pub(super) const PREDICATE_WR: Kind = Kind(8);
    /// The target wrote what the source's scan did not see.
    pub(super) const PREDICATE_RW: Kind = Kind(16);
    /// The source ended before the target began; or, with another kind, that one follows from such times.
    pub(super) const TIME: Kind = Kind(32);
    /// Leads on from a stand-in; means whatever the edge that led there means.
    pub(super) const ON: Kind = Kind(64);

    pub(super) const NONE: Kind = Kind(0);

    pub(super) const fn or(self, other: Kind) -> Kind {
        Kind(self.0 | other.0)
    }

    pub(super) fn has(self, other: Kind) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns whether an edge of this kind belongs to the subgraph of `allowed` kinds.
    pub(super) fn within(self, allowed: Kind) -> bool {
        self.0 & !(allowed.0 | Kind::ON.0) == 0
    }

    /// True for anti-dependencies, of single keys and of scans.
    pub(super) fn is_anti_dependency(self) -> bool {
        self.has(Kind::RW | Kind::PREDICATE_RW)
    }
}

impl BitOr for Kind {
    type Output = Kind;

    fn bitor(self, other: Kind) -> Kind {
        self.or(other)
    }
}

/// A transaction (its index in the history) or, above, a stand-in.
pub(super) type Node = u32;

/// `from` precedes `to`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) from: Node,
    pub(super) to: Node,
    /// The key that connects them; none inside of ranges and times.
    pub(super) key: Option<KeyId>,
    pub(super) kind: Kind,
}

/// Edges while they are collected.
#[derive(Debug)]
pub(super) struct Edges {
    edges: Vec<Edge>,
    nodes: u32,
}

impl Edges {
    pub(super) fn new(transactions: usize) -> Self {
        Edges { edges: Vec::new(), nodes: transactions as u32 }
    }

    pub(super) fn len(&self) -> usize {
        self.edges.len()
    }

    /// The first of `count` new stand-ins.
    pub(super) fn stand_ins(&mut self, count: usize) -> Node {
        let first = self.nodes;
        let count = u32::try_from(count).expect("a history counts its parts in 32 bits");
        self.nodes = first.checked_add(count).expect("fewer than 2^32 nodes");
        first
    }

    /// Adds an edge; a transaction does not precede itself, so edges to oneself are dropped.
    pub(super) fn add(&mut self, from: Node, to: Node, key: Option<KeyId>, kind: Kind) {
        if from != to {
            self.edges.push(Edge { from, to, key, kind });
        }
    }

    pub(super) fn into_graph(self) -> Graph {
        Graph::new(self.nodes as usize, &self.edges)
    }
}

/// Edges ordered by their source.
#[derive(Debug)]
pub(super) struct Graph {
    edges: Vec<Edge>,
    starts: Vec<usize>,
}

impl Graph {
    pub(super) fn new(nodes: usize, edges: &[Edge]) -> Graph {
        let mut starts = vec![0; nodes + 1];
        for edge in edges {
            starts[edge.from as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let blank = Edge { from: 0, to: 0, key: None, kind: Kind::NONE };
        let mut ordered = vec![blank; edges.len()];
        let mut free = starts.clone();
        for edge in edges {
            let place = &mut free[edge.from as usize];
            ordered[*place] = *edge;
            *place += 1;
        }
        Graph { edges: ordered, starts }
    }

    pub(super) fn node_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The edges that leave a node.
    pub(super) fn from(&self, node: Node) -> &[Edge] {
        let node = node as usize;
        &self.edges[self.starts[node]..self.starts[node + 1]]
    }

    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The strongly connected components of more than one node, in the subgraph of `allowed` kinds.
    ///
    /// Source: Tarjan, "Depth-first search and linear graph algorithms" (1972), with its recursion unrolled.
    pub(super) fn components(&self, allowed: Kind) -> Vec<Vec<Node>> {
        let mut tarjan = Tarjan {
            graph: self,
            allowed,
            number: vec![0; self.node_count()],
            low: vec![0; self.node_count()],
            next_number: 1,
            open: Vec::new(),
            path: Vec::new(),
            found: Vec::new(),
        };
        for node in 0..self.node_count() as Node {
            if tarjan.number[node as usize] == 0 {
                tarjan.explore(node);
            }
        }
        tarjan.found
    }
}

/// Marks a node whose component is complete.
const CLOSED: u32 = u32::MAX;

struct Tarjan<'a> {
    graph: &'a Graph,
    allowed: Kind,
    /// Order of discovery, from 1; 0 is undiscovered, [`CLOSED`] is complete.
    number: Vec<u32>,
    /// Lowest number reachable through at most one edge back.
    low: Vec<u32>,
    next_number: u32,
    /// Discovered nodes whose component is not complete.
    open: Vec<Node>,
    /// The current path: a node and the index of its next edge to follow.
    path: Vec<(Node, usize)>,
    found: Vec<Vec<Node>>,
}

impl Tarjan<'_> {
    fn explore(&mut self, root: Node) {
        self.discover(root);
        while let Some(&mut (node, ref mut next)) = self.path.last_mut() {
            let here = node as usize;
            let Some(edge) = self.graph.from(node).get(*next) else {
                self.path.pop();
                self.leave(node);
                continue;
            };
            *next += 1;
            if !edge.kind.within(self.allowed) {
                continue;
            }
            match self.number[edge.to as usize] {
                0 => self.discover(edge.to),
                CLOSED => {}
                number => self.low[here] = self.low[here].min(number),
            }
        }
    }

    fn discover(&mut self, node: Node) {
        self.number[node as usize] = self.next_number;
        self.low[node as usize] = self.next_number;
        self.next_number += 1;
        self.open.push(node);
        self.path.push((node, 0));
    }

    fn leave(&mut self, node: Node) {
        let low = self.low[node as usize];
        if let Some(&(parent, _)) = self.path.last() {
            let parent = parent as usize;
            self.low[parent] = self.low[parent].min(low);
        }
        if low != self.number[node as usize] {
            return;
        }
        let start = self.open.iter().rposition(|&open| open == node);
        let component = self.open.split_off(start.expect("a node stays open until its component is complete"));
        for &member in &component {
            self.number[member as usize] = CLOSED;
        }
        if component.len() > 1 {
            self.found.push(component);
        }
    }
}
