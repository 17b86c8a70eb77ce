(* One replica's deliveries are in order and without holes. The theorems are stated in StatementsOrder.v. *)
From stdpp Require Import gmap list numbers sorting.
Require Import Prim Model PrimFacts Run.
Local Open Scope N_scope.

(* What the service is handed by some outputs: an instance, or a whole state. *)
Inductive handed := Handed (i : instance) (v : value) | Replaced (k : instance) (s : image).
Definition handed_by (o : output) : option handed :=
  match o with
  | Output_Deliver i v => Some (Handed i v)
  | Output_Install k s => Some (Replaced k s)
  | _ => None
  end.

(* [in_order p hs p']: a service that has everything below p is handed hs one by one, each time just the next instance or a state
   that is further on, and then has everything below p'. *)
Inductive in_order : instance → list handed → instance → Prop :=
| in_order_none p : in_order p [] p
| in_order_next p v hs p' : in_order (p + 1) hs p' → in_order p (Handed p v :: hs) p'
| in_order_jump p k s hs p' : p < k → in_order k hs p' → in_order p (Replaced k s :: hs) p'.

Definition instance_of (h : handed) : option instance := match h with Handed i _ => Some i | Replaced _ _ => None end.
Definition is_jump (h : handed) : bool := match h with Handed _ _ => false | Replaced _ _ => true end.

(* --- What follows from the order alone. --------------------------------------------------------------------------------- *)

Lemma in_order_app p hs p' hs' p'' : in_order p hs p' → in_order p' hs' p'' → in_order p (hs ++ hs') p''.
Proof. induction 1; intros; cbn; try constructor; auto. Qed.

Lemma in_order_forward p hs p' : in_order p hs p' → p ≤ p'.
Proof. induction 1; lia. Qed.

(* Instances only rise, so none comes twice. *)
Lemma in_order_sorted p hs p' :
  in_order p hs p' → StronglySorted N.lt (omap instance_of hs) ∧ ∀ i, i ∈ omap instance_of hs → p ≤ i.
Proof.
  induction 1 as [p|p v hs p' _ [IH HF]|p k s hs p' Hk _ [IH HF]]; csimpl.
  - split; [constructor|]. by intros i ?%elem_of_nil.
  - split.
    + constructor; [done|]. apply Forall_forall. intros i ?%HF. lia.
    + intros i [->|?%HF]%elem_of_cons; lia.
  - split; [done|]. intros i ?%HF. lia.
Qed.

Lemma sorted_nodup (l : list N) : StronglySorted N.lt l → NoDup l.
Proof.
  induction 1 as [|x l _ IH HF]; constructor; [|done].
  intros Hx. rewrite Forall_forall in HF. specialize (HF x Hx). lia.
Qed.

Lemma in_order_once p hs p' : in_order p hs p' → NoDup (omap instance_of hs).
Proof. intros H. by apply sorted_nodup, (in_order_sorted p hs p'). Qed.

(* Every instance that the service has passed was handed to it, or is in a state that was. *)
Lemma in_order_complete p hs p' i :
  in_order p hs p' → p ≤ i < p' → (∃ v, Handed i v ∈ hs) ∨ (∃ k s, Replaced k s ∈ hs ∧ i < k).
Proof.
  induction 1 as [p|p v hs p' _ IH|p k s hs p' Hk _ IH]; intros Hi.
  - lia.
  - destruct (decide (i = p)) as [->|]; [left; exists v; left|].
    destruct IH as [[v' H]|(k & s & H & ?)]; [lia|left; exists v'; by right|].
    right. exists k, s. split; [by right|done].
  - destruct (decide (i < k)); [right; exists k, s; split; [left|done]|].
    destruct IH as [[v' H]|(k' & s' & H & ?)]; [lia|left; exists v'; by right|].
    right. exists k', s'. split; [by right|done].
Qed.

(* Without a jump: all of them, one after the other. *)
Lemma in_order_all p hs p' :
  in_order p hs p' → Forall (λ h, is_jump h = false) hs → omap instance_of hs = n_range p p'.
Proof.
  induction 1 as [p|p v hs p' HO IH|p k s hs p' Hk _ IH]; intros HF.
  - by rewrite n_range_empty.
  - apply Forall_cons in HF as [_ HF]. apply in_order_forward in HO.
    csimpl. by rewrite (IH HF), (n_range_cons p p') by lia.
  - by apply Forall_cons in HF as [? _].
Qed.

(* --- One step, and so every run, is in order. --------------------------------------------------------------------------- *)

Section steps.
Context (c : config) (self : replica).

Lemma executed_learned ds s : executed (fold_left (learn c) ds s) = executed s.
Proof. revert s. induction ds as [|d ds IH]; intros s; cbn; [done|]. rewrite IH. unfold learn. by case_match. Qed.

Lemma nothing_handed b lo hi m : omap handed_by (reproposals b lo hi m) = [].
Proof. unfold reproposals. by induction (n_range lo hi). Qed.

Lemma step_in_order e s : in_order (executed s) (omap handed_by (step c self e s).2) (executed (step c self e s).1).
Proof.
  destruct e as [src m| | | | | | |]; [destruct m| | | | | | |]; cbn.
  all: unfold on_prepare, on_promise, on_propose, accept, on_accept, on_commit, on_ballot, on_query, on_learned, on_snapshot,
    on_forward, on_request, propose, on_suspect, on_heartbeat, on_execute, on_catch_up, on_taken, on_truncate.
  all: repeat case_match; cbn; rewrite ?nothing_handed, ?executed_learned; try apply in_order_none.
  - apply in_order_jump; [|apply in_order_none]. by apply N.ltb_lt.
  - apply in_order_next, in_order_none.
Qed.

Lemma run_in_order s es : in_order (executed s) (omap handed_by (run c self s es).2) (executed (run c self s es).1).
Proof.
  revert s. induction es as [|e es IH]; intros s; cbn; [apply in_order_none|].
  pose proof (step_in_order e s) as H. destruct (step c self e s) as [s1 outs]; cbn in H.
  specialize (IH s1). destruct (run c self s1 es) as [s2 outs']; cbn in *.
  rewrite omap_app. by eapply in_order_app.
Qed.
End steps.
