(* One replica alone: from its first step on, fed any events whatsoever. The theorems on bounds, on the order of deliveries and
   on restarts are about these runs; they ask nothing of the network or of the other replicas, who may lie. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model.
Local Open Scope N_scope.

(* For proofs by cases over the handlers: booleans of their guards as propositions. *)
Ltac guards :=
  repeat match goal with
  | H : _ && _ = true |- _ => apply andb_true_iff in H as [? ?]
  | H : negb _ = true |- _ => apply negb_true_iff in H
  | H : (_ <? _) = true |- _ => apply N.ltb_lt in H
  | H : (_ <? _) = false |- _ => apply N.ltb_ge in H
  | H : (_ <=? _) = true |- _ => apply N.leb_le in H
  | H : (_ <=? _) = false |- _ => apply N.leb_gt in H
  | H : (_ =? _) = true |- _ => apply N.eqb_eq in H
  | H : (_ =? _) = false |- _ => apply N.eqb_neq in H
  end.

(* The message that an output sends. *)
Definition message_of (o : output) : option message :=
  match o with Output_Send _ m | Output_Broadcast m => Some m | _ => None end.

Section run.
Context (c : config) (self : replica).

(* The state after some events, and everything put out on the way. *)
Fixpoint run (s : state) (es : list event) : state * list output :=
  match es with
  | [] => (s, [])
  | e :: es =>
    let '(s1, outs) := step c self e s in
    let '(s2, outs') := run s1 es in
    (s2, outs ++ outs')
  end.

Definition state_after (es : list event) : state := (run init es).1.
Definition outputs_after (es : list event) : list output := (run init es).2.
(* What the next event puts out. *)
Definition step_outputs (es : list event) (e : event) : list output := (step c self e (state_after es)).2.

Lemma run_app s es es' :
  run s (es ++ es') = ((run (run s es).1 es').1, (run s es).2 ++ (run (run s es).1 es').2).
Proof.
  revert s. induction es as [|e es IH]; intros s; cbn.
  - by destruct (run s es').
  - destruct (step c self e s) as [s1 outs]. rewrite IH. destruct (run s1 es) as [s2 outs2]; cbn.
    destruct (run s2 es') as [s3 outs3]; cbn. by rewrite assoc_L by apply _.
Qed.

Lemma state_after_snoc es e : state_after (es ++ [e]) = (step c self e (state_after es)).1.
Proof. unfold state_after. rewrite run_app. cbn. by destruct (step _ _ _ _). Qed.

Lemma outputs_after_snoc es e : outputs_after (es ++ [e]) = outputs_after es ++ step_outputs es e.
Proof.
  unfold outputs_after, step_outputs, state_after. rewrite run_app. cbn.
  destruct (step _ _ _ _) as [s outs]; cbn. by rewrite app_nil_r.
Qed.

(* What holds at first and is kept by each step holds of all runs. *)
Lemma run_invariant (P : state → Prop) :
  P init → (∀ e s, P s → P (step c self e s).1) → ∀ es, P (state_after es).
Proof.
  intros H0 HS es. induction es as [|e es IH] using rev_ind; [done|]. rewrite state_after_snoc. auto.
Qed.
End run.
