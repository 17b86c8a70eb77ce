//! What lies outside the fragment, and by what name it is refused.

mod coq;

use coq::*;
use serde_json::{Value, json};
use seriatim_printer::{Reason, print, roots};

/// `f` of two numbers with a body.
fn body(expression: Value) -> Value {
    function("f", &[("x", ty("n")), ("y", ty("n"))], ty("n"), expression)
}

#[test]
fn what_is_not_json_of_coq() {
    assert!(matches!(print("{}", &[], &[]).unwrap_err().reason, Reason::Unreadable(_)));
}

#[test]
fn a_file_without_roots() {
    assert_eq!(roots("Extraction Language JSON.").unwrap_err().reason, Reason::NoRoots);
    assert_eq!(roots("Extraction \"m.json\" init\n  step'.\n").unwrap(), ["init", "step'"]);
}

#[test]
fn a_name_that_is_not_declared() {
    assert_eq!(refused(&[]), Reason::Undeclared("f".into()));
    assert_eq!(refused(&[body(apply("g", &[var("x")]))]), Reason::Undeclared("g".into()));
    assert_eq!(refused(&[body(make("Strange", &[]))]), Reason::Undeclared("Strange".into()));
}

#[test]
fn a_function_that_calls_itself() {
    let loops = json!({"what": "decl:fixgroup", "fixlist": [{"what": "fixgroup:item", "name": "g"}]});
    assert_eq!(refused(&[loops, body(apply("g", &[var("x")]))]), Reason::Recursion("g".into()));
    assert_eq!(refused(&[body(json!({"what": "expr:fix", "funcs": []}))]), Reason::Expression);
}

#[test]
fn a_type_that_contains_itself() {
    let tree = inductive("tree", &[("Leaf", &[]), ("Node", &[ty("tree"), ty("tree")])]);
    assert_eq!(refused(&[tree, function("f", &[("t", ty("tree"))], ty("n"), one())]), Reason::Recursion("tree".into()));
}

#[test]
fn a_type_with_parameters() {
    let mut either = inductive("either", &[("Left", &[ty("n")]), ("Right", &[ty("n")])]);
    either["argnames"] = json!(["A"]);
    assert_eq!(refused(&[either, function("f", &[("e", ty("either"))], ty("n"), one())]), Reason::Polymorphic);
}

#[test]
fn a_type_without_a_counterpart() {
    assert_eq!(refused(&[function("f", &[("x", ty("nat"))], ty("n"), one())]), Reason::UnknownType("nat".into()));
    let boxed = function("f", &[("x", of("box", &[ty("n")]))], ty("n"), one());
    assert_eq!(refused(&[boxed]), Reason::UnknownType("box".into()));
    let takes_function = function("f", &[("g", arrow(&[ty("n")], ty("n")))], ty("n"), one());
    assert_eq!(refused(&[takes_function]), Reason::UnknownType("of a function".into()));
}

#[test]
fn a_field_that_nobody_reads() {
    let pick = function("f", &[("s", ty("state"))], ty("n"), field("low", var("s")));
    assert_eq!(refused(&[state(), pick]), Reason::UnnamedField(1));
}

#[test]
fn a_constructor_with_an_underscore_of_its_own() {
    let role = inductive("role", &[("To_Lead", &[]), ("To_Follow", &[])]);
    let f = function("f", &[("r", ty("role"))], ty("role"), var("r"));
    assert_eq!(refused(&[role, f]), Reason::ConstructorName("To_Lead".into()));
}

#[test]
fn two_variables_of_one_name_in_rust() {
    let f = function("f", &[("b'", ty("n"))], ty("n"), bind("b_prime", one(), var("b'")));
    assert_eq!(refused(&[f]), Reason::SameName("b_prime".into()));
}

#[test]
fn fewer_parameters_than_arrows() {
    let mut f = body(one());
    f["value"] = lambda(&["x"], one());
    assert_eq!(refused(&[f]), Reason::MissingParameters);
    let mut f = body(one());
    f["value"] = lambda(&["x", "y", "z"], one());
    assert_eq!(refused(&[f]), Reason::MissingParameters);
}

#[test]
fn functions_as_values() {
    assert_eq!(refused(&[body(lambda(&["z"], var("z")))]), Reason::HigherOrder);
    assert_eq!(refused(&[body(global("n_add"))]), Reason::HigherOrder);
    let applied = json!({"what": "expr:apply", "func": var("x"), "args": [var("y")]});
    assert_eq!(refused(&[body(applied)]), Reason::HigherOrder);
    assert_eq!(refused(&[body(apply("list_map", &[var("x"), list(&[var("y")])]))]), Reason::HigherOrder);
    let two = lambda(&["a", "b"], var("a"));
    assert_eq!(refused(&[body(apply("list_map", &[two, list(&[var("y")])]))]), Reason::HigherOrder);
}

#[test]
fn another_number_of_arguments() {
    assert_eq!(refused(&[body(apply("n_add", &[var("x")]))]), Reason::ArgumentCount("n_add".into()));
    assert_eq!(refused(&[body(apply("n_ltb", &[var("x")]))]), Reason::ArgumentCount("n_ltb".into()));
    let g = function("g", &[("a", ty("n"))], ty("n"), var("a"));
    let twice = apply("g", &[var("x"), var("y")]);
    assert_eq!(refused(&[g.clone(), body(twice)]), Reason::ArgumentCount("g".into()));
    let folded = apply("list_fold_left", &[global("g"), list(&[var("x")]), var("y")]);
    assert_eq!(refused(&[g, body(folded)]), Reason::ArgumentCount("g".into()));
}

#[test]
fn a_constructor_without_all_its_arguments() {
    let message = inductive("message", &[("Stop", &[]), ("Go", &[ty("n")])]);
    let made = function("f", &[], ty("message"), make("Go", &[]));
    assert_eq!(refused(&[message.clone(), made]), Reason::ConstructorCount("Go".into()));
    let taken = case(var("m"), &[arm("Go", &["a", "b"], var("a")), arm("Stop", &[], one())]);
    let f = function("f", &[("m", ty("message"))], ty("n"), taken);
    assert_eq!(refused(&[message, f]), Reason::ConstructorCount("Go".into()));
}

#[test]
fn a_field_of_something_that_is_no_variable() {
    let make = function("fresh", &[("s", ty("state"))], ty("state"), var("s"));
    let f = function("f", &[("s", ty("state"))], ty("n"), field("low", apply("fresh", &[var("s")])));
    assert_eq!(refused(&[state(), all_fields(), make, f]), Reason::FieldOfExpression);
    assert_eq!(refused(&[body(apply("fst", &[make_pair()]))]), Reason::FieldOfExpression);
}

fn make_pair() -> Value {
    make("Pair", &[var("x"), var("y")])
}

#[test]
fn a_pattern_that_takes_a_record_or_a_pair_apart() {
    let both = arm("State", &["low", "_", "last"], var("low"));
    let f = function("f", &[("s", ty("state"))], ty("n"), case(var("s"), &[both]));
    assert_eq!(refused(&[state(), all_fields(), f]), Reason::RecordPattern("State".into()));
    let pair = inductive("prod", &[("Pair", &[ty("n"), ty("n")])]);
    let f = body(case(make_pair(), &[arm("Pair", &["a", "b"], var("a"))]));
    assert_eq!(refused(&[pair, f]), Reason::RecordPattern("Pair".into()));
}

#[test]
fn patterns_on_numbers_and_lists() {
    let number = case(var("x"), &[arm("N0", &[], one()), arm("Npos", &["p"], one())]);
    assert_eq!(refused(&[body(number)]), Reason::Pattern("a number".into()));
    let empty = case(list(&[var("x")]), &[arm("Nil", &[], one()), arm("Cons", &["a", "l"], one())]);
    assert_eq!(refused(&[body(empty)]), Reason::Pattern("a list".into()));
    let variable = case(make("None", &[]), &[json!({"pat": {"what": "pat:rel"}, "body": one()})]);
    assert_eq!(refused(&[body(variable)]), Reason::Pattern("a variable".into()));
    let half = case(apply("n_ltb", &[var("x"), var("y")]), &[arm("True", &[], one())]);
    assert_eq!(refused(&[body(half)]), Reason::Pattern("bool".into()));
}

#[test]
fn a_list_with_a_tail_of_its_own() {
    let numbers = of("list", &[ty("n")]);
    let f = function("f", &[("l", numbers.clone())], numbers, make("Cons", &[one(), var("l")]));
    assert_eq!(refused(&[f]), Reason::ListTail);
}

#[test]
fn a_number_beyond_64_bits() {
    let big = (0..64).fold(make("XH", &[]), |number, _| make("XO", &[number]));
    assert_eq!(refused(&[body(make("Npos", &[big]))]), Reason::BigNumber);
}

#[test]
fn a_map_or_a_state_that_is_needed_twice() {
    let s = || [("s", ty("state"))];
    let twice = function("f", &s(), of("prod", &[ty("state"), ty("state")]), make("Pair", &[var("s"), var("s")]));
    assert_eq!(refused(&[state(), all_fields(), twice]), Reason::Copied("s".into()));
    let result = of("prod", &[ty("state"), of("imap", &[ty("value")])]);
    let part = function("f", &s(), result, make("Pair", &[var("s"), field("log", var("s"))]));
    assert_eq!(refused(&[state(), all_fields(), part]), Reason::Copied("s".into()));
    let after = make("Pair", &[var("s"), field("low", var("s"))]);
    let after = function("f", &s(), of("prod", &[ty("state"), ty("n")]), after);
    assert_eq!(refused(&[state(), all_fields(), after]), Reason::Copied("s".into()));
    let captured = apply("list_map", &[lambda(&["i"], var("s")), apply("n_range", &[one(), one()])]);
    let captured = function("f", &s(), of("list", &[ty("state")]), captured);
    assert_eq!(refused(&[state(), all_fields(), captured]), Reason::Copied("s".into()));
}

#[test]
fn a_refusal_says_where() {
    let g = function("g", &[("x", ty("n"))], ty("n"), lambda(&["z"], var("z")));
    let refusal = print_with(&[g, body(apply("g", &[var("x")]))], &[]).unwrap_err();
    assert_eq!(refusal.place, "g");
    assert!(refusal.to_string().starts_with("g: a function as a value"), "{refusal}");
}
