//! Per key: the order of its versions as far as it can be known, and the edges that follow.

mod list;
mod loose;
mod register;

use super::edges::{Edges, Kind, Node};
use super::facts::{ByKey, Facts};
use super::reads::Read;
use crate::Model;
use crate::history::{KeyId, ValueId};
use crate::report::{Anomaly, Finding, Findings};

/// By what the order of a key's versions is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// List reads.
    Lists,
    /// Stated versions.
    Versions,
    /// Transactions that read one version and wrote the next.
    Steps,
}

/// Version orders of the keys, as the other modules use them.
pub(super) struct Orders {
    /// By key: whom a transaction that found the key absent certainly precedes, whichever absence it found.
    pub(super) after_absence: Vec<Option<Node>>,
    /// By key.
    pub(super) bases: Vec<Basis>,
}

/// Orders every key's versions and adds the edges between those who wrote and read them.
pub(super) fn connect(
    facts: &Facts,
    reads: Vec<Read>,
    model: Model,
    edges: &mut Edges,
    findings: &mut Findings,
) -> Orders {
    let keys = facts.history.key_count();
    let reads = ByKey::new(keys, &reads, |read| read.key);
    let mut orders = Orders { after_absence: vec![None; keys], bases: vec![Basis::Lists; keys] };
    let mut judge = KeyJudge { facts, real_time: model == Model::Strict, edges, findings };
    for key in (0..keys as u32).map(KeyId) {
        if facts.lists[key.index()] {
            judge.connect_list(key, reads.of(key));
        } else {
            let (basis, after_absence) = judge.connect_register(key, reads.of(key));
            orders.bases[key.index()] = basis;
            orders.after_absence[key.index()] = after_absence;
        }
    }
    orders
}

/// Works on one key after another.
struct KeyJudge<'a> {
    facts: &'a Facts<'a>,
    real_time: bool,
    edges: &'a mut Edges,
    findings: &'a mut Findings,
}

/// The kinds of the edges to and from a reader: from whom it read, and to whoever overwrote that.
fn kinds(read: &Read) -> (Kind, Kind) {
    if read.missed_by_scan { (Kind::PREDICATE_WR, Kind::PREDICATE_RW) } else { (Kind::WR, Kind::RW) }
}

impl KeyJudge<'_> {
    /// Reports what is wrong with a value that `reader` read, if anything: who wrote it, and whether that took effect. Returns the writer
    /// where edges make sense.
    fn writer_of(&mut self, key: KeyId, value: ValueId, reader: u32) -> Option<u32> {
        let facts = self.facts;
        let Some(write) = facts.write_of(key, value) else {
            self.report(
                Anomaly::UnwrittenValue,
                reader,
                None,
                |reader, _, pair| format!("{reader} read {pair}, which no transaction wrote"),
                key,
                value,
            );
            return None;
        };
        let writer = write.transaction;
        if writer == reader {
            self.report(
                Anomaly::Internal,
                reader,
                None,
                |reader, _, pair| format!("{reader} read {pair} before it wrote that itself"),
                key,
                value,
            );
            return None;
        }
        if !facts.took_effect[writer as usize] {
            self.report(
                Anomaly::G1a,
                reader,
                Some(writer),
                |reader, writer, pair| format!("{reader} read {pair}, which {writer} wrote, but {writer} aborted"),
                key,
                value,
            );
            return None;
        }
        Some(writer)
    }

    /// Reports a read of a write that its own transaction overwrote.
    fn report_intermediate(&mut self, key: KeyId, value: ValueId, reader: u32, writer: u32) {
        self.report(
            Anomaly::G1b,
            reader,
            Some(writer),
            |reader, writer, pair| format!("{reader} read {pair}, which is not the last that {writer} wrote there"),
            key,
            value,
        );
    }

    fn report(
        &mut self,
        anomaly: Anomaly,
        reader: u32,
        writer: Option<u32>,
        explain: impl FnOnce(&str, &str, &str) -> String,
        key: KeyId,
        value: ValueId,
    ) {
        let facts = self.facts;
        self.findings.add(|| {
            let reader = facts.transaction(reader).id;
            let writer = writer.map(|writer| facts.transaction(writer).id);
            let pair = format!("{}={}", facts.history.key(key), facts.history.value(value));
            let writer_name = writer.map(|id| format!("T{id}")).unwrap_or_default();
            Finding {
                anomaly,
                transactions: [Some(reader), writer].into_iter().flatten().collect(),
                explanation: explain(&format!("T{reader}"), &writer_name, &pair),
                steps: Vec::new(),
            }
        });
    }
}
