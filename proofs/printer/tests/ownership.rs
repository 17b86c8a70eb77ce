//! Who owns what in the printed text.

mod coq;

use coq::*;
use serde_json::Value;

/// `f` with a state s and a value v.
fn with_state(result: Value, body: Value) -> Vec<Value> {
    vec![state(), all_fields(), function("f", &[("s", ty("state")), ("v", ty("value"))], result, body)]
}

/// The text from `f` on.
fn f_of(declarations: &[Value]) -> String {
    let text = printed(declarations);
    text[text.find("fn f(").unwrap()..].to_owned()
}

fn set(key: Value, value: Value, map: Value) -> Value {
    apply("im_set", &[key, value, map])
}

#[test]
fn a_value_is_cloned_where_it_is_needed_again_and_moved_at_last() {
    let values = function("f", &[("v", ty("value"))], of("list", &[ty("value")]), list(&[var("v"), var("v")]));
    assert_eq!(f_of(&[values]), "fn f(v: Value) -> Vec<Value> { vec![v.clone(), v] }");
}

#[test]
fn each_branch_moves_for_itself() {
    let body = branch(var("p"), var("v"), var("v"));
    let text = f_of(&[function("f", &[("p", ty("bool")), ("v", ty("value"))], ty("value"), body)]);
    assert!(text.ends_with("{ if p { v } else { v } }"), "{text}");
}

#[test]
fn fields_are_moved_one_by_one() {
    let body = make("Pair", &[field("last", var("s")), field("log", var("s"))]);
    let result = of("prod", &[ty("value"), of("imap", &[ty("value")])]);
    let text = f_of(&with_state(result, body));
    assert!(text.contains("s: State") && text.ends_with("{ (s.last, s.log) }"), "{text}");
}

#[test]
fn a_changed_state_takes_the_rest_at_once() {
    let body = state_of(field("low", var("s")), set(one(), var("v"), field("log", var("s"))), field("last", var("s")));
    let text = f_of(&with_state(ty("state"), body));
    assert_eq!(text, "fn f(s: State, v: Value) -> State { State { log: im_set(1, v, s.log), ..s } }");
}

#[test]
fn fields_of_another_struct_are_not_taken_at_once() {
    let other = inductive("other", &[("Other", &[ty("n"), ty("value"), ty("n")])]);
    let names = ["low", "last", "more"];
    let part = |index: usize| {
        let mut bound = ["_"; 3];
        bound[index] = names[index];
        case(var("o"), &[arm("Other", &bound, var(names[index]))])
    };
    let read = make("Pair", &[part(0), make("Pair", &[part(1), part(2)])]);
    let result = of("prod", &[ty("n"), of("prod", &[ty("value"), ty("n")])]);
    let read = function("read", &[("o", ty("other"))], result, read);
    let body = state_of(part(0), global("im_empty"), part(1));
    let f = function("f", &[("o", ty("other"))], ty("state"), body);
    let text = f_of(&[state(), all_fields(), other, read, f]);
    assert!(text.ends_with("State { low: o.low, log: im_empty(), last: o.last } }"), "{text}");
}

#[test]
fn what_is_only_looked_at_is_a_reference() {
    let text = f_of(&with_state(ty("bool"), apply("im_has", &[field("low", var("s")), field("log", var("s"))])));
    assert_eq!(text, "fn f(s: &State, _v: Value) -> bool { im_has(s.low, &s.log) }");
}

#[test]
fn a_reference_is_passed_on_as_it_is() {
    let map = || of("imap", &[ty("value")]);
    let g = function("g", &[("m", map())], ty("bool"), apply("im_has", &[one(), var("m")]));
    let text = f_of(&[g, function("f", &[("m", map())], ty("bool"), apply("g", &[var("m")]))]);
    assert_eq!(text, "fn f(m: &InstanceMap<Value>) -> bool { g(m) }");
}

#[test]
fn a_state_of_which_only_parts_that_can_be_cloned_are_taken_is_a_reference() {
    let text = f_of(&with_state(ty("value"), field("last", var("s"))));
    assert_eq!(text, "fn f(s: &State, _v: Value) -> Value { s.last.clone() }");
}

#[test]
fn a_list_that_is_only_looked_at_is_a_slice() {
    let numbers = of("list", &[of("prod", &[ty("n"), ty("value")])]);
    let add = lambda(&["a", "p"], apply("n_add", &[var("a"), apply("fst", &[var("p")])]));
    let body = apply("list_fold_left", &[add, var("l"), make("N0", &[])]);
    let text = f_of(&[function("f", &[("l", numbers)], ty("n"), body)]);
    assert_eq!(text, "fn f(l: &[(u64, Value)]) -> u64 { l.iter().fold(0, |a, p| n_add(a, p.0)) }");
}

#[test]
fn a_list_of_numbers_that_is_only_looked_at_gives_copies() {
    let body = apply("list_fold_left", &[lambda(&["a", "x"], apply("n_add", &[var("a"), var("x")])), var("l"), one()]);
    let text = f_of(&[function("f", &[("l", of("list", &[ty("n")]))], ty("n"), body)]);
    assert!(text.ends_with("{ l.iter().copied().fold(1, |a, x| n_add(a, x)) }"), "{text}");
}

#[test]
fn a_list_whose_elements_are_taken_is_taken() {
    let body = apply("list_fold_left", &[lambda(&["a", "x"], var("x")), var("l"), global("noop")]);
    let text = f_of(&[function("f", &[("l", of("list", &[ty("value")]))], ty("value"), body)]);
    assert_eq!(text, "fn f(l: Vec<Value>) -> Value { l.into_iter().fold(noop(), |a, x| x) }");
}

#[test]
fn what_a_closure_captures_is_cloned_each_time() {
    let pairs = lambda(&["i"], make("Pair", &[var("i"), var("v")]));
    let body = apply("list_map", &[pairs, apply("n_range", &[one(), one()])]);
    let result = of("list", &[of("prod", &[ty("n"), ty("value")])]);
    let text = f_of(&[function("f", &[("v", ty("value"))], result, body)]);
    assert!(text.starts_with("fn f(v: &Value)") && text.contains("|i| (i, v.clone())"), "{text}");
}

/// `match im_get 1 (log s) with Some x => found | None => noop`.
fn looked_up(found: Value) -> String {
    let get = apply("im_get", &[one(), field("log", var("s"))]);
    let body = case(get, &[arm("Some", &["x"], found), arm("None", &[], global("noop"))]);
    f_of(&with_state(ty("value"), body))
}

#[test]
fn what_a_map_holds_is_cloned_where_all_of_it_is_taken() {
    assert!(looked_up(var("x")).contains("match im_get(1, &s.log).cloned() { Some(x) => x,"));
}

#[test]
fn what_a_map_holds_is_looked_at_where_only_parts_are_used() {
    let map = of("imap", &[of("prod", &[ty("n"), ty("value")])]);
    let get = apply("im_get", &[one(), var("m")]);
    let body = case(get, &[arm("Some", &["x"], apply("snd", &[var("x")])), arm("None", &[], global("noop"))]);
    let text = f_of(&[function("f", &[("m", map)], ty("value"), body)]);
    assert!(text.ends_with("{ match im_get(1, m) { Some(x) => x.1.clone(), None => noop(), } }"), "{text}");
}

#[test]
fn what_a_map_holds_is_copied_where_it_can_be() {
    let get = apply("sm_get", &[one(), var("m")]);
    let body = case(get, &[arm("Some", &["x"], var("x")), arm("None", &[], one())]);
    let text = f_of(&[function("f", &[("m", of("smap", &[ty("n")]))], ty("n"), body)]);
    assert!(text.ends_with("{ match sm_get(1, m).copied() { Some(x) => x, None => 1, } }"), "{text}");
}

#[test]
fn whether_a_map_holds_something_takes_nothing() {
    let get = apply("im_get", &[one(), field("log", var("s"))]);
    let body = case(get, &[arm("Some", &["_"], one()), arm("None", &[], make("N0", &[]))]);
    let text = f_of(&with_state(ty("n"), body));
    assert!(text.contains("match im_get(1, &s.log) { Some(_) => 1,"), "{text}");
}

#[test]
fn an_element_that_no_match_looks_at_is_cloned() {
    let text = f_of(&with_state(of("option", &[ty("value")]), apply("im_get", &[one(), field("log", var("s"))])));
    assert!(text.ends_with("{ im_get(1, &s.log).cloned() }"), "{text}");
}

#[test]
fn a_variable_that_hides_another_is_another() {
    let body = bind("v", bind("w", var("v"), var("w")), list(&[var("v")]));
    let text = f_of(&[function("f", &[("v", ty("value"))], of("list", &[ty("value")]), body)]);
    assert!(text.ends_with("{ let w = v; let v = w; vec![v] }"), "{text}");
}
