//! Functions with special syntax: EXTRACT, SUBSTRING, TRIM, POSITION, OVERLAY, AT TIME ZONE, LIKE and its variants.

use super::literal::string;
use super::operator::negate;
use crate::bind::Binder;
use crate::bind::coerce::Placed;
use crate::bind::position::{NOWHERE, start};
use crate::bind::query::unnested;
use crate::error::{Result, SqlError, state};
use crate::plan::Expr;
use syntax::ast::{BinaryOperator, CeilFloorKind, DateTimeField, Expr as Syntax, TrimWhereField, ValueWithSpan};

impl Binder<'_, '_> {
    /// Binds special syntax to a call of the function that it denotes.
    pub(super) fn sql_function(&mut self, syntax: &Syntax) -> Result<Expr> {
        let at = start(syntax);
        match syntax {
            Syntax::Extract { field, expr, .. } => {
                let field = Self::text_constant(&extract_field(field));
                let source = self.placed(expr)?;
                self.call_by_name("extract", vec![field, source], at)
            }
            Syntax::Ceil { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
                self.call_of("ceil", [&**expr], at)
            }
            Syntax::Floor { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
                self.call_of("floor", [&**expr], at)
            }
            Syntax::Ceil { expr, field: CeilFloorKind::Scale(scale) } => self.call_with_scale("ceil", expr, scale, at),
            Syntax::Floor { expr, field: CeilFloorKind::Scale(scale) } => {
                self.call_with_scale("floor", expr, scale, at)
            }
            Syntax::Position { expr, r#in } => self.call_of("position", [&**r#in, &**expr], at),
            Syntax::Substring { expr, substring_from, substring_for, .. } => {
                self.substring(expr, substring_from.as_deref(), substring_for.as_deref(), at)
            }
            Syntax::Trim { trim_where, trim_what, expr, trim_characters } => {
                let function = match trim_where {
                    None | Some(TrimWhereField::Both) => "btrim",
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                };
                let characters = trim_what.as_deref().into_iter().chain(trim_characters.iter().flatten());
                self.call_of(function, std::iter::once(&**expr).chain(characters), at)
            }
            Syntax::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let arguments = [&**expr, &**overlay_what, &**overlay_from].into_iter().chain(overlay_for.as_deref());
                self.call_of("overlay", arguments, at)
            }
            Syntax::AtTimeZone { timestamp, time_zone } => self.call_of("timezone", [&**time_zone, &**timestamp], at),
            Syntax::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like("~~", *negated, expr, pattern, escape_char.as_ref())
            }
            Syntax::ILike { negated, any: false, expr, pattern, escape_char } => {
                self.like("~~*", *negated, expr, pattern, escape_char.as_ref())
            }
            Syntax::Like { negated, any: true, expr, pattern, escape_char: None } => {
                let symbol = if *negated { BinaryOperator::PGNotLikeMatch } else { BinaryOperator::PGLikeMatch };
                self.quantified(expr, &symbol, unnested(pattern), false)
            }
            Syntax::ILike { negated, any: true, expr, pattern, escape_char: None } => {
                let symbol = if *negated { BinaryOperator::PGNotILikeMatch } else { BinaryOperator::PGILikeMatch };
                self.quantified(expr, &symbol, unnested(pattern), false)
            }
            Syntax::SimilarTo { negated, expr, pattern, escape_char } => {
                self.similar_to(*negated, expr, pattern, escape_char.as_ref())
            }
            other => Err(self.error_at(SqlError::unsupported(format_args!("the expression {other}")), at)),
        }
    }

    fn call_of<'e>(
        &mut self,
        name: &str,
        arguments: impl IntoIterator<Item = &'e Syntax>,
        at: syntax::ast::Location,
    ) -> Result<Expr> {
        let arguments = self.all_placed(arguments)?;
        self.call_by_name(name, arguments, at)
    }

    fn call_with_scale(
        &mut self,
        name: &str,
        value: &Syntax,
        scale: &ValueWithSpan,
        at: syntax::ast::Location,
    ) -> Result<Expr> {
        let arguments = vec![self.placed(value)?, (self.literal(scale)?, scale.span.start)];
        self.call_by_name(name, arguments, at)
    }

    /// SUBSTRING; without FROM it starts at 1.
    fn substring(
        &mut self,
        value: &Syntax,
        from: Option<&Syntax>,
        count: Option<&Syntax>,
        at: syntax::ast::Location,
    ) -> Result<Expr> {
        let mut arguments = vec![self.placed(value)?];
        match from {
            Some(from) => arguments.push(self.placed(from)?),
            None if count.is_some() => arguments.push((self.number("1", NOWHERE)?, NOWHERE)),
            None => {}
        }
        if let Some(count) = count {
            arguments.push(self.placed(count)?);
        }
        self.call_by_name("substring", arguments, at)
    }

    fn like(
        &mut self,
        symbol: &str,
        negated: bool,
        value: &Syntax,
        pattern: &Syntax,
        escape: Option<&ValueWithSpan>,
    ) -> Result<Expr> {
        let (syntax, value) = (value, self.placed(value)?);
        let mut pattern = self.placed(pattern)?;
        if let Some(escape) = escape {
            let escape = self.escape(escape)?;
            pattern = (self.call_by_name("like_escape", vec![pattern, escape], NOWHERE)?, NOWHERE);
        }
        let symbol = if negated { format!("!{symbol}") } else { symbol.to_owned() };
        let word = if symbol.ends_with('*') { "ilike" } else { "like" };
        self.call_operator(&symbol, value, pattern).map_err(|error| match error.code() {
            state::UNDEFINED_FUNCTION => self.error_at_operator(error, syntax, word),
            _ => error,
        })
    }

    fn similar_to(
        &mut self,
        negated: bool,
        value: &Syntax,
        pattern: &Syntax,
        escape: Option<&ValueWithSpan>,
    ) -> Result<Expr> {
        let value = self.placed(value)?;
        let mut arguments = vec![self.placed(pattern)?];
        if let Some(escape) = escape {
            arguments.push(self.escape(escape)?);
        }
        let pattern = self.call_by_name("similar_to_escape", arguments, NOWHERE)?;
        let matches = self.call_operator("~", value, (pattern, NOWHERE))?;
        Ok(if negated { negate(matches) } else { matches })
    }

    fn escape(&mut self, escape: &ValueWithSpan) -> Result<Placed> {
        match string(&escape.value) {
            Some(text) => Ok(Self::text_constant(text)),
            None => Ok((self.literal(escape)?, escape.span.start)),
        }
    }
}

/// The name of EXTRACT's field.
fn extract_field(field: &DateTimeField) -> String {
    match field {
        DateTimeField::Custom(name) => super::super::name::fold(name),
        other => other.to_string().to_ascii_lowercase(),
    }
}
