(* Why snapshots must be true: if a service gives another state than its own, there is no one log.

   The run is that of ExampleSnapshot.v, with another service: any value takes it to the state x. At instance 1 the service of
   replica 1 is in x; it gives the blank image as its snapshot, 2 installs it, and is in another state at the same instance. So
   [honest] cannot be left out of [one_log] and [log_grows]. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network Crash SafetyChosen Service Example ExampleSnapshot.
Local Open Scope N_scope.

Theorem a_false_snapshot_divides (v : value) (x : image) (apply := λ (_ : image) (_ : value), x) :
  ∃ w, occurs three w ∧ was_in apply (story w) 1 1 x ∧ was_in apply (story w) 2 1 blank.
Proof.
  exists (foldl (happen three) new_cluster (run_on v)). split; [apply all_occur|].
  split; apply was_in_all; by vm_compute.
Qed.
