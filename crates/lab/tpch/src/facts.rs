//! A large table of integers, and six questions over all of it.

use crate::source::{Lines, Source};
use std::collections::BTreeMap;

/// Groups of the column `g`.
const FEW: u64 = 10;

/// Groups of the column `k` at most.
const MANY: u64 = 100_000;

/// Values of the column `v`.
const VALUES: u64 = 1_000_000;

/// Groups of groups.
const REGIONS: i64 = 25;

/// Values below are counted.
const LIMIT: i64 = 250_000;

const SCHEMA: &str = "\
CREATE TABLE facts (id integer PRIMARY KEY, v integer NOT NULL, g integer NOT NULL, k integer NOT NULL);
CREATE TABLE kinds (k integer PRIMARY KEY, region integer NOT NULL);
";

/// The table `facts` (id, v, g, k) and the table `kinds` (k, region), which it refers to: the same rows at every call.
///
/// `v` is below a million, `g` one of 10 groups, `k` one of [`Facts::kinds`]; all are as if drawn at random.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    rows: u32,
}

/// A row of `facts`, but for its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The value that is summed.
    pub v: i64,
    /// One of few groups.
    pub g: i64,
    /// One of many groups.
    pub k: i64,
}

/// A question.
#[derive(Clone, Debug)]
pub struct Question {
    /// Its name.
    pub name: String,
    /// Its statement.
    pub statement: String,
    /// Its answer, computed without a database: values with `|` between them.
    pub answer: Vec<String>,
}

impl Facts {
    /// So many rows, the keys from 0.
    pub fn new(rows: u32) -> Facts {
        Facts { rows }
    }

    /// Rows of `facts`.
    pub fn rows(self) -> u32 {
        self.rows
    }

    /// Rows of `kinds`: one for a hundred facts, at most 100,000.
    pub fn kinds(self) -> u32 {
        u64::from(self.rows / 100).clamp(1, MANY) as u32
    }

    /// The row with a key.
    pub fn row(self, id: u32) -> Fact {
        let bits = mixed(u64::from(id));
        let below = |bits: u64, end: u64| (((bits & 0xFFFF_FFFF) * end) >> 32) as i64;
        let (v, g) = (below(bits, VALUES), below(mixed(bits), FEW));
        Fact { v, g, k: below(bits >> 32, u64::from(self.kinds())) }
    }

    /// The sum of `v` over all rows.
    pub fn sum(self) -> i64 {
        (0..self.rows).map(|id| self.row(id).v).sum()
    }

    /// The questions with their answers.
    pub fn questions(self) -> Vec<Question> {
        let mut few = BTreeMap::<i64, (i64, i64)>::new();
        let mut many = vec![(0, 0); self.kinds() as usize];
        let (mut sum, mut counted, mut top) = (0, 0, Vec::<(i64, u32)>::new());
        for id in 0..self.rows {
            let Fact { v, g, k } = self.row(id);
            sum += v;
            counted += i64::from(v < LIMIT && g != 3);
            for (count, sum) in [few.entry(g).or_default(), &mut many[k as usize]] {
                (*count, *sum) = (*count + 1, *sum + v);
            }
            // Greatest first, and of equal ones the first.
            let at = top.partition_point(|&(of, _)| of >= v);
            if at < 10 {
                top.insert(at, (v, id));
                top.truncate(10);
            }
        }
        let mut regions = BTreeMap::<i64, (i64, i64)>::new();
        for (k, (count, sum)) in many.iter().enumerate() {
            let region = regions.entry(k as i64 % REGIONS).or_default();
            *region = (region.0 + count, region.1 + sum);
        }
        let groups = |groups: BTreeMap<i64, (i64, i64)>| {
            let groups = groups.into_iter().filter(|(_, (count, _))| *count > 0);
            groups.map(|(group, (count, sum))| format!("{group}|{count}|{sum}")).collect()
        };
        let sums = || many.iter().filter(|(count, _)| *count > 0).map(|(_, sum)| sum);
        let (least, most) = (sums().min().copied().unwrap_or(0), sums().max().copied().unwrap_or(0));
        let of_many = format!("{}|{least}|{most}|{}", sums().count(), sums().map(|sum| sum % 1000).sum::<i64>());
        let question = |name: &str, statement: &str, answer| Question {
            name: name.to_owned(),
            statement: statement.to_owned(),
            answer,
        };
        vec![
            question("sum", SUM, vec![sum.to_string()]),
            question(
                "filter and count",
                &format!("SELECT count(*) FROM facts WHERE v < {LIMIT} AND g <> 3"),
                vec![counted.to_string()],
            ),
            question(
                &format!("{} groups", few.len()),
                "SELECT g, count(*), sum(v) FROM facts GROUP BY g ORDER BY g",
                groups(few),
            ),
            question(
                &format!("{} groups", sums().count()),
                "SELECT count(*), min(s), max(s), sum(s % 1000) FROM (SELECT sum(v) AS s FROM facts GROUP BY k) AS sums",
                vec![of_many],
            ),
            question(
                "join and group",
                "SELECT region, count(*), sum(v) FROM facts JOIN kinds ON facts.k = kinds.k GROUP BY region ORDER BY region",
                groups(regions),
            ),
            question(
                "top 10",
                "SELECT id, v FROM facts ORDER BY v DESC, id LIMIT 10",
                top.into_iter().map(|(v, id)| format!("{id}|{v}")).collect(),
            ),
        ]
    }
}

/// The sum over all rows, as a statement.
pub(crate) const SUM: &str = "SELECT sum(v) FROM facts";

/// A number without a pattern for each number (the finalizer of SplitMix64).
pub(crate) fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

impl Source for Facts {
    fn schema(&self) -> &str {
        SCHEMA
    }

    fn tables(&self) -> &[&str] {
        &["kinds", "facts"]
    }

    fn lines<E>(&self, table: &str, visit: &mut dyn FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        use std::fmt::Write;
        let mut lines = Lines::new(visit);
        match table {
            // To a string it cannot fail.
            "kinds" => (0..self.kinds()).try_for_each(|k| {
                lines.line(|text| {
                    let _ = write!(text, "{k}|{}", i64::from(k) % REGIONS);
                })
            })?,
            "facts" => (0..self.rows).try_for_each(|id| {
                let Fact { v, g, k } = self.row(id);
                lines.line(|text| {
                    let _ = write!(text, "{id}|{v}|{g}|{k}");
                })
            })?,
            _ => {}
        }
        lines.leave()
    }
}
