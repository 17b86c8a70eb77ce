//! Calls over windows.

use super::Binder;
use super::calls::WindowSlot;
use super::clause::Clause;
use super::coerce::LocatedExpr;
use super::name::{self, fold};
use super::position::{NOWHERE, start};
use crate::error::{Result, SqlError, state};
use crate::functions::{is_aggregate, window_function};
use crate::plan::{Expr, Frame, FrameBound, FrameExclude, FrameUnit, SortKey, WindowCall, WindowKind};
use crate::types::Type;
use syntax::ast::{
    Exclusion, Expr as Syntax, Function, Ident, Location, OrderByExpr, Window, WindowFrame, WindowFrameBound,
    WindowFrameUnits, WindowSpec,
};

/// Maximum length of a chain of windows that name each other.
const NAMES: usize = 100;

impl Binder<'_, '_> {
    /// `function(...) OVER window`
    pub(super) fn window_call(&mut self, function: &Function, name: &str, over: &Window) -> Result<Expr> {
        let at = name::location(&function.name);
        let allowed = self.scope.frame().clause.allow_window();
        allowed.map_err(|error| self.text.error_at(error, at))?;
        if function.distinct {
            return Err(self.text.error_at(SqlError::unsupported("DISTINCT in a window function call"), at));
        }
        if !function.order_by.is_empty() {
            return Err(self.text.error_at(SqlError::unsupported("ORDER BY in a window function call"), at));
        }
        let arguments = self.in_clause(Clause::Window, |binder| binder.arguments(function))?;
        let (kind, arguments, result) = self.window_kind(function, name, arguments, at)?;
        let filter = self.filter(function)?;
        if filter.is_some() && matches!(kind, WindowKind::Window(_)) {
            let message = "FILTER is not implemented for non-aggregate window functions";
            return Err(self.text.error_at(SqlError::new(state::FEATURE_NOT_SUPPORTED, message), at));
        }
        let spec = self.window_spec(over)?;
        let partition = self.partition(&spec)?;
        let order = self.in_clause(Clause::WindowOrder, |binder| binder.plain_sort_keys(&spec.order_by))?;
        let frame = self.window_frame(spec.frame.as_ref(), &order)?;
        let call = WindowCall { function: kind, arguments, filter, frame };
        let column = self.scope.frame().calls.window(WindowSlot { partition, order, call, result });
        Ok(Self::call_column(column, result))
    }

    fn window_kind(
        &mut self,
        function: &Function,
        name: &str,
        arguments: Vec<LocatedExpr>,
        at: Location,
    ) -> Result<(WindowKind, Vec<Expr>, Type)> {
        let types: Vec<Type> = arguments.iter().map(|(argument, _)| argument.data_type).collect();
        if let Some((kind, wanted, result)) =
            window_function(name, &types).map_err(|error| self.text.error_at(error, at))?
        {
            let convert = |((argument, at), wanted): (LocatedExpr, &Type)| self.implicit(argument, *wanted, at);
            let arguments: Result<_> = arguments.into_iter().zip(&wanted).map(convert).collect();
            return Ok((WindowKind::Window(kind), arguments?, result));
        }
        if is_aggregate(name) {
            let aggregate = self.resolve(function, name, &arguments, at)?;
            let arguments = self.aggregate_arguments(&aggregate, arguments)?;
            let result = aggregate.result;
            return Ok((WindowKind::Aggregate(aggregate), arguments, result));
        }
        let resolved =
            crate::functions::resolve_function(name, &types).map_err(|error| self.text.error_at(error, at))?;
        let message = format!(
            "OVER specified, but {} is not a window function nor an aggregate function",
            resolved.function.name
        );
        Err(self.text.error_at(SqlError::new(state::WRONG_OBJECT_TYPE, message), at))
    }

    fn partition(&mut self, spec: &WindowSpec) -> Result<Vec<Expr>> {
        self.in_clause(Clause::WindowOrder, |binder| {
            let mut partition = Vec::with_capacity(spec.partition_by.len());
            for key in &spec.partition_by {
                let bound = binder.expression(key)?;
                partition.push(binder.known(bound)?);
            }
            Ok(partition)
        })
    }

    /// Returns the window's definition, including what it inherits from the windows that it names.
    fn window_spec(&mut self, over: &Window) -> Result<WindowSpec> {
        match over {
            Window::Named(name) => self.named_window(name, 0),
            Window::Spec(spec) => self.complete_spec(spec, 0),
        }
    }

    fn named_window(&mut self, name: &Ident, depth: usize) -> Result<WindowSpec> {
        let folded = fold(name);
        let frame = self.scope.frame();
        let found = frame.calls.named_windows.iter().find(|definition| fold(&definition.name) == folded);
        let Some(spec) = found.map(|definition| definition.spec.clone()).filter(|_| depth < NAMES) else {
            let error = SqlError::new(state::UNDEFINED_OBJECT, format!("window \"{folded}\" does not exist"));
            return Err(self.text.error_at(error, name.span.start));
        };
        self.complete_spec(&spec, depth + 1)
    }

    fn complete_spec(&mut self, spec: &WindowSpec, depth: usize) -> Result<WindowSpec> {
        let Some(name) = &spec.base else { return Ok(spec.clone()) };
        let base = self.named_window(name, depth)?;
        let refuse = |what: &str| {
            let error = SqlError::new(state::WINDOWING_ERROR, format!("cannot {what} window \"{}\"", fold(name)));
            Err(self.text.error_at(error, name.span.start))
        };
        if !spec.partition_by.is_empty() {
            return refuse("override PARTITION BY clause of");
        }
        if !spec.order_by.is_empty() && !base.order_by.is_empty() {
            return refuse("override ORDER BY clause of");
        }
        if base.frame.is_some() {
            return refuse("copy");
        }
        let order_by: Vec<OrderByExpr> = if spec.order_by.is_empty() { base.order_by } else { spec.order_by.clone() };
        Ok(WindowSpec { base: None, partition_by: base.partition_by, order_by, frame: spec.frame.clone() })
    }

    /// Binds the frame. The default is everything up to the current row's peers.
    fn window_frame(&mut self, frame: Option<&WindowFrame>, order: &[SortKey]) -> Result<Frame> {
        let Some(frame) = frame else {
            let (start, end) = (FrameBound::Start, FrameBound::Current);
            return Ok(Frame { unit: FrameUnit::Range, start, end, exclude: FrameExclude::None });
        };
        let unit = match frame.units {
            WindowFrameUnits::Rows => FrameUnit::Rows,
            WindowFrameUnits::Range => FrameUnit::Range,
            WindowFrameUnits::Groups => FrameUnit::Groups,
        };
        if unit == FrameUnit::Groups && order.is_empty() {
            return Err(SqlError::new(state::WINDOWING_ERROR, "GROUPS mode requires an ORDER BY clause"));
        }
        let start = self.frame_bound(&frame.start, true, unit, order)?;
        let end = match &frame.end {
            Some(bound) => self.frame_bound(bound, false, unit, order)?,
            None => FrameBound::Current,
        };
        check_frame(&start, &end)?;
        Ok(Frame { unit, start, end, exclude: exclude(frame.exclusion) })
    }

    fn frame_bound(
        &mut self,
        bound: &WindowFrameBound,
        is_start: bool,
        unit: FrameUnit,
        order: &[SortKey],
    ) -> Result<FrameBound> {
        let refuse = |message: &str| Err(SqlError::new(state::WINDOWING_ERROR, message));
        match bound {
            WindowFrameBound::CurrentRow => Ok(FrameBound::Current),
            WindowFrameBound::Preceding(None) if is_start => Ok(FrameBound::Start),
            WindowFrameBound::Following(None) if !is_start => Ok(FrameBound::End),
            WindowFrameBound::Preceding(None) => refuse("frame end cannot be UNBOUNDED PRECEDING"),
            WindowFrameBound::Following(None) => refuse("frame start cannot be UNBOUNDED FOLLOWING"),
            WindowFrameBound::Preceding(Some(offset)) => {
                self.frame_offset(offset, unit, order).map(FrameBound::Preceding)
            }
            WindowFrameBound::Following(Some(offset)) => {
                self.frame_offset(offset, unit, order).map(FrameBound::Following)
            }
        }
    }

    fn frame_offset(&mut self, offset: &Syntax, unit: FrameUnit, order: &[SortKey]) -> Result<Expr> {
        let at = start(offset);
        let wanted = match unit {
            FrameUnit::Rows | FrameUnit::Groups => Type::INT8,
            FrameUnit::Range => self.range_offset(order, at)?,
        };
        self.in_clause(Clause::WindowFrame, |binder| {
            let (bound, at) = match offset {
                // The parser reads a string as an interval, whatever the type of the ordering column.
                Syntax::Interval(interval) if interval.leading.is_none() && wanted != Type::INTERVAL => {
                    (binder.literal(&interval.text)?, at)
                }
                Syntax::Interval(_) => (binder.expression(offset)?, NOWHERE),
                _ => binder.placed(offset)?,
            };
            binder.implicit(bound, wanted, at)
        })
    }

    /// Type of RANGE's offsets: the type that can be added to the ordering column.
    fn range_offset(&self, order: &[SortKey], at: Location) -> Result<Type> {
        let [key] = order else {
            let message = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column";
            return Err(self.text.error_at(SqlError::new(state::WINDOWING_ERROR, message), at));
        };
        let data_type = key.expression.data_type;
        match data_type.category() {
            'N' if data_type != Type::OID => Ok(data_type),
            'D' | 'T' => Ok(Type::INTERVAL),
            _ => {
                let message = format!(
                    "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {}",
                    data_type.name()
                );
                Err(self.text.error_at(SqlError::new(state::FEATURE_NOT_SUPPORTED, message), at))
            }
        }
    }
}

fn exclude(exclusion: Option<Exclusion>) -> FrameExclude {
    match exclusion {
        None | Some(Exclusion::NoOthers) => FrameExclude::None,
        Some(Exclusion::CurrentRow) => FrameExclude::Current,
        Some(Exclusion::Group) => FrameExclude::Group,
        Some(Exclusion::Ties) => FrameExclude::Ties,
    }
}

fn check_frame(start: &FrameBound, end: &FrameBound) -> Result<()> {
    let message = match (start, end) {
        (FrameBound::Current, FrameBound::Preceding(_)) => "frame starting from current row cannot have preceding rows",
        (FrameBound::Following(_), FrameBound::Current) => {
            "frame starting from following row cannot end with current row"
        }
        (FrameBound::Following(_), FrameBound::Preceding(_)) => {
            "frame starting from following row cannot have preceding rows"
        }
        _ => return Ok(()),
    };
    Err(SqlError::new(state::WINDOWING_ERROR, message))
}
