(* There is one log: every state that any service was ever in is what some first part of it makes of the first state. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network SafetyChosen Crash CrashSafety Service SnapshotSafety Sessions SessionsProof Requests.
Local Open Scope N_scope.

Section log.
Context (c : config) (apply : image → value → image) (w : cluster).
Context (occurred : occurs c w) (true_snapshots : honest apply (story w)).
Notation h := (story w).
Let S := occurs_images c apply w occurred true_snapshots.

(* --- States of services and snapshots. -------------------------------------------------------------------------- *)

Lemma was_in_folds a k x : was_in apply h a k x → folds apply c h k x.
Proof. intros (outs & Ho & E). pose proof (s_served _ _ _ S a outs Ho) as H. by rewrite E in H. Qed.

Lemma installed_was_in a k x : emitted h a (Output_Install k x) → was_in apply h a k x.
Proof.
  intros (l & l' & E)%emitted_outputs%elem_of_list_split. exists (l ++ [Output_Install k x]). split.
  - exists l'. by rewrite E, <- assoc_L by apply _.
  - unfold served. by rewrite foldl_app.
Qed.
Lemma installed_folds a k x : emitted h a (Output_Install k x) → folds apply c h k x.
Proof. intros H. by eapply was_in_folds, installed_was_in. Qed.
Lemma sent_folds a k x : sent h a (Message_Snapshot k x) → folds apply c h k x.
Proof. apply (s_sent _ _ _ S a k x). Qed.
Lemma kept_folds a : let s := live (machine_of w a) in folds apply c h (snapshot_at s) (snapshot s).
Proof. exact (s_live c apply w a occurred S). Qed.

(* --- Two first parts of the log. -------------------------------------------------------------------------------- *)

Lemma log_prefix_agree vs vs' : log_prefix c h vs → log_prefix c h vs' → (length vs ≤ length vs')%nat →
  vs = take (length vs) vs'.
Proof.
  intros H H' Hle. apply list_eq. intros i. destruct (decide (i < length vs)%nat) as [Hi|Hi].
  - rewrite lookup_take by done. destruct (lookup_lt_is_Some_2 vs i) as [v Hv]; [done|].
    destruct (lookup_lt_is_Some_2 vs' i) as [v' Hv']; [lia|]. rewrite Hv, Hv'. f_equal.
    eapply (crash_chosen_agreement c w occurred (N.of_nat i)); auto.
  - rewrite lookup_take_ge by lia. apply lookup_ge_None. lia.
Qed.

(* --- The longest. ----------------------------------------------------------------------------------------------- *)

Lemma longest (ps : list (instance * image)) : (∀ p, p ∈ ps → folds apply c h p.1 p.2) →
  ∃ vs, log_prefix c h vs ∧ ∀ p, p ∈ ps → (N.to_nat p.1 ≤ length vs)%nat.
Proof.
  induction ps as [|[k x] ps IH]; intros Hps.
  - exists []. split; [by intros i v ?|by intros p ?%elem_of_nil].
  - destruct IH as (vs & Hvs & Hlen); [intros q ?; apply Hps; by right|].
    destruct (Hps (k, x) (elem_of_list_here _ _)) as (vs' & Hvs' & Hlen' & _). simpl in Hlen'.
    destruct (decide (length vs ≤ length vs')%nat).
    + exists vs'. split; [done|]. intros q [->|Hq]%elem_of_cons; [simpl; lia|]. specialize (Hlen q Hq). lia.
    + exists vs. split; [done|]. intros q [->|Hq]%elem_of_cons; [simpl; lia|auto].
Qed.

(* All states that services were in: those of replicas that have acted. *)
Definition states : list (instance * image) :=
  (actor <$> h) ≫= λ a, (λ j, served apply (take j (outputs_of a h))) <$> seq 0 (Datatypes.S (length (outputs_of a h))).

Lemma was_in_states a k x : was_in apply h a k x → (k, x) ∈ states ∨ k = 0.
Proof.
  intros (outs & [l E] & Hs). destruct (decide (a ∈ actor <$> h)) as [Ha|Ha].
  - left. apply elem_of_list_bind. exists a. split; [|done]. apply elem_of_list_fmap. exists (length outs).
    rewrite E, app_length. split; [by rewrite take_app|]. apply elem_of_seq. lia.
  - right. assert (outs = []) as ->; [|by injection Hs].
    destruct outs as [|o outs]; [done|]. destruct Ha.
    assert (emitted h a o) as (y & Hy & <- & _) by (apply emitted_outputs; rewrite E; by left).
    apply elem_of_list_fmap. by exists y.
Qed.
Lemma states_folds p : p ∈ states → folds apply c h p.1 p.2.
Proof.
  intros (a & (j & -> & _)%elem_of_list_fmap & _)%elem_of_list_bind.
  apply (s_served _ _ _ S a). exists (drop j (outputs_of a h)). by rewrite take_drop.
Qed.

Theorem one_log : ∃ vs, log_prefix c h vs ∧
  ∀ a k x, was_in apply h a k x → k ≤ N.of_nat (length vs) ∧ x = replays apply (take (N.to_nat k) vs).
Proof.
  destruct (longest states states_folds) as (vs & Hvs & Hlen). exists vs. split; [done|]. intros a k x Hin.
  assert (Hk : k ≤ N.of_nat (length vs)).
  { destruct (was_in_states a k x Hin) as [H| ->]; [specialize (Hlen _ H); simpl in Hlen; lia|lia]. }
  split; [done|]. destruct (was_in_folds a k x Hin) as (vs' & Hvs' & Hlen' & ->).
  rewrite (log_prefix_agree vs' vs) by (done || lia). do 2 f_equal. lia.
Qed.

(* With sessions: the requests that are executed of the log are a log of requests. *)
Theorem one_request_log {request : Type} (demand_of : request → demand) (requests : instance → value → list request)
    (forgets : list request → request → list session) (refuses : list request → request → bool)
    (executed := executed_requests demand_of requests forgets refuses) :
  ∃ vs, log_prefix c h vs ∧ NoDup (executed vs) ∧ NoDup (omap (call_of demand_of) (executed vs)) ∧
  ∀ a k x, was_in apply h a k x → ∃ batches, batches `prefix_of` vs ∧ N.of_nat (length batches) = k ∧
    x = replays apply batches ∧ executed batches `prefix_of` executed vs.
Proof.
  destruct one_log as (vs & Hvs & Hall). exists vs. split_and!; [done|apply executed_distinct|apply executed_once|].
  intros a k x Hin. destruct (Hall a k x Hin) as [Hk Hx].
  assert (Hp : take (N.to_nat k) vs `prefix_of` vs) by (exists (drop (N.to_nat k) vs); by rewrite take_drop).
  exists (take (N.to_nat k) vs). split_and!; [done|rewrite take_length; lia|done|by apply executed_prefix].
Qed.
End log.
