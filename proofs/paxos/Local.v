(* In a world that can be reached, each replica is where its own inputs alone take it (Run.v): whatever holds of all runs of
   one replica holds of each replica of the system. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network Run.
Local Open Scope N_scope.

Theorem replica_runs c w a : reach c w →
  state_of w a = state_after c a (inputs_of a (past w)) ∧ outputs_of a (past w) = outputs_after c a (inputs_of a (past w)).
Proof.
  induction 1 as [|w x e s outs _ [IHs IHo] _ Hstep]; [done|].
  simpl past. rewrite inputs_of_cons, outputs_of_cons. simpl. destruct (decide (x = a)) as [->|Hx].
  - rewrite decide_True, state_after_snoc, outputs_after_snoc by done.
    unfold step_outputs. rewrite <- IHs, Hstep. by rewrite IHo.
  - rewrite decide_False by done. by rewrite !app_nil_r.
Qed.
