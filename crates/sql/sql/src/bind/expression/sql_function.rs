//! Functions with special syntax: EXTRACT, SUBSTRING, TRIM, POSITION, OVERLAY, AT TIME ZONE, LIKE and its variants.

use super::operator::negate;
use crate::bind::Binder;
use crate::bind::coerce::LocatedExpr;
use crate::bind::name::fold;
use crate::bind::position::NOWHERE;
use crate::error::{Result, state};
use crate::plan::Expr;
use syntax::ast::{Expr as Syntax, LikeKind, Literal, Location, SpecialCall, TrimSide, Value};

impl Binder<'_, '_> {
    /// Binds special syntax to a call of the function that it denotes.
    pub(super) fn special(&mut self, call: &SpecialCall, arguments: &[Syntax], at: Location) -> Result<Expr> {
        let name = special_name(call);
        match (call, arguments) {
            // The function's own order is another than that of the words.
            (SpecialCall::AtTimeZone | SpecialCall::Position, [first, second]) => {
                self.call_of(name, [second, first], at)
            }
            (SpecialCall::Extract { field, .. }, [source]) => {
                let field = Self::text_constant(&fold(field));
                let source = self.placed(source)?;
                self.call_by_name(name, vec![field, source], at)
            }
            (SpecialCall::Substring { from, .. }, arguments) => self.substring(*from, arguments, at),
            (_, arguments) => self.call_of(name, arguments, at),
        }
    }

    fn call_of<'e>(
        &mut self,
        name: &str,
        arguments: impl IntoIterator<Item = &'e Syntax>,
        at: Location,
    ) -> Result<Expr> {
        let arguments = self.all_placed(arguments)?;
        self.call_by_name(name, arguments, at)
    }

    /// SUBSTRING; without FROM it starts at 1.
    fn substring(&mut self, from: bool, arguments: &[Syntax], at: Location) -> Result<Expr> {
        let mut arguments = self.all_placed(arguments)?;
        if !from && arguments.len() > 1 {
            arguments.insert(1, (self.number("1", NOWHERE)?, NOWHERE));
        }
        self.call_by_name("substring", arguments, at)
    }

    /// LIKE, ILIKE, SIMILAR TO
    pub(super) fn like(
        &mut self,
        kind: LikeKind,
        value: &Syntax,
        pattern: &Syntax,
        escape: Option<&Literal>,
        negated: bool,
    ) -> Result<Expr> {
        let (symbol, word) = match (kind, negated) {
            (LikeKind::Similar, _) => {
                let matches = self.similar_to(value, pattern, escape)?;
                return Ok(if negated { negate(matches) } else { matches });
            }
            (LikeKind::Like, false) => ("~~", "like"),
            (LikeKind::Like, true) => ("!~~", "like"),
            (LikeKind::ILike, false) => ("~~*", "ilike"),
            (LikeKind::ILike, true) => ("!~~*", "ilike"),
        };
        let (syntax, value) = (value, self.placed(value)?);
        let mut pattern = self.placed(pattern)?;
        if let Some(escape) = escape {
            let escape = self.escape(escape)?;
            pattern = (self.call_by_name("like_escape", vec![pattern, escape], NOWHERE)?, NOWHERE);
        }
        self.call_operator(symbol, value, pattern).map_err(|error| match error.code() {
            state::UNDEFINED_FUNCTION => self.text.error_at_operator(error, syntax, word),
            _ => error,
        })
    }

    fn similar_to(&mut self, value: &Syntax, pattern: &Syntax, escape: Option<&Literal>) -> Result<Expr> {
        let value = self.placed(value)?;
        let mut arguments = vec![self.placed(pattern)?];
        if let Some(escape) = escape {
            arguments.push(self.escape(escape)?);
        }
        let pattern = self.call_by_name("similar_to_escape", arguments, NOWHERE)?;
        self.call_operator("~", value, (pattern, NOWHERE))
    }

    fn escape(&mut self, escape: &Literal) -> Result<LocatedExpr> {
        match &escape.value {
            Value::String(text) => Ok(Self::text_constant(text)),
            _ => Ok((self.literal(escape)?, escape.span.start)),
        }
    }
}

/// The function that special syntax calls, as it titles the column.
pub(in crate::bind) fn special_name(call: &SpecialCall) -> &'static str {
    match call {
        SpecialCall::AtTimeZone => "timezone",
        SpecialCall::Ceil => "ceil",
        SpecialCall::Floor => "floor",
        SpecialCall::Extract { .. } => "extract",
        SpecialCall::Overlay => "overlay",
        SpecialCall::Position => "position",
        SpecialCall::Substring { short: true, .. } => "substr",
        SpecialCall::Substring { short: false, .. } => "substring",
        SpecialCall::Trim { side: None | Some(TrimSide::Both), .. } => "btrim",
        SpecialCall::Trim { side: Some(TrimSide::Leading), .. } => "ltrim",
        SpecialCall::Trim { side: Some(TrimSide::Trailing), .. } => "rtrim",
    }
}
