(* Sessions: each request is executed at most once, and those of one session in the order in which it numbered them.

   The functions are those of Sessions.v, which are printed as Rust and run. *)
From stdpp Require Import gmap list numbers.
Require Import Prim PrimFacts Model Sessions SessionsProof Requests.
Local Open Scope N_scope.

(* Sessions are opened, forgotten and asked to admit requests in any order, with any numbers ([operation], SessionsProof.v). *)
Section operations.
Context (ops : list operation).
(* Each operation with its answer, in order of time, and the state in the end. *)
Let h := (perform_all ops no_sessions).2.
Let s := (perform_all ops no_sessions).1.

(* No request is fresh twice. [fresh h] are those that were, as pairs of session and number. *)
Theorem fresh_once : NoDup (fresh h).
Proof. exact (ex_once _ _ (explains_run ops)). Qed.

(* Those of one session are 1, 2, 3, ..., k for some k. *)
Theorem fresh_consecutive id : ∃ k, fresh_of id (fresh h) = n_range 1 (k + 1).
Proof. exact (fresh_range ops id). Qed.

(* The sessions opened are 1, 2, 3, ..., so none is opened again once it was forgotten. *)
Theorem opened_consecutive : omap opened_id h = n_range 1 (opened s + 1).
Proof. exact (ex_opened _ _ (explains_run ops)). Qed.
Theorem opened_once : NoDup (omap opened_id h).
Proof. exact (opened_nodup ops). Qed.
End operations.

(* What is executed of the batches that are delivered as the instances 0, 1, 2, ... What a request is, which ones a batch holds
   as which instance, which sessions are forgotten at which request, and which requests are turned away (they do not come from
   whoever opened the session) does not matter, as long as all of it is a function of what was delivered so far: [requests i v]
   are the requests of v as instance i; if [past] are all requests before r, executed or not, [forgets past r] are the sessions
   that are forgotten before r is looked at, and [refuses past r] says that r, if it is a call, is turned away as
   foreign ([take_turn], Sessions.v, whose first argument is the contrary). *)
Section requests.
Context {request : Type} (demand_of : request → demand) (requests : instance → value → list request).
Context (forgets : list request → request → list session) (refuses : list request → request → bool).
Let executed := executed_requests demand_of requests forgets refuses.

(* Requests are executed in the order in which they were delivered, if at all; *)
Theorem executed_in_order batches : executed batches `sublist_of` requests_in requests 0 batches.
Proof. exact (executed_from_sublist demand_of forgets refuses no_sessions [] (requests_in requests 0 batches)). Qed.

(* no number of a session twice, so no request twice; *)
Theorem executed_calls_once batches : NoDup (omap (call_of demand_of) (executed batches)).
Proof. exact (executed_once demand_of requests forgets refuses batches). Qed.
Theorem executed_requests_once batches : NoDup (executed batches).
Proof. exact (executed_distinct demand_of requests forgets refuses batches). Qed.

(* those of one session as 1, 2, 3, ..., k; *)
Theorem executed_calls_consecutive batches id :
  ∃ k, fresh_of id (omap (call_of demand_of) (executed batches)) = n_range 1 (k + 1).
Proof. exact (executed_consecutive demand_of requests forgets refuses batches id). Qed.

(* and who has been delivered more has executed the same before. *)
Theorem executed_grows batches more : executed batches `prefix_of` executed (batches ++ more).
Proof. exact (executed_prefix demand_of requests forgets refuses batches _ (ex_intro _ more eq_refl)). Qed.
End requests.

Print Assumptions fresh_once.
Print Assumptions fresh_consecutive.
Print Assumptions opened_consecutive.
Print Assumptions opened_once.
Print Assumptions executed_in_order.
Print Assumptions executed_calls_once.
Print Assumptions executed_requests_once.
Print Assumptions executed_calls_consecutive.
Print Assumptions executed_grows.
