//! Quoting of texts for SQL, and `format`.

use super::super::arguments::{Arguments, check_length, invalid};
use super::super::table::*;
use crate::identifier::quote_identifier;

/// The functions.
pub(super) static FUNCTIONS: &[Function] =
    &[
        pure("quote_ident", &[TEXT], TEXT, |a| Ok(quote_identifier(a.text(0)?).into_owned().into())),
        pure("quote_literal", &[TEXT], TEXT, |a| Ok(quote_literal(a.text(0)?).into())),
        typed("quote_literal", &[ANYELEMENT], TEXT, |env, types, a| {
            Ok(quote_literal(&output(env, types[0], &a[0])).into())
        }),
        pure("quote_nullable", &[TEXT], TEXT, |a| {
            Ok(a.optional_text(0)?.map_or_else(|| "NULL".into(), quote_literal).into())
        })
        .called_on_null(),
        typed("quote_nullable", &[ANYELEMENT], TEXT, |env, types, a| {
            Ok(if a[0].is_null() { "NULL".into() } else { quote_literal(&output(env, types[0], &a[0])) }.into())
        })
        .called_on_null(),
        typed("format", &[TEXT], TEXT, format).variadic(ANY).called_on_null(),
    ];

/// A value's text.
pub(in super::super) fn output(env: &dyn Env, data_type: Type, value: &Datum) -> String {
    crate::text::to_string(value, data_type, &env.styles())
}

/// A text as SQL's literal.
pub fn quote_literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if quoted.contains('\\') { format!("E'{}'", quoted.replace('\\', "\\\\")) } else { format!("'{quoted}'") }
}

/// A conversion of `format`: `%[position$][-][width]type`.
#[derive(Default)]
struct Conversion {
    position: Option<usize>,
    left: bool,
    width: Option<usize>,
    width_argument: Option<Option<usize>>,
}

fn format(env: &dyn Env, types: &[Type], a: &[Datum]) -> Result<Datum> {
    let Some(template) = a.optional_text(0)? else { return Ok(Datum::Null) };
    let mut out = String::new();
    let mut rest = template.chars().peekable();
    let mut next = 1;
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if rest.next_if_eq(&'%').is_some() {
            out.push('%');
            continue;
        }
        let mut conversion = parse_conversion(&mut rest)?;
        let kind = rest.next().ok_or_else(unterminated)?;
        if let Some(from) = conversion.width_argument {
            let at = take_argument(from, &mut next, a.len())?;
            let width = match &a[at] {
                Datum::Null => 0,
                value => value.as_i64().ok_or_else(|| invalid("width argument must be an integer"))?,
            };
            conversion.left |= width < 0;
            conversion.width = usize::try_from(width.unsigned_abs()).ok();
        }
        if !matches!(kind, 's' | 'I' | 'L') {
            return Err(invalid(format!("unrecognized format() type specifier \"{kind}\""))
                .hint("For a single \"%\" use \"%%\"."));
        }
        let at = take_argument(conversion.position, &mut next, a.len())?;
        let text = match (&a[at], kind) {
            (Datum::Null, 's') => String::new(),
            (Datum::Null, 'L') => "NULL".into(),
            (Datum::Null, _) => {
                let message = "null values cannot be formatted as an SQL identifier";
                return Err(Error::new(state::NULL_VALUE_NOT_ALLOWED, message));
            }
            (value, 's') => output(env, types[at], value),
            (value, 'I') => quote_identifier(&output(env, types[at], value)).into_owned(),
            (value, _) => quote_literal(&output(env, types[at], value)),
        };
        push_padded(&mut out, &text, &conversion)?;
    }
    Ok(out.into())
}

fn unterminated() -> Error {
    invalid("unterminated format() type specifier").hint("For a single \"%\" use \"%%\".")
}

type Rest<'t> = std::iter::Peekable<std::str::Chars<'t>>;

fn parse_conversion(rest: &mut Rest<'_>) -> Result<Conversion> {
    let mut conversion = Conversion::default();
    if let Some(number) = parse_number(rest)? {
        if rest.next_if_eq(&'$').is_none() {
            conversion.width = Some(number);
            return Ok(conversion);
        }
        if number == 0 {
            return Err(invalid("format specifies argument 0, but arguments are numbered from 1"));
        }
        conversion.position = Some(number);
    }
    while rest.next_if_eq(&'-').is_some() {
        conversion.left = true;
    }
    if rest.next_if_eq(&'*').is_some() {
        let number = parse_number(rest)?;
        if number.is_some() && rest.next_if_eq(&'$').is_none() {
            return Err(invalid("width argument position must be ended by \"$\""));
        }
        conversion.width_argument = Some(number);
    } else {
        conversion.width = parse_number(rest)?;
    }
    Ok(conversion)
}

fn parse_number(rest: &mut Rest<'_>) -> Result<Option<usize>> {
    let mut number: Option<i32> = None;
    while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
        rest.next();
        let shifted = number.unwrap_or(0).checked_mul(10).and_then(|n| n.checked_add(digit as i32));
        number = Some(shifted.ok_or_else(|| Error::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range"))?);
    }
    Ok(number.and_then(|number| usize::try_from(number).ok()))
}

/// The place of the argument that a conversion takes: the one it names, or the next.
fn take_argument(position: Option<usize>, next: &mut usize, count: usize) -> Result<usize> {
    let at = position.unwrap_or(*next);
    if at == 0 {
        return Err(invalid("format specifies argument 0, but arguments are numbered from 1"));
    }
    if at >= count {
        return Err(invalid("too few arguments for format()"));
    }
    *next = at + 1;
    Ok(at)
}

fn push_padded(out: &mut String, text: &str, conversion: &Conversion) -> Result<()> {
    let missing = conversion.width.unwrap_or(0).saturating_sub(text.chars().count());
    check_length(out.len().saturating_add(missing).saturating_add(text.len()))?;
    let padding = " ".repeat(missing);
    if conversion.left {
        out.push_str(text);
        out.push_str(&padding);
    } else {
        out.push_str(&padding);
        out.push_str(text);
    }
    Ok(())
}
