//! Findings of the judges, for people ([`std::fmt::Display`]) and for programs (JSON with stable field names).

use crate::Model;
use crate::history::{History, Scalar, Status};
use serde::{Serialize, Serializer};
use std::fmt;

/// Findings that a judgement explains; beyond, they are only counted.
pub const MAX_EXPLAINED: usize = 10;

/// Both judges' verdicts on one history.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The model that the history was held against.
    pub model: Model,
    /// True when no judge found a violation.
    pub valid: bool,
    /// True when one judge passed what the other failed; see [`Report::disagreement`].
    pub judges_disagree: bool,
    /// How large the history was.
    pub counts: Counts,
    /// Serial replay at the claimed serial points.
    pub replay: Judgement,
    /// Dependency cycles, ignoring the claim.
    pub cycles: Judgement,
}

impl Report {
    pub(crate) fn new(history: &History, model: Model, replay: Judgement, cycles: Judgement) -> Report {
        let failed = |judgement: &Judgement| judgement.verdict == Verdict::Fail;
        let applicable = replay.verdict != Verdict::NotApplicable;
        Report {
            model,
            valid: !failed(&replay) && !failed(&cycles),
            judges_disagree: applicable && failed(&replay) != failed(&cycles),
            counts: Counts::of(history),
            replay,
            cycles,
        }
    }

    /// Explains a disagreement of the judges; `None` when they agree.
    pub fn disagreement(&self) -> Option<&'static str> {
        match (self.judges_disagree, self.replay.verdict) {
            (false, _) => None,
            (true, Verdict::Fail) => Some(
                "replay fails where no cycle was found: the claimed serial points are wrong though some other order may be right, \
                 or the history tells too little about its versions for the cycle search",
            ),
            (true, _) => Some(
                "replay passes where a cycle was found: the versions that the history states contradict its serial points, \
                 or a judge is wrong",
            ),
        }
    }
}

/// How large a history is.
#[derive(Debug, Clone, Serialize)]
pub struct Counts {
    /// All transactions.
    pub transactions: usize,
    /// Committed transactions (`ok`).
    pub committed: usize,
    /// Aborted transactions (`fail`).
    pub aborted: usize,
    /// Transactions of unknown outcome (`info`).
    pub unknown: usize,
    /// Operations of all transactions.
    pub operations: usize,
    /// Distinct keys, bounds of scans included.
    pub keys: usize,
}

impl Counts {
    fn of(history: &History) -> Counts {
        let of_status = |status| {
            let transactions = history.transactions().iter();
            transactions.filter(|t| t.status == status).count()
        };
        Counts {
            transactions: history.transactions().len(),
            committed: of_status(Status::Committed),
            aborted: of_status(Status::Aborted),
            unknown: of_status(Status::Unknown),
            operations: history.operation_count(),
            keys: history.key_count(),
        }
    }
}

/// One judge's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing contradicts the model.
    Pass,
    /// The history contradicts the model.
    Fail,
    /// The judge has nothing to go by.
    NotApplicable,
}

/// One judge's answer, with its reasons.
#[derive(Debug, Serialize)]
pub struct Judgement {
    /// The answer.
    pub verdict: Verdict,
    /// Why the judge is not applicable.
    pub reason: Option<String>,
    /// How many findings there are; at least the number explained.
    pub finding_count: usize,
    /// The first findings, at most [`MAX_EXPLAINED`].
    pub findings: Vec<Finding>,
    /// Edges of the dependency graph between transactions or their stand-ins; 0 for replay.
    pub edges: usize,
    /// Wall-clock time that the judge took, in microseconds.
    pub elapsed_us: u64,
}

impl Judgement {
    pub(crate) fn not_applicable(reason: String) -> Judgement {
        Judgement { verdict: Verdict::NotApplicable, reason: Some(reason), ..Judgement::of(Findings::default(), 0) }
    }

    pub(crate) fn of(findings: Findings, edges: usize) -> Judgement {
        Judgement {
            verdict: if findings.count == 0 { Verdict::Pass } else { Verdict::Fail },
            reason: None,
            finding_count: findings.count,
            findings: findings.explained,
            edges,
            elapsed_us: 0,
        }
    }

    /// True when some explained finding has this name.
    pub fn names(&self, anomaly: &str) -> bool {
        self.findings.iter().any(|f| f.anomaly.name() == anomaly)
    }
}

/// Collects findings, explaining only the first.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    count: usize,
    explained: Vec<Finding>,
}

impl Findings {
    pub(crate) fn add(&mut self, explain: impl FnOnce() -> Finding) {
        self.count += 1;
        if self.explained.len() < MAX_EXPLAINED {
            self.explained.push(explain());
        }
    }

    pub(crate) fn append(&mut self, other: Findings) {
        self.count += other.count;
        let room = MAX_EXPLAINED - self.explained.len();
        self.explained.extend(other.explained.into_iter().take(room));
    }
}

/// One violation, explained.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// Kind of violation.
    pub anomaly: Anomaly,
    /// The ids of the transactions that take part; of a cycle, in its order.
    pub transactions: Vec<u64>,
    /// The violation in one sentence.
    pub explanation: String,
    /// For a cycle: its edges in order, the last one back to the first transaction.
    pub steps: Vec<Step>,
}

/// One edge of a cycle: `from` must come before `to` in any serial order.
#[derive(Debug, Serialize)]
pub struct Step {
    /// The id of the earlier transaction.
    pub from: u64,
    /// The id of the later transaction.
    pub to: u64,
    /// `ww`, `wr`, `rw`, `predicate-wr`, `predicate-rw` or `real-time`.
    pub edge: &'static str,
    /// The key that connects them; none for real time.
    pub key: Option<Scalar>,
    /// Why `from` must come before `to`.
    pub because: String,
}

/// The kinds of violation. Source: Adya, "Weak Consistency" (1999), chapters 3 and 4, for the names that begin with G.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Anomaly {
    /// Replay: a read returned something else than the state at its claimed serial point.
    ReadMismatch,
    /// Replay: a scan returned something else than the range at its claimed serial point.
    ScanMismatch,
    /// Replay: two transactions claim the same serial point.
    TiedSerialPoints,
    /// Replay: a transaction ended before another began but claims a later serial point.
    SerialPointAgainstRealTime,
    /// A transaction contradicts itself: it misses its own write, or two of its reads of one key differ.
    Internal,
    /// A read returned what no transaction wrote.
    UnwrittenValue,
    /// A read's version is not the one under which its value was written.
    VersionMismatch,
    /// A scan returned a key twice or a key outside its range.
    BrokenScan,
    /// A list read has an element twice.
    DuplicateElement,
    /// Two list reads of one key cannot both be prefixes of one list.
    IncompatibleOrder,
    /// A read of an aborted transaction's write.
    G1a,
    /// A read of a write that its transaction overwrote before it ended.
    G1b,
    /// A dependency cycle.
    Cycle {
        /// Which edges it has.
        class: CycleClass,
        /// True when it needs an edge of real time: it breaks strict serializability only.
        real_time: bool,
    },
}

/// Kinds of cycles, by the edges that they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CycleClass {
    /// Overwrites only: a dirty write.
    G0,
    /// Overwrites and reads: circular information flow.
    G1c,
    /// Exactly one anti-dependency: read skew, lost update.
    GSingle,
    /// Several anti-dependencies, all on single keys: write skew.
    G2Item,
    /// Several anti-dependencies, at least one of a scan.
    G2,
}

impl Anomaly {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Anomaly::ReadMismatch => "read-mismatch",
            Anomaly::ScanMismatch => "scan-mismatch",
            Anomaly::TiedSerialPoints => "tied-serial-points",
            Anomaly::SerialPointAgainstRealTime => "serial-point-against-real-time",
            Anomaly::Internal => "internal",
            Anomaly::UnwrittenValue => "unwritten-value",
            Anomaly::VersionMismatch => "version-mismatch",
            Anomaly::BrokenScan => "broken-scan",
            Anomaly::DuplicateElement => "duplicate-element",
            Anomaly::IncompatibleOrder => "incompatible-order",
            Anomaly::G1a => "G1a",
            Anomaly::G1b => "G1b",
            Anomaly::Cycle { class, real_time } => match (class, real_time) {
                (CycleClass::G0, false) => "G0",
                (CycleClass::G0, true) => "G0-realtime",
                (CycleClass::G1c, false) => "G1c",
                (CycleClass::G1c, true) => "G1c-realtime",
                (CycleClass::GSingle, false) => "G-single",
                (CycleClass::GSingle, true) => "G-single-realtime",
                (CycleClass::G2Item, false) => "G2-item",
                (CycleClass::G2Item, true) => "G2-item-realtime",
                (CycleClass::G2, false) => "G2",
                (CycleClass::G2, true) => "G2-realtime",
            },
        }
    }
}

impl Serialize for Anomaly {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.valid { "ok" } else { "VIOLATION" };
        writeln!(f, "{verdict}: {}", self.model)?;
        let counts = &self.counts;
        writeln!(
            f,
            "history: {} transactions ({} ok, {} fail, {} info), {} operations, {} keys",
            counts.transactions, counts.committed, counts.aborted, counts.unknown, counts.operations, counts.keys
        )?;
        write_judgement(f, "replay", &self.replay)?;
        write_judgement(f, "cycles", &self.cycles)?;
        if let Some(text) = self.disagreement() {
            writeln!(f, "THE JUDGES DISAGREE: {text}")?;
        }
        Ok(())
    }
}

fn write_judgement(f: &mut fmt::Formatter<'_>, name: &str, judgement: &Judgement) -> fmt::Result {
    let (ms, us) = (judgement.elapsed_us / 1000, judgement.elapsed_us % 1000);
    write!(f, "{name}: ")?;
    match (judgement.verdict, &judgement.reason) {
        (Verdict::Pass, _) => write!(f, "pass")?,
        (Verdict::Fail, _) => write!(f, "FAIL, {} found", judgement.finding_count)?,
        (Verdict::NotApplicable, reason) => {
            write!(f, "not applicable: {}", reason.as_deref().unwrap_or(""))?;
        }
    }
    if judgement.edges > 0 {
        write!(f, ", {} edges", judgement.edges)?;
    }
    writeln!(f, ", {ms}.{us:03} ms")?;
    for finding in &judgement.findings {
        write!(f, "{finding}")?;
    }
    let silent = judgement.finding_count - judgement.findings.len();
    if silent > 0 {
        writeln!(f, "  and {silent} more")?;
    }
    Ok(())
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}: {}", self.anomaly.name(), self.explanation)?;
        for step in &self.steps {
            let edge = format!("[{}]", step.edge);
            writeln!(f, "    {edge:<14} {}", step.because)?;
        }
        Ok(())
    }
}
