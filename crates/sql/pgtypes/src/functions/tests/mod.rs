//! Calls compared with PostgreSQL 15's results.

use super::*;
use crate::error::{Error, Result, state};
use crate::interrupt::{self, Interrupt};
use crate::{Array, Datum, Env, Modifier, Scalar, Styles, cast, text};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

/// This crate's functions alone.
static REGISTRY: LazyLock<Registry<Body>> = LazyLock::new(|| Registry::new(|body| body, &[], &[]));

/// A session at the beginning of 1970, in UTC.
struct Session;

impl Env for Session {
    fn styles(&self) -> Styles {
        Styles::default()
    }

    fn transaction_time(&self) -> i64 {
        0
    }

    fn statement_time(&self) -> i64 {
        0
    }

    fn clock_time(&self) -> i64 {
        0
    }
}

/// The type of a name as the tables of calls write it.
fn type_named(name: &str) -> Type {
    match name.strip_suffix("[]") {
        Some(element) => type_named(element).to_array().expect("an array type"),
        None if name == "unknown" => Type::UNKNOWN,
        None => Type::parse_name(name).expect("a type"),
    }
}

/// Reads `type=text`.
fn read(argument: &str) -> Result<(Type, Datum)> {
    let (name, value) = argument.split_once('=').expect("a type and a value");
    let data_type = type_named(name);
    Ok(match value {
        "NULL" => (data_type, Datum::Null),
        _ if data_type == Type::UNKNOWN => (data_type, value.into()),
        _ => (data_type, parse(value, data_type)?),
    })
}

fn parse(value: &str, data_type: Type) -> Result<Datum> {
    text::parse(value, data_type, Modifier::NONE, &Styles::default())
}

/// Resolves and calls, as the binder and the executor do.
fn call(name: &str, arguments: &[(Type, Datum)]) -> Result<String> {
    let types: Vec<Type> = arguments.iter().map(|(data_type, _)| *data_type).collect();
    let is_operator = !name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let resolved = match &types[..] {
        [right] if is_operator => REGISTRY.operator(name, None, *right)?,
        [left, right] if is_operator => REGISTRY.operator(name, Some(*left), *right)?,
        _ => REGISTRY.function(name, &types)?,
    };
    let mut values = Vec::new();
    for ((from, value), to) in arguments.iter().zip(&resolved.arguments) {
        values.push(match (from, value) {
            (&Type::UNKNOWN, Datum::Text(literal)) => parse(literal, *to)?,
            _ => cast::cast(value, *from, *to, Modifier::NONE, false, &Styles::default())?,
        });
    }
    let show = |value: &Datum| match value {
        Datum::Null => "<null>".to_owned(),
        Datum::Oid(oid) if resolved.result == Type::REGTYPE => Type::from_oid(*oid).expect("a type").name(),
        _ => text::to_string(value, resolved.result, &Styles::default()),
    };
    if resolved.function.strict && values.iter().any(Datum::is_null) {
        return Ok(show(&Datum::Null));
    }
    Ok(match resolved.function.body {
        Body::Pure(body) => show(&body(&values)?),
        Body::Session(body) => show(&body(&Session, &values)?),
        Body::Typed(body) => show(&body(&Session, &resolved.arguments, &values)?),
        Body::Set(body) => body(&Session, &values)?.iter().map(show).collect::<Vec<_>>().join(";"),
        Body::TypedSet(body) => {
            body(&Session, &resolved.arguments, &values)?.iter().map(show).collect::<Vec<_>>().join(";")
        }
        Body::Series(body) => {
            let mut next = body(&Session, &values)?;
            let shown: Result<Vec<_>> =
                std::iter::from_fn(|| next().transpose()).map(|value| Ok(show(&value?))).collect();
            shown?.join(";")
        }
    })
}

fn shown(answer: Result<String>) -> String {
    let text = answer.unwrap_or_else(|error| format!("!{}: {}", error.code(), error.message()));
    text.replace('\n', "\\n").replace('\t', "\\t")
}

/// Each line: a function or an operator (`*` before one that returns a set), its arguments, `=>`, PostgreSQL's answer.
#[test]
fn calls_answer_as_postgresql() {
    let check = |line: &str| {
        let (call_text, expected) = line.split_once("\t=>\t").expect("an arrow");
        let mut fields = call_text.split('\t');
        let name = fields.next().expect("a name");
        let name = name.strip_prefix('*').filter(|rest| !rest.is_empty()).unwrap_or(name);
        let arguments: Result<Vec<(Type, Datum)>> = fields.map(read).collect();
        let found = shown(arguments.and_then(|arguments| call(name, &arguments)));
        (found != expected).then(|| format!("{call_text}\n  expected {expected}\n  found    {found}"))
    };
    let wrong: Vec<String> = include_str!("calls.tsv").lines().filter_map(check).collect();
    assert!(wrong.is_empty(), "{} calls differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The value of an aggregate over rows of arguments.
fn aggregated(name: &str, rows: &[Vec<(Type, Datum)>]) -> Result<String> {
    let types: Vec<Type> = rows[0].iter().map(|(data_type, _)| *data_type).collect();
    let resolved = resolve_aggregate(name, &types)?.expect("an aggregate");
    let mut state = (resolved.aggregate.start)();
    for row in rows {
        let values: Result<Vec<Datum>> = row
            .iter()
            .zip(&resolved.arguments)
            .map(|((from, value), to)| cast::cast(value, *from, *to, Modifier::NONE, false, &Styles::default()))
            .collect();
        let values = values?;
        if !(resolved.aggregate.strict && values.iter().any(Datum::is_null)) {
            state.add(&values)?;
        }
    }
    Ok(match state.value()? {
        Datum::Null => "<null>".into(),
        value => text::to_string(&value, resolved.result, &Styles::default()),
    })
}

/// Each line: an aggregate, its rows with arguments between semicolons, `=>`, PostgreSQL's answer.
#[test]
fn aggregates_answer_as_postgresql() {
    let check = |line: &str| {
        let (call_text, expected) = line.split_once("\t=>\t").expect("an arrow");
        let mut fields = call_text.split('\t');
        let name = fields.next().expect("a name");
        let rows: Result<Vec<Vec<(Type, Datum)>>> = fields.map(|row| row.split(';').map(read).collect()).collect();
        let found = shown(rows.and_then(|rows| aggregated(name, &rows)));
        (found != expected).then(|| format!("{call_text}\n  expected {expected}\n  found    {found}"))
    };
    let wrong: Vec<String> = include_str!("aggregates.tsv").lines().filter_map(check).collect();
    assert!(wrong.is_empty(), "{} aggregates differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn comparisons_have_a_common_type() {
    let compared = |left: Type, right: Type| match comparison_type(left, right) {
        Ok(common) => common.name(),
        Err(error) => error.message().to_owned(),
    };
    for (left, right, expected) in [
        ("int4", "numeric", "numeric"),
        ("int4", "int8", "bigint"),
        ("int2", "float4", "double precision"),
        ("numeric", "float8", "double precision"),
        ("date", "timestamp", "timestamp without time zone"),
        ("date", "timestamptz", "timestamp with time zone"),
        ("text", "unknown", "text"),
        ("unknown", "unknown", "text"),
        ("varchar", "text", "text"),
        ("varchar", "varchar", "text"),
        ("name", "unknown", "name"),
        ("name", "text", "text"),
        ("bpchar", "bpchar", "bpchar"),
        ("bpchar", "unknown", "bpchar"),
        ("oid", "int4", "oid"),
        ("regclass", "oid", "oid"),
        ("int4[]", "unknown", "integer[]"),
        ("int4", "text", "operator does not exist: integer = text"),
        ("bpchar", "int4", "operator does not exist: character = integer"),
        ("json", "json", "operator does not exist: json = json"),
        ("int4[]", "int8[]", "operator does not exist: integer[] = bigint[]"),
    ] {
        assert_eq!(compared(type_named(left), type_named(right)), expected, "{left} and {right}");
    }
}

#[test]
fn windows_take_what_postgresql_takes() {
    let resolved = |name: &str, types: &[Type]| match window_function(name, types) {
        Ok(Some((function, arguments, result))) => format!("{function:?} {arguments:?} {}", result.name()),
        Ok(None) => "none".to_owned(),
        Err(error) => error.message().to_owned(),
    };
    assert_eq!(resolved("row_number", &[]), "RowNumber [] bigint");
    assert_eq!(resolved("sum", &[Type::INT4]), "none");
    assert_eq!(resolved("ntile", &[Type::TEXT]), "function ntile(text) does not exist");
    let result = window_function("lag", &[Type::INT4, Type::INT4, Type::NUMERIC]).expect("lag").expect("a window");
    assert_eq!(result.1, [Type::NUMERIC, Type::INT4, Type::NUMERIC]);
}

/// A request that lets so many looks pass.
struct After(AtomicUsize);

impl Interrupt for After {
    fn check(&self) -> Result<()> {
        let left = self.0.load(Relaxed);
        self.0.store(left.saturating_sub(1), Relaxed);
        if left > 0 { Ok(()) } else { Err(Error::new(state::QUERY_CANCELED, "for the test")) }
    }
}

/// One call of a long function stops in its midst: no call may keep a statement from being cancelled.
#[test]
fn long_calls_stop_when_they_are_told_to() {
    const LENGTH: usize = 6 << 20;
    let text = |text: &str| (Type::TEXT, Datum::from(text.repeat(LENGTH / text.len())));
    let int4 = |number: i32| (Type::INT4, Datum::Int4(number));
    let short = |text: &str| (Type::TEXT, Datum::from(text));
    let bytes = || (Type::BYTEA, Datum::Bytea(vec![b'7'; LENGTH].into()));
    let texts = vec![Datum::from("a text"); 1 << 18];
    let array = || (type_named("text[]"), Array::new(Scalar::Text, texts.clone()).into());
    let counted = "(a{1,240}){1,20}b";
    let calls = [
        ("~", vec![text("a"), short(counted)]),
        ("~", vec![text("ab"), short("x|y")]),
        ("substring", vec![text("a"), short(counted)]),
        ("regexp_match", vec![text("ä "), short("\\yx(a+)")]),
        ("regexp_count", vec![text("a"), short("(a{1,100}){1,100}b")]),
        ("regexp_replace", vec![text("ab"), short("(a)(b.*z)?"), short("\\1")]),
        ("repeat", vec![short("ab"), int4(LENGTH as i32)]),
        ("lpad", vec![short("x"), int4(LENGTH as i32), short("äb")]),
        ("rpad", vec![short("x"), int4(LENGTH as i32)]),
        ("replace", vec![text("ab"), short("b"), short("c")]),
        ("translate", vec![text("ab"), short("b"), short("c")]),
        ("upper", vec![text("ä")]),
        ("initcap", vec![text("ab ")]),
        ("reverse", vec![text("ab")]),
        ("md5", vec![text("a")]),
        ("sha256", vec![bytes()]),
        ("encode", vec![bytes(), short("hex")]),
        ("encode", vec![bytes(), short("escape")]),
        ("decode", vec![text("7f"), short("hex")]),
        ("string_to_array", vec![text("ab,"), short(",")]),
        ("array_to_string", vec![array(), short(",")]),
        ("array_fill", vec![int4(1), (type_named("int4[]"), parse("{1000,1000}", type_named("int4[]")).unwrap())]),
        ("to_json", vec![text("a\n")]),
        ("to_json", vec![array()]),
        ("to_jsonb", vec![array()]),
    ];
    let mut never = Vec::new();
    for (name, arguments) in &calls {
        // The first look is perhaps the last one before an end.
        interrupt::begin_statement(Arc::new(After(AtomicUsize::new(1))));
        match call(name, arguments) {
            Err(error) if error.code() == state::QUERY_CANCELED => {}
            _ => never.push(name),
        }
    }
    interrupt::begin_statement(Arc::new(After(AtomicUsize::new(usize::MAX))));
    assert!(never.is_empty(), "these calls do not look: {never:?}");
}
