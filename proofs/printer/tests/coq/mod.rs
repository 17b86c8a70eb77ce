//! What Coq would extract, in short.

// Each test file takes what it needs.
#![allow(dead_code)]

use serde_json::{Value, json};
use seriatim_printer::{Reason, Source, print};

/// A type with arguments.
pub fn of(name: &str, args: &[Value]) -> Value {
    json!({"what": "type:glob", "name": name, "args": args})
}

/// A type without arguments.
pub fn ty(name: &str) -> Value {
    of(name, &[])
}

/// The type of a function.
pub fn arrow(from: &[Value], to: Value) -> Value {
    from.iter().rev().fold(to, |right, left| json!({"what": "type:arrow", "left": left, "right": right}))
}

pub fn var(name: &str) -> Value {
    json!({"what": "expr:rel", "name": name})
}

pub fn global(name: &str) -> Value {
    json!({"what": "expr:global", "name": name})
}

pub fn apply(name: &str, args: &[Value]) -> Value {
    json!({"what": "expr:apply", "func": global(name), "args": args})
}

pub fn lambda(names: &[&str], body: Value) -> Value {
    json!({"what": "expr:lambda", "argnames": names, "body": body})
}

pub fn bind(name: &str, value: Value, body: Value) -> Value {
    json!({"what": "expr:let", "name": name, "nameval": value, "body": body})
}

pub fn make(name: &str, args: &[Value]) -> Value {
    json!({"what": "expr:constructor", "name": name, "args": args})
}

/// One arm; the pattern is a constructor with names, or `_`.
pub fn arm(constructor: &str, names: &[&str], body: Value) -> Value {
    let pat = match constructor {
        "_" => json!({"what": "pat:wild"}),
        _ => json!({"what": "pat:constructor", "name": constructor, "argnames": names}),
    };
    json!({"what": "case", "pat": pat, "body": body})
}

pub fn case(scrutinee: Value, arms: &[Value]) -> Value {
    json!({"what": "expr:case", "expr": scrutinee, "cases": arms})
}

/// `if condition then yes else no`.
pub fn branch(condition: Value, yes: Value, no: Value) -> Value {
    case(condition, &[arm("True", &[], yes), arm("False", &[], no)])
}

pub fn one() -> Value {
    make("Npos", &[make("XH", &[])])
}

pub fn list(items: &[Value]) -> Value {
    items.iter().rev().fold(make("Nil", &[]), |tail, head| make("Cons", &[head.clone(), tail]))
}

pub fn inductive(name: &str, constructors: &[(&str, &[Value])]) -> Value {
    let constructors: Vec<Value> =
        constructors.iter().map(|(name, types)| json!({"name": name, "argtypes": types})).collect();
    json!({"what": "decl:ind", "name": name, "argnames": [], "constructors": constructors})
}

pub fn alias(name: &str, value: Value) -> Value {
    json!({"what": "decl:type", "name": name, "argnames": [], "value": value})
}

/// A function with names and types of its parameters.
pub fn function(name: &str, parameters: &[(&str, Value)], result: Value, body: Value) -> Value {
    let names: Vec<&str> = parameters.iter().map(|(name, _)| *name).collect();
    let types: Vec<Value> = parameters.iter().map(|(_, ty)| ty.clone()).collect();
    let value = if names.is_empty() { body } else { lambda(&names, body) };
    json!({"what": "decl:term", "name": name, "type": arrow(&types, result), "value": value})
}

/// A state of a number, a map and a value, `state`; its fields are read by `field`.
pub fn state() -> Value {
    inductive("state", &[("State", &[ty("n"), of("imap", &[ty("value")]), ty("value")])])
}

const FIELDS: [&str; 3] = ["low", "log", "last"];

/// A field of a state.
pub fn field(name: &str, from: Value) -> Value {
    let names = FIELDS.map(|field| if field == name { field } else { "_" });
    case(from, &[arm("State", &names, var(name))])
}

/// A state with its fields.
pub fn state_of(low: Value, log: Value, last: Value) -> Value {
    make("State", &[low, log, last])
}

/// A function that reads all fields, so that they have names.
pub fn all_fields() -> Value {
    let body = make(
        "Pair",
        &[
            field("low", var("s")),
            make("Pair", &[apply("im_has", &[one(), field("log", var("s"))]), field("last", var("s"))]),
        ],
    );
    let result = of("prod", &[ty("n"), of("prod", &[ty("bool"), ty("value")])]);
    function("all_fields", &[("s", ty("state"))], result, body)
}

/// Prints the function `f` of the declarations, in one line, without what is above the first item.
pub fn printed(declarations: &[Value]) -> String {
    let text = print_with(declarations, &[]).unwrap();
    let items = text.split_once("};\n").unwrap().1;
    items.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Prints `f` with the comments of `source`.
pub fn print_with(declarations: &[Value], source: &[&str]) -> seriatim_printer::Result<String> {
    let json = json!({"what": "module", "name": "test", "declarations": declarations}).to_string();
    let sources = source.iter().map(|text| Source { path: "test.v".to_owned(), text: (*text).to_owned() });
    print(&json, &["f".to_owned()], &sources.collect::<Vec<_>>())
}

/// Why `f` is refused.
pub fn refused(declarations: &[Value]) -> Reason {
    print_with(declarations, &[]).unwrap_err().reason
}
