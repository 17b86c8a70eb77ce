//! How types are printed.

mod coq;

use coq::*;

fn type_of(ty: serde_json::Value) -> String {
    let text = printed(&[function("f", &[("x", ty), ("y", coq::ty("n"))], coq::ty("n"), var("y"))]);
    let (_, rest) = text.split_once("_x: ").unwrap();
    rest.split_once(", y:").unwrap().0.to_owned()
}

#[test]
fn numbers_and_truth_values() {
    assert_eq!(type_of(ty("n")), "u64");
    assert_eq!(type_of(ty("bool")), "bool");
}

#[test]
fn options_lists_and_pairs() {
    assert_eq!(type_of(of("option", &[ty("n")])), "Option<u64>");
    assert_eq!(type_of(of("list", &[of("prod", &[ty("n"), ty("bool")])])), "Vec<(u64, bool)>");
}

#[test]
fn the_types_of_the_primitives() {
    assert_eq!(type_of(ty("value")), "Value");
    assert_eq!(type_of(of("imap", &[ty("image")])), "InstanceMap<Image>");
    assert_eq!(type_of(of("smap", &[ty("nset")])), "SessionMap<ReplicaSet>");
}

#[test]
fn another_name_of_a_type_is_kept() {
    let text = printed(&[alias("ballot", ty("n")), function("f", &[("b", ty("ballot"))], ty("ballot"), var("b"))]);
    assert!(text.contains("pub type Ballot = u64;"), "{text}");
    assert!(text.contains("pub fn f(b: Ballot) -> Ballot { b }"), "{text}");
}

#[test]
fn an_enumeration_loses_its_prefix_and_is_copy_if_all_parts_are() {
    let message = inductive("message", &[("Message_Stop", &[]), ("Message_Go", &[ty("n"), ty("bool")])]);
    let text = printed(&[message, function("f", &[("x", ty("message"))], ty("message"), var("x"))]);
    assert!(text.contains("#[derive(Debug, Clone, Copy, PartialEq, Eq)] pub enum Message {"), "{text}");
    assert!(text.contains("Stop, /// `Go`. Go(u64, bool), }"), "{text}");
}

#[test]
fn a_record_loses_its_prefix_and_is_clone_if_a_part_is() {
    let record = inductive("entry", &[("Entry", &[ty("value"), ty("n")])]);
    let first = |from| case(from, &[arm("Entry", &["entry_value", "_"], var("entry_value"))]);
    let second = |from| case(from, &[arm("Entry", &["_", "count"], var("count"))]);
    let body = make("Pair", &[first(var("e")), second(var("e"))]);
    let text = printed(&[record, function("f", &[("e", ty("entry"))], of("prod", &[ty("value"), ty("n")]), body)]);
    assert!(text.contains("#[derive(Debug, Clone, PartialEq, Eq)] pub struct Entry {"), "{text}");
    assert!(text.contains("pub value: Value,") && text.contains("pub count: u64,"), "{text}");
    assert!(text.contains("{ (e.value, e.count) }"), "{text}");
}

#[test]
fn a_record_with_a_map_is_not_clone() {
    let text = printed(&[state(), all_fields(), function("f", &[("s", ty("state"))], ty("state"), var("s"))]);
    assert!(text.contains("#[derive(Debug, PartialEq, Eq)] pub struct State"), "{text}");
}

#[test]
fn a_record_that_coq_has_renamed_has_its_constructors_name() {
    let record = inductive("decision0", &[("Decision", &[ty("n")])]);
    let read = case(var("d"), &[arm("Decision", &["decision_at"], var("decision_at"))]);
    let text = printed(&[record, function("f", &[("d", ty("decision0"))], ty("n"), read)]);
    assert!(text.contains("pub struct Decision { /// `at` of the model's decision. pub at: u64, }"), "{text}");
    assert!(text.contains("pub fn f(d: Decision) -> u64 { d.at }"), "{text}");
}

#[test]
fn a_field_that_coq_has_renamed_somewhere_has_its_own_name() {
    let renamed = case(var("s"), &[arm("State", &["low0", "_", "_"], var("low0"))]);
    let text = printed(&[state(), all_fields(), function("f", &[("s", ty("state"))], ty("n"), renamed)]);
    assert!(text.contains("pub fn f(s: &State) -> u64 { s.low }"), "{text}");
}

#[test]
fn types_that_are_not_reached_are_not_printed() {
    let text = printed(&[inductive("message", &[("Stop", &[]), ("Go", &[])]), function("f", &[], ty("n"), one())]);
    assert!(!text.contains("Message"), "{text}");
}
