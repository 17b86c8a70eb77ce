//! Conditions that the entries of an index decide: rows whose entries do not satisfy them are not read, and nothing depends on
//! them.

use super::super::super::scope::Run;
use super::pushed;
use crate::catalog::EXPRESSION;
use crate::error::Result;
use crate::plan::{Expr, ExprKind, Path, Scan};
use crate::storage::read_key;
use crate::types::{Datum, Row, Scalar, Type};

/// The conditions on an index's columns, and how to read these from an entry.
pub(super) struct EntryFilter {
    /// The conjuncts of the scan's filter, by position.
    conjuncts: Vec<usize>,
    /// The first columns of the index, as far as they are needed, with their types. [`EXPRESSION`] for one that is computed.
    columns: Vec<(usize, Type)>,
    /// A row of which only these columns have values.
    row: Row,
}

impl EntryFilter {
    /// `None` if no condition is on the index's columns only.
    pub fn new(scan: &Scan) -> Option<EntryFilter> {
        let (Path::Index { index, .. } | Path::Alternatives { index, .. } | Path::AnyOf { index, .. }) = &scan.path
        else {
            return None;
        };
        let index = scan.table.indexes.get(*index).filter(|index| !index.is_row_key())?;
        let mut length = 0;
        let mut decided = Vec::new();
        for (at, conjunct) in pushed::conjuncts(scan.filter.as_ref()?).iter().enumerate() {
            let (mut needed, mut is_decided) = (0, true);
            conjunct.walk(&mut |part| match &part.kind {
                ExprKind::Column(column) => match index.columns.iter().position(|indexed| indexed == column) {
                    Some(place) if is_exact(scan.table.columns[*column].data_type) => needed = needed.max(place + 1),
                    _ => is_decided = false,
                },
                _ => is_decided &= never_fails(part),
            });
            if is_decided && needed > 0 {
                length = length.max(needed);
                decided.push(at);
            }
        }
        let types: Vec<Type> = scan.rules.types(&scan.table, index).collect();
        let columns: Vec<(usize, Type)> =
            index.columns.iter().copied().zip(types.get(..length)?.iter().copied()).collect();
        // A column in between whose value cannot be read stands in the way of those behind it.
        let is_readable = columns.iter().all(|(_, data_type)| is_exact(*data_type));
        let row = vec![Datum::Null; scan.table.columns.len()];
        (!decided.is_empty() && is_readable).then_some(EntryFilter { conjuncts: decided, columns, row })
    }

    /// Returns whether the row of an entry may satisfy the scan's filter.
    pub fn passes(&mut self, scan: &Scan, entry: &[u8], run: &mut Run<'_, '_>) -> Result<bool> {
        let Some(filter) = &scan.filter else { return Ok(true) };
        let mut rest = entry;
        for (column, data_type) in &self.columns {
            let value = read_key(&mut rest, *data_type)?;
            if *column != EXPRESSION {
                self.row[*column] = value;
            }
        }
        let conjuncts = pushed::conjuncts(filter);
        for &at in &self.conjuncts {
            if !run.holds(&conjuncts[at], &self.row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns whether an operation fails for no values: a condition before it may be what keeps it from the others.
fn never_fails(part: &Expr) -> bool {
    use ExprKind::{
        And, Cast, Compare, Constant, InList, IsNull, IsSame, IsTruth, Not, Or, Outer, Parameter, Quantified,
    };
    match &part.kind {
        Constant(_) | Outer { .. } | Parameter(_) | Compare(..) | InList(..) | IsNull(_) | IsSame(..) => true,
        IsTruth(..) | And(_) | Or(_) | Not(_) => true,
        Quantified { operator, .. } => operator.function.name == "=",
        Cast { input, .. } => matches!(
            (input.data_type, part.data_type),
            (Type::INT2, Type::INT4 | Type::INT8) | (Type::INT4, Type::INT8) | (Type::VARCHAR, Type::TEXT)
        ),
        _ => false,
    }
}

/// Returns whether a value that is read back from a key is the stored one, and not only equal to it.
fn is_exact(data_type: Type) -> bool {
    use Scalar::{Bool, Bytea, Date, Int2, Int4, Int8, Oid, Text, Time, Timestamp, Timestamptz, Uuid, Varchar};
    let exact = [Bool, Int2, Int4, Int8, Oid, Text, Varchar, Bytea, Date, Time, Timestamp, Timestamptz, Uuid];
    !data_type.is_array && exact.contains(&data_type.scalar)
}
