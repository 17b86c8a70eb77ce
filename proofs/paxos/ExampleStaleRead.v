(* Why reads go through the log: a replica's own state may be old.

   In the run of Example.v replica 1 has delivered a value, and its service is in x; whoever was answered there knows of the value.
   At the same time replica 2 has been handed nothing, and whoever looked at its service would find its first state. So an answer
   from a replica's own state, past the log, is not in the order of [linearizable]. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network Crash SafetyChosen Service Example ExampleSnapshot.
Local Open Scope N_scope.

Theorem a_state_is_old (v : value) (x : image) (apply := λ (_ : image) (_ : value), x) :
  ∃ w, occurs three w ∧ was_in apply (story w) 1 1 x ∧ served apply (outputs_of 2 (story w)) = (0, blank).
Proof.
  exists (foldl (happen three) new_cluster (run v)). split; [apply all_occur|].
  split; [apply was_in_all|]; by vm_compute.
Qed.
