//! Expressions over batches.
//!
//! What cannot fail is computed for all rows at once. What can fail is computed for exactly the rows for which SQL evaluates it: behind
//! an AND, an OR, a CASE or a COALESCE for those that are still undecided.

mod moved;

use crate::batch::Batch;
use crate::column::{Class, Column, Data};
use crate::kernels;
use crate::keys::without_blanks;
use pgtypes::{Datum, Result, Type, compare_typed, equal_typed};
use std::cmp::Ordering;
use std::sync::Arc;

/// A pure function of the values of one row.
pub type Lane = Arc<dyn Fn(&[Datum]) -> Result<Datum> + Send + Sync>;

/// An expression.
#[derive(Clone)]
pub struct Expression {
    kind: Kind,
    data_type: Type,
    /// Whether no row can make it fail.
    is_safe: bool,
    /// The columns that it looks at, sorted.
    columns: Vec<usize>,
}

/// A comparison of two values of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// An operator of arithmetic that has a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
}

#[derive(Clone)]
enum Kind {
    Constant(Arc<Column>),
    Column(usize),
    Compare(Comparison, Box<Expression>, Box<Expression>),
    /// AND (`false`), OR (`true`): an operand equal to the boolean decides.
    Connect(Vec<Expression>, bool),
    Not(Box<Expression>),
    IsNull(Box<Expression>),
    IsTruth(Box<Expression>, Option<bool>),
    IsSame(Box<Expression>, Box<Expression>),
    Case(Vec<(Expression, Expression)>, Box<Expression>),
    Coalesce(Vec<Expression>),
    /// The values of the list have the operand's type.
    InList(Box<Expression>, Arc<Vec<Datum>>),
    /// With the function for values that the kernel cannot take.
    Arithmetic(Arithmetic, Box<Expression>, Box<Expression>, Lane),
    /// A cast between types of one class that keeps every value.
    Retyped(Box<Expression>),
    /// A function, and whether NULL for an argument is NULL for the result.
    Call(Lane, bool, Vec<Expression>),
}

/// The values of an expression: one for each row, or the same for all (then the column has one row).
pub struct Vector {
    /// The values.
    pub column: Arc<Column>,
    /// Whether the one value is that of every row.
    pub is_constant: bool,
}

impl Vector {
    /// A column with a value for each row.
    pub fn spread(self, rows: usize) -> Arc<Column> {
        if !self.is_constant || rows == 1 && self.column.len() == 1 {
            return self.column;
        }
        Arc::new(self.column.gather(&vec![0; rows]))
    }

    fn row(&self, row: usize) -> usize {
        if self.is_constant { 0 } else { row }
    }

    /// The value of a row.
    pub fn get(&self, row: usize, data_type: Type) -> Datum {
        self.column.get(self.row(row), data_type)
    }

    /// Returns whether a row has NULL.
    pub fn is_null(&self, row: usize) -> bool {
        self.column.is_null(self.row(row))
    }
}

impl Expression {
    fn new(kind: Kind, data_type: Type, is_safe: bool, parts: &[&Expression]) -> Expression {
        let mut columns: Vec<usize> = parts.iter().flat_map(|part| part.columns.iter().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        Expression { kind, data_type, is_safe: is_safe && parts.iter().all(|part| part.is_safe), columns }
    }

    /// A constant.
    pub fn constant(value: &Datum, data_type: Type) -> Expression {
        Expression::new(Kind::Constant(Arc::new(Column::repeated(value, data_type, 1))), data_type, true, &[])
    }

    /// A column of the batch.
    pub fn column(at: usize, data_type: Type) -> Expression {
        Expression { kind: Kind::Column(at), data_type, is_safe: true, columns: vec![at] }
    }

    /// A comparison of values of one type.
    pub fn compare(comparison: Comparison, left: Expression, right: Expression) -> Expression {
        let (left, right) = (Box::new(left), Box::new(right));
        Expression::new(Kind::Compare(comparison, left.clone(), right.clone()), Type::BOOL, true, &[&left, &right])
    }

    /// AND.
    pub fn and(operands: Vec<Expression>) -> Expression {
        Expression::connect(operands, false)
    }

    /// OR.
    pub fn or(operands: Vec<Expression>) -> Expression {
        Expression::connect(operands, true)
    }

    fn connect(operands: Vec<Expression>, decisive: bool) -> Expression {
        let kind = Kind::Connect(operands.clone(), decisive);
        Expression::new(kind, Type::BOOL, true, &operands.iter().collect::<Vec<_>>())
    }

    /// NOT.
    pub fn negated(operand: Expression) -> Expression {
        Expression::new(Kind::Not(Box::new(operand.clone())), Type::BOOL, true, &[&operand])
    }

    /// IS NULL, of a value that is no row.
    pub fn is_null(operand: Expression) -> Expression {
        Expression::new(Kind::IsNull(Box::new(operand.clone())), Type::BOOL, true, &[&operand])
    }

    /// IS TRUE, IS FALSE, IS UNKNOWN.
    pub fn is_truth(operand: Expression, wanted: Option<bool>) -> Expression {
        Expression::new(Kind::IsTruth(Box::new(operand.clone()), wanted), Type::BOOL, true, &[&operand])
    }

    /// IS NOT DISTINCT FROM.
    pub fn is_same(left: Expression, right: Expression) -> Expression {
        let kind = Kind::IsSame(Box::new(left.clone()), Box::new(right.clone()));
        Expression::new(kind, Type::BOOL, true, &[&left, &right])
    }

    /// CASE, of results of one type.
    pub fn case(branches: Vec<(Expression, Expression)>, otherwise: Expression) -> Expression {
        let kind = Kind::Case(branches.clone(), Box::new(otherwise.clone()));
        let parts: Vec<&Expression> =
            branches.iter().flat_map(|(condition, result)| [condition, result]).chain([&otherwise]).collect();
        Expression::new(kind, otherwise.data_type, true, &parts)
    }

    /// COALESCE, of at least one value.
    pub fn coalesce(operands: Vec<Expression>, data_type: Type) -> Expression {
        Expression::new(Kind::Coalesce(operands.clone()), data_type, true, &operands.iter().collect::<Vec<_>>())
    }

    /// IN a list of constants of the operand's type.
    pub fn in_list(operand: Expression, list: Vec<Datum>) -> Expression {
        Expression::new(Kind::InList(Box::new(operand.clone()), Arc::new(list)), Type::BOOL, true, &[&operand])
    }

    /// Arithmetic of two values of the result's type; `lane` computes what the kernel cannot.
    pub fn arithmetic(
        operation: Arithmetic,
        left: Expression,
        right: Expression,
        data_type: Type,
        lane: Lane,
    ) -> Expression {
        let kind = Kind::Arithmetic(operation, Box::new(left.clone()), Box::new(right.clone()), lane);
        Expression::new(kind, data_type, false, &[&left, &right])
    }

    /// The values under another type of their class, which keeps every one.
    pub fn retyped(operand: Expression, data_type: Type) -> Expression {
        Expression::new(Kind::Retyped(Box::new(operand.clone())), data_type, true, &[&operand])
    }

    /// A pure function, row by row.
    pub fn call(function: Lane, is_strict: bool, arguments: Vec<Expression>, data_type: Type) -> Expression {
        let kind = Kind::Call(function, is_strict, arguments.clone());
        Expression::new(kind, data_type, false, &arguments.iter().collect::<Vec<_>>())
    }

    /// The columns that it looks at, sorted.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The column that it is, if it is one as it stands.
    pub fn as_column(&self) -> Option<usize> {
        match self.kind {
            Kind::Column(at) => Some(at),
            _ => None,
        }
    }

    /// Returns whether no row can make it fail.
    pub fn is_safe(&self) -> bool {
        self.is_safe
    }

    /// The type of the values.
    pub fn data_type(&self) -> Type {
        self.data_type
    }

    /// Evaluates it over all rows of a batch.
    ///
    /// # Errors
    /// The error of some row for which SQL evaluates it. Which one may differ from evaluation row by row.
    pub fn evaluate(&self, batch: &Batch) -> Result<Vector> {
        let each = |column: Column| Ok(Vector { column: Arc::new(column), is_constant: false });
        match &self.kind {
            Kind::Constant(value) => Ok(Vector { column: value.clone(), is_constant: true }),
            Kind::Column(at) => Ok(Vector { column: batch.columns[*at].clone(), is_constant: false }),
            Kind::Retyped(operand) => operand.evaluate(batch),
            Kind::Compare(comparison, left, right) => {
                let data_type = left.data_type;
                let (left, right) = (left.evaluate(batch)?, right.evaluate(batch)?);
                each(kernels::compare(*comparison, &left, &right, data_type, batch.rows))
            }
            Kind::Connect(operands, decisive) => each(connect(operands, *decisive, batch)?),
            Kind::Not(operand) => {
                let column = operand.evaluate(batch)?.spread(batch.rows);
                let truths = truths(&column).iter().map(|truth| !truth).collect();
                each(Column::of_truths(truths, column.nulls.clone()))
            }
            Kind::IsNull(operand) => {
                let column = operand.evaluate(batch)?.spread(batch.rows);
                let nulls = column.nulls.clone().unwrap_or_else(|| vec![false; batch.rows]);
                each(Column::of_truths(nulls, None))
            }
            Kind::IsTruth(operand, wanted) => {
                let column = operand.evaluate(batch)?.spread(batch.rows);
                let truths = truths(&column);
                let truth = |row: usize| (!column.is_null(row)).then(|| truths[row]) == *wanted;
                each(Column::of_truths((0..batch.rows).map(truth).collect(), None))
            }
            Kind::IsSame(left, right) => {
                let data_type = left.data_type;
                let (left, right) = (left.evaluate(batch)?, right.evaluate(batch)?);
                let same = |row| equal_typed(data_type, &left.get(row, data_type), &right.get(row, data_type));
                each(Column::of_truths((0..batch.rows).map(same).collect(), None))
            }
            Kind::Case(branches, otherwise) => each(case(branches, otherwise, batch)?),
            Kind::Coalesce(operands) => each(coalesce(operands, self.data_type, batch)?),
            Kind::InList(operand, list) => {
                let column = operand.evaluate(batch)?.spread(batch.rows);
                each(in_list(&column, list, operand.data_type, batch.rows))
            }
            Kind::Arithmetic(operation, left, right, lane) => {
                let types = [left.data_type, right.data_type];
                let (left, right) = (left.evaluate(batch)?, right.evaluate(batch)?);
                match kernels::arithmetic(*operation, &left, &right, self.data_type, batch.rows) {
                    Some(column) => each(column),
                    None => each(call(lane, true, &[left, right], &types, self.data_type, batch.rows)?),
                }
            }
            Kind::Call(function, is_strict, arguments) => {
                let types: Vec<Type> = arguments.iter().map(|argument| argument.data_type).collect();
                let arguments =
                    arguments.iter().map(|argument| argument.evaluate(batch)).collect::<Result<Vec<_>>>()?;
                each(call(function, *is_strict, &arguments, &types, self.data_type, batch.rows)?)
            }
        }
    }

    /// The rows of a batch for which a condition is true.
    ///
    /// # Errors
    /// As [`Expression::evaluate`].
    pub fn selected(&self, batch: &Batch) -> Result<Vec<u32>> {
        let column = self.evaluate(batch)?.spread(batch.rows);
        let truths = truths(&column);
        let known = |row: usize| column.nulls.as_ref().is_none_or(|nulls| !nulls[row]);
        // Without a branch: which rows pass is hard to foretell.
        let mut rows = vec![0; truths.len()];
        let mut count = 0;
        for (row, truth) in truths.iter().enumerate() {
            rows[count] = row as u32;
            count += usize::from(*truth & known(row));
        }
        rows.truncate(count);
        Ok(rows)
    }

    /// Evaluates it over some rows of a batch, or all.
    fn evaluate_rows(&self, batch: &Batch, rows: &[u32]) -> Result<Arc<Column>> {
        if rows.len() == batch.rows {
            return Ok(self.evaluate(batch)?.spread(batch.rows));
        }
        Ok(self.evaluate(&batch.gather_columns(rows, &self.columns))?.spread(rows.len()))
    }
}

/// The truths of a column of booleans; of one that is none, which only NULL is, false.
fn truths(column: &Column) -> std::borrow::Cow<'_, [bool]> {
    match &column.data {
        Data::Bool(values) => values.into(),
        _ => vec![false; column.len()].into(),
    }
}

/// AND, OR. Operands that can fail are evaluated where those before them have not decided.
fn connect(operands: &[Expression], decisive: bool, batch: &Batch) -> Result<Column> {
    let mut values = vec![!decisive; batch.rows];
    let mut nulls = vec![false; batch.rows];
    for operand in operands {
        if operand.is_safe {
            let column = operand.evaluate(batch)?.spread(batch.rows);
            match &column.nulls {
                None => combine_all(&mut values, &truths(&column), decisive),
                Some(_) => combine(&mut values, &mut nulls, &column, 0..batch.rows, decisive),
            }
            continue;
        }
        let open: Vec<u32> = (0..batch.rows as u32).filter(|&row| values[row as usize] != decisive).collect();
        if open.is_empty() {
            break;
        }
        let column = operand.evaluate_rows(batch, &open)?;
        combine(&mut values, &mut nulls, &column, open.iter().map(|&row| row as usize), decisive);
    }
    for (null, value) in nulls.iter_mut().zip(&values) {
        *null &= *value != decisive;
    }
    let has_nulls = nulls.contains(&true);
    Ok(Column::of_truths(values, has_nulls.then_some(nulls)))
}

/// Combines an operand's truths, of which none is unknown, with what is known of all rows.
fn combine_all(values: &mut [bool], truths: &[bool], decisive: bool) {
    let both = values.iter_mut().zip(truths);
    if decisive {
        both.for_each(|(value, truth)| *value |= truth)
    } else {
        both.for_each(|(value, truth)| *value &= truth)
    }
}

/// Combines an operand's truths, row by row, with what is known of the rows `of`.
fn combine(values: &mut [bool], nulls: &mut [bool], column: &Column, of: impl Iterator<Item = usize>, decisive: bool) {
    let truths = truths(column);
    match &column.nulls {
        None => of.zip(&*truths).for_each(|(row, truth)| {
            if *truth == decisive {
                values[row] = decisive;
            }
        }),
        Some(unknown) => of.zip(truths.iter().zip(unknown)).for_each(|(row, (truth, unknown))| {
            if *unknown {
                nulls[row] = true;
            } else if *truth == decisive {
                values[row] = decisive;
            }
        }),
    }
}

/// Results for different rows of a batch, put together in the rows' order.
struct Pieces {
    values: Option<Column>,
    place: Vec<u32>,
}

impl Pieces {
    fn new(rows: usize) -> Pieces {
        Pieces { values: None, place: vec![0; rows] }
    }

    /// Adds the values of `column` at `kept` as those of `rows`.
    fn add(&mut self, rows: &[u32], column: &Column) {
        let start = self.values.as_ref().map_or(0, Column::len) as u32;
        for (at, row) in (start..).zip(rows) {
            self.place[*row as usize] = at;
        }
        match &mut self.values {
            Some(values) => values.append(column),
            None => self.values = Some(column.clone()),
        }
    }

    fn finish(self, data_type: Type) -> Column {
        self.values.map_or_else(|| Column::new(data_type), |values| values.gather(&self.place))
    }
}

fn case(branches: &[(Expression, Expression)], otherwise: &Expression, batch: &Batch) -> Result<Column> {
    let mut open: Vec<u32> = (0..batch.rows as u32).collect();
    let mut pieces = Pieces::new(batch.rows);
    for (condition, result) in branches {
        if open.is_empty() {
            break;
        }
        let column = condition.evaluate_rows(batch, &open)?;
        let truths = truths(&column);
        let is_true = |at: usize| truths[at] && !column.is_null(at);
        let taken: Vec<u32> = open.iter().enumerate().filter(|(at, _)| is_true(*at)).map(|(_, row)| *row).collect();
        if taken.is_empty() {
            continue;
        }
        open = open.iter().enumerate().filter(|(at, _)| !is_true(*at)).map(|(_, row)| *row).collect();
        pieces.add(&taken, &*result.evaluate_rows(batch, &taken)?);
    }
    if !open.is_empty() {
        pieces.add(&open, &*otherwise.evaluate_rows(batch, &open)?);
    }
    Ok(pieces.finish(otherwise.data_type))
}

fn coalesce(operands: &[Expression], data_type: Type, batch: &Batch) -> Result<Column> {
    let mut open: Vec<u32> = (0..batch.rows as u32).collect();
    let mut pieces = Pieces::new(batch.rows);
    for (number, operand) in operands.iter().enumerate() {
        if open.is_empty() {
            break;
        }
        let column = operand.evaluate_rows(batch, &open)?;
        // The rows that stay open overwrite their place later.
        pieces.add(&open, &column);
        if number + 1 < operands.len() {
            open = open.iter().enumerate().filter(|(at, _)| column.is_null(*at)).map(|(_, row)| *row).collect();
        }
    }
    Ok(pieces.finish(data_type))
}

fn in_list(column: &Column, list: &[Datum], data_type: Type, rows: usize) -> Column {
    let has_null = list.iter().any(Datum::is_null);
    let mut truths = Vec::with_capacity(rows);
    if let (Data::Int(values), false) = (&column.data, list.is_empty()) {
        let mut known: Vec<i64> = Vec::with_capacity(list.len());
        let mut listed = Column::new(data_type);
        list.iter().filter(|value| !value.is_null()).for_each(|value| listed.push(value));
        if let Data::Int(listed) = &listed.data {
            known.extend_from_slice(listed);
        }
        known.sort_unstable();
        truths.extend(values.iter().map(|value| known.binary_search(value).is_ok()));
    } else if let Data::Text(values) = &column.data {
        let texts = list.iter().filter_map(Datum::as_text).map(str::as_bytes);
        let plain = |text: &[u8]| if data_type == Type::BPCHAR { without_blanks(text).len() } else { text.len() };
        let known: std::collections::HashSet<&[u8]> = texts.map(|text| &text[..plain(text)]).collect();
        truths = values.test(|text| known.contains(&text[..plain(text)]));
    } else {
        truths.extend((0..rows).map(|row| {
            let value = column.get(row, data_type);
            !value.is_null()
                && list
                    .iter()
                    .any(|listed| !listed.is_null() && compare_typed(data_type, &value, listed) == Ordering::Equal)
        }));
    }
    if list.is_empty() || (!has_null && column.nulls.is_none()) {
        return Column::of_truths(truths, None);
    }
    let nulls = (0..rows).map(|row| column.is_null(row) || (has_null && !truths[row])).collect();
    Column::of_truths(truths, Some(nulls))
}

/// Calls a function row by row.
fn call(
    function: &Lane,
    is_strict: bool,
    arguments: &[Vector],
    types: &[Type],
    result: Type,
    rows: usize,
) -> Result<Column> {
    let mut column = Column::new(result);
    let mut values: Vec<Datum> = vec![Datum::Null; arguments.len()];
    for (at, argument) in arguments.iter().enumerate().filter(|(_, argument)| argument.is_constant) {
        values[at] = argument.get(0, types[at]);
    }
    if let Some(column) = call_once_a_text(function, is_strict, arguments, types, (&mut values, result), rows)? {
        return Ok(column);
    }
    for row in 0..rows {
        if is_strict && arguments.iter().any(|argument| argument.is_null(row)) {
            column.push_null();
            continue;
        }
        for (at, argument) in arguments.iter().enumerate().filter(|(_, argument)| !argument.is_constant) {
            values[at] = argument.get(row, types[at]);
        }
        column.push(&function(&values)?);
    }
    Ok(column)
}

/// Calls a function whose only argument with a value for each row is a text of a dictionary: once for each text that a row has. `None`:
/// there is no dictionary.
fn call_once_a_text(
    function: &Lane,
    is_strict: bool,
    arguments: &[Vector],
    types: &[Type],
    (values, result): (&mut [Datum], Type),
    rows: usize,
) -> Result<Option<Column>> {
    let mut varying = arguments.iter().enumerate().filter(|(_, argument)| !argument.is_constant);
    let (Some((at, argument)), None) = (varying.next(), varying.next()) else { return Ok(None) };
    let Data::Text(texts) = &argument.column.data else { return Ok(None) };
    let Some((dictionary, codes)) = texts.codes() else { return Ok(None) };
    let is_never_called = is_strict && arguments.iter().any(|argument| argument.is_constant && argument.is_null(0));
    // One more for NULL.
    let mut known: Vec<Option<Datum>> = vec![None; dictionary.len() + 1];
    let mut column = Column::new(result);
    for (row, &code) in codes.iter().enumerate().take(rows) {
        let is_null = argument.is_null(row);
        if is_strict && is_null || is_never_called {
            column.push_null();
            continue;
        }
        let known = &mut known[if is_null { dictionary.len() } else { usize::from(code) }];
        if known.is_none() {
            values[at] = argument.get(row, types[at]);
            *known = Some(function(values)?);
        }
        known.iter().for_each(|value| column.push(value));
    }
    Ok(Some(column))
}

/// Returns whether a cast between these types keeps the form of every value.
pub fn is_same_form(from: Type, to: Type) -> bool {
    let width = |data_type| [Type::INT2, Type::INT4, Type::INT8].iter().position(|known| *known == data_type);
    match (width(from), width(to)) {
        (Some(from), Some(to)) => from <= to,
        _ => {
            let text = |data_type: Type| matches!(Class::of(data_type), Class::Text) && data_type != Type::BPCHAR;
            (from == Type::FLOAT4 && to == Type::FLOAT8) || (text(from) && text(to))
        }
    }
}
