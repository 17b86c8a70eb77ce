//! Comments of the model as documentation.

mod coq;

use coq::*;

const SOURCE: &str = "\
(* The file. *)
Definition ballot := N.

(* --- Phase 1. ---------- *)

(* An own vote,
   see [f]. *)
Record entry := Entry {
  entry_count : N;       (* how often *)
  entry_more : N
}.
Inductive role :=
| Follow
| Lead (b : ballot) (lo hi : N)      (* with these *)
| Wait (b : ballot).

(* Takes [Lead] away! *)
Definition f (r : role) : role :=
  match r with
  | Lead b lo hi => Follow (* not documentation *)
  | _ => r
  end.
";

#[test]
fn comments_stand_where_they_stood() {
    let entry = inductive("entry", &[("Entry", &[ty("n"), ty("n")])]);
    let role = inductive("role", &[("Follow", &[]), ("Lead", &[ty("n"), ty("n"), ty("n")]), ("Wait", &[ty("n")])]);
    let part = |names: [&str; 2], name| case(var("e"), &[arm("Entry", &names, var(name))]);
    let sum = apply("n_add", &[part(["entry_count", "_"], "entry_count"), part(["_", "entry_more"], "entry_more")]);
    let g = function("g", &[("e", ty("entry"))], ty("n"), sum);
    let body = bind("x", apply("g", &[make("Entry", &[one(), one()])]), var("r"));
    let f = function("f", &[("r", ty("role"))], ty("role"), body);
    let text = print_with(&[entry, role, g, f], &[SOURCE]).unwrap();
    for expected in [
        "//! Printed from `test.v`, which the proofs are about.",
        "// --- Phase 1.\n\n/// An own vote, see `f`.\n#[derive(Debug, Clone, Copy, PartialEq, Eq)]\npub struct Entry {",
        "/// How often.\npub count: u64,",
        "/// `more` of the model's entry.\npub more: u64,",
        "/// `role` of the model.\n",
        "/// `Follow`.\nFollow,",
        "/// `Lead(b, lo, hi)`: with these.\nLead(u64, u64, u64),",
        "/// `Wait(b)`.\nWait(u64),",
        "/// Takes `Lead` away!\npub fn f(r: Role) -> Role {",
    ] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
}
