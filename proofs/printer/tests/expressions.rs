//! How expressions are printed.

mod coq;

use coq::*;
use serde_json::Value;

/// The body of `f`, whose parameters are the numbers x and y and the truth values p and q.
fn body(result: Value, expression: Value) -> String {
    let parameters = [("x", ty("n")), ("y", ty("n")), ("p", ty("bool")), ("q", ty("bool"))];
    let text = printed(&[function("f", &parameters, result, expression)]);
    text[text.find('{').unwrap() + 1..text.len() - 1].trim().to_owned()
}

#[test]
fn binary_numbers() {
    let six = make("Npos", &[make("XO", &[make("XI", &[make("XH", &[])])])]);
    assert_eq!(body(ty("n"), six), "6");
    assert_eq!(body(ty("n"), make("N0", &[])), "0");
}

#[test]
fn operators_have_the_parentheses_that_they_need() {
    let less = || apply("n_ltb", &[var("x"), var("y")]);
    let both = |a, b| apply("andb", &[a, b]);
    let either = |a, b| apply("orb", &[a, b]);
    assert_eq!(body(ty("bool"), both(both(less(), var("p")), var("q"))), "x < y && p && q");
    assert_eq!(body(ty("bool"), both(var("p"), both(var("q"), var("p")))), "p && (q && p)");
    assert_eq!(body(ty("bool"), both(either(var("p"), var("q")), less())), "(p || q) && x < y");
    assert_eq!(body(ty("bool"), either(both(var("p"), var("q")), less())), "p && q || x < y");
    assert_eq!(body(ty("bool"), apply("negb", &[apply("n_eqb", &[var("x"), var("y")])])), "!(x == y)");
    assert_eq!(body(ty("bool"), apply("negb", &[var("p")])), "!p");
    assert_eq!(body(ty("bool"), apply("n_leb", &[var("x"), apply("n_add", &[var("y"), one()])])), "x <= n_add(y, 1)");
}

#[test]
fn branches_chain() {
    let chain = branch(var("p"), var("x"), branch(var("q"), var("y"), one()));
    assert_eq!(body(ty("n"), chain), "if p { x } else if q { y } else { 1 }");
    let swapped = case(var("p"), &[arm("False", &[], var("y")), arm("_", &[], var("x"))]);
    assert_eq!(body(ty("n"), swapped), "if p { x } else { y }");
}

#[test]
fn lets_are_statements_and_nested_ones_are_flattened() {
    let inner = bind("a", var("x"), apply("n_add", &[var("a"), one()]));
    assert_eq!(body(ty("n"), bind("b", inner, var("b"))), "let a = x; let b = n_add(a, 1); b");
}

#[test]
fn a_nested_let_that_would_hide_a_variable_is_not_flattened() {
    let inner = bind("x", var("y"), var("x"));
    let outer = bind("b", inner, apply("n_add", &[var("b"), var("x")]));
    assert_eq!(body(ty("n"), outer), "let b = { let x = y; x }; n_add(b, x)");
}

#[test]
fn options_lists_and_pairs_are_made() {
    assert_eq!(body(of("option", &[ty("n")]), make("Some", &[var("x")])), "Some(x)");
    assert_eq!(body(of("option", &[ty("n")]), make("None", &[])), "None");
    assert_eq!(body(of("list", &[ty("n")]), list(&[var("x"), one()])), "vec![x, 1]");
    assert_eq!(body(of("prod", &[ty("n"), ty("bool")]), make("Pair", &[var("x"), make("True", &[])])), "(x, true)");
    let appended = apply("list_append", &[list(&[var("x")]), list(&[])]);
    assert_eq!(body(of("list", &[ty("n")]), appended), "list_append(vec![x], vec![])");
}

#[test]
fn constants_are_calls() {
    assert_eq!(body(ty("value"), global("noop")), "noop()");
    let text = printed(&[function("zero", &[], ty("n"), make("N0", &[])), function("f", &[], ty("n"), global("zero"))]);
    assert!(text.ends_with("pub fn f() -> u64 { zero() }"), "{text}");
}

#[test]
fn matches_bind_what_their_arms_use() {
    let message = inductive(
        "message",
        &[("Message_Stop", &[]), ("Message_Go", &[ty("n"), ty("n")]), ("Message_Back", &[ty("n")])],
    );
    let arms =
        [arm("Message_Go", &["a", "_"], var("a")), arm("Message_Back", &["_"], one()), arm("_", &[], make("N0", &[]))];
    let text = printed(&[message, function("f", &[("m", ty("message"))], ty("n"), case(var("m"), &arms))]);
    assert!(text.ends_with("match m { Message::Go(a, _) => a, Message::Back(..) => 1, _ => 0, } }"), "{text}");
}

#[test]
fn map_and_fold_take_lambdas_and_functions() {
    let numbers = || apply("n_range", &[var("x"), var("y")]);
    let next = lambda(&["i"], apply("n_add", &[var("i"), var("x")]));
    assert_eq!(
        body(of("list", &[ty("n")]), apply("list_map", &[next, numbers()])),
        "n_range(x, y).into_iter().map(|i| n_add(i, x)).collect::<Vec<_>>()"
    );
    let sum = function("sum", &[("a", ty("n")), ("b", ty("n"))], ty("n"), apply("n_add", &[var("a"), var("b")]));
    let total = apply("list_fold_left", &[global("sum"), list(&[var("x")]), make("N0", &[])]);
    let text = printed(&[sum, function("f", &[("x", ty("n"))], ty("n"), total)]);
    assert!(text.ends_with("{ vec![x].into_iter().fold(0, sum) }"), "{text}");
}

#[test]
fn a_function_that_lacks_its_last_arguments_becomes_a_closure() {
    let sum = ["k", "a", "b"].map(|name| (name, ty("n")));
    let sum = function("sum", &sum, ty("n"), apply("n_add", &[var("k"), apply("n_add", &[var("a"), var("b")])]));
    // What is given is called as one of the parameters that lack: it must not be captured.
    let total = apply("list_fold_left", &[apply("sum", &[var("a")]), list(&[var("a")]), one()]);
    let text = printed(&[sum, function("f", &[("a", ty("n"))], ty("n"), total)]);
    assert!(text.ends_with("{ vec![a].into_iter().fold(1, |a_prime, b| sum(a, a_prime, b)) }"), "{text}");
}

#[test]
fn names_that_rust_reserves_or_lacks_are_changed() {
    let sum = apply("n_add", &[var("self"), apply("n_add", &[var("b'"), var("type")])]);
    let parameters = [("self", ty("n")), ("b'", ty("n")), ("type", ty("n"))];
    let text = printed(&[function("f", &parameters, ty("n"), sum)]);
    assert!(
        text.ends_with("(self_id: u64, b_prime: u64, type_: u64) -> u64 { n_add(self_id, n_add(b_prime, type_)) }"),
        "{text}"
    );
}

#[test]
fn a_variable_that_coq_has_renamed_after_a_type_has_its_own_name() {
    let n = alias("n", json_axiom());
    let text = printed(&[n.clone(), function("f", &[("n0", ty("bool"))], ty("bool"), var("n0"))]);
    assert!(text.ends_with("pub fn f(n: bool) -> bool { n }"), "{text}");
    let both = function("f", &[("n0", ty("bool")), ("n", ty("bool"))], ty("bool"), var("n0"));
    assert!(printed(&[n, both]).ends_with("pub fn f(n0: bool, _n: bool) -> bool { n0 }"));
}

fn json_axiom() -> Value {
    serde_json::json!({"what": "type:axiom"})
}

#[test]
fn only_roots_are_public() {
    let g = function("g", &[], ty("n"), one());
    let text = printed(&[g, function("f", &[], ty("n"), global("g"))]);
    assert!(text.starts_with("fn g() -> u64 { 1 } /// `f` of the model. pub fn f() -> u64 { g() }"), "{text}");
}
