(* What must wait is performed once, in its order, and only when it may be. The theorems are stated in StatementsRelease.v. *)
From Coq Require Import Sorted.
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network Release.
Local Open Scope N_scope.

Definition must_wait (o : output) : bool :=
  match o with Output_Send _ m | Output_Broadcast m => waits m | _ => false end.

(* What [pass] does, at a glance. *)
Lemma pass_cases o r :
  (∃ x, o = Output_Journal x ∧
    pass o r = ({| numbered := numbered r + 1; synced := synced r; waiting := waiting r |}, Some o)) ∨
  entry_of_journal o = None ∧ must_wait o = true ∧ synced r < numbered r ∧
    pass o r = ({| numbered := numbered r; synced := synced r; waiting := waiting r ++ [Delayed (numbered r) o] |}, None) ∨
  entry_of_journal o = None ∧ (must_wait o = true → numbered r ≤ synced r) ∧ pass o r = (r, Some o).
Proof.
  destruct o as [x|dst m|m|i v|k x|v]; [by left; exists x|..]; right; try (by right; split_and!);
    simpl; unfold pass_message; destruct (waits m) eqn:E; simpl; try (by right; split_and!);
    (destruct (synced r <? numbered r) eqn:Hs; [apply N.ltb_lt in Hs; by left|apply N.ltb_ge in Hs; by right]).
Qed.

Lemma pass_others o r : must_wait o = false → (pass o r).2 = Some o.
Proof. by destruct (pass_cases o r) as [(x & -> & ->)|[(_ & -> & _)|(_ & _ & ->)]]. Qed.

(* --- What a report lets go, and what it keeps. ------------------------------------------------------------------ *)

Lemma part_all k l p :
  ready (fold_left (part k) l p) = ready p ++ (delayed_output <$> filter (λ d, delayed_until d ≤ k) l) ∧
  rest (fold_left (part k) l p) = rest p ++ filter (λ d, ¬ delayed_until d ≤ k) l.
Proof.
  revert p. induction l as [|d l IH]; intros p; cbn [fold_left]; [by rewrite !app_nil_r|].
  rewrite !filter_cons. destruct (IH (part k p d)) as [-> ->]. unfold part.
  destruct (delayed_until d <=? k) eqn:E; [apply N.leb_le in E|apply N.leb_gt in E].
  - rewrite decide_True by done. rewrite (decide_False (P := ¬ _)) by tauto. cbn. by rewrite <- assoc_L by apply _.
  - rewrite decide_False by lia. rewrite (decide_True (P := ¬ _)) by lia. cbn. by rewrite <- assoc_L by apply _.
Qed.

(* What is known to be durable after a report. *)
Definition known (k : N) (r : release) : N := N.max (synced r) (N.min k (numbered r)).
Lemma report_is k r :
  report k r =
  ({| numbered := numbered r; synced := known k r; waiting := filter (λ d, ¬ delayed_until d ≤ known k r) (waiting r) |},
   delayed_output <$> filter (λ d, delayed_until d ≤ known k r) (waiting r)).
Proof.
  unfold report. fold (known k r). destruct (part_all (known k r) (waiting r) {| ready := []; rest := [] |}) as [-> ->]. done.
Qed.

Local Opaque report pass.

(* --- Any use of it. --------------------------------------------------------------------------------------------- *)

Inductive use := Passes (o : output) | Reports (k : N).
Definition use_once (u : use) (r : release) : release * list output :=
  match u with
  | Passes o => ((pass o r).1, match (pass o r).2 with Some o => [o] | None => [] end)
  | Reports k => report k r
  end.
Fixpoint use_all (us : list use) (r : release) : release * list output :=
  match us with
  | [] => (r, [])
  | u :: us => ((use_all us (use_once u r).1).1, (use_once u r).2 ++ (use_all us (use_once u r).1).2)
  end.
Definition passed (u : use) : option output := match u with Passes o => Some o | Reports _ => None end.

Definition that_wait (l : list output) : list output := filter (λ o, must_wait o = true) l.
Definition that_go (l : list output) : list output := filter (λ o, must_wait o = false) l.

(* What waits must wait, until records that are not known to be durable, the later the longer. *)
Record orderly (r : release) : Prop := Orderly {
  o_synced : synced r ≤ numbered r;
  o_waits : Forall (λ d, must_wait (delayed_output d) = true ∧ synced r < delayed_until d ≤ numbered r) (waiting r);
  o_sorted : StronglySorted (λ d d', delayed_until d ≤ delayed_until d') (waiting r) }.

Lemma orderly_start : orderly no_release.
Proof. split; [done|constructor|constructor]. Qed.

(* A sorted list is cut in two. *)
Lemma sorted_cut k l : StronglySorted (λ d d', delayed_until d ≤ delayed_until d') l →
  filter (λ d, delayed_until d ≤ k) l ++ filter (λ d, ¬ delayed_until d ≤ k) l = l.
Proof.
  induction 1 as [|d l Hl IH Hd]; [done|]. rewrite !filter_cons. destruct (decide (delayed_until d ≤ k)) as [H|H].
  - rewrite (decide_False (P := ¬ _)) by tauto. simpl. by rewrite IH.
  - rewrite (decide_True (P := ¬ _)) by done.
    assert (filter (λ d, delayed_until d ≤ k) l = []) as E.
    { clear -Hd H. induction Hd as [|d' l Hd' _ IH]; [done|]. rewrite filter_cons, decide_False by lia. done. }
    rewrite E in IH |- *. simpl in *. by rewrite IH.
Qed.
Lemma sorted_snoc l d : StronglySorted (λ d d', delayed_until d ≤ delayed_until d') l →
  Forall (λ d', delayed_until d' ≤ delayed_until d) l →
  StronglySorted (λ d d', delayed_until d ≤ delayed_until d') (l ++ [d]).
Proof.
  induction 1 as [|x l Hl IH Hx]; intros Hd; simpl; [repeat constructor|]. inversion_clear Hd.
  constructor; [auto|]. apply list.Forall_app. split; [done|by repeat constructor].
Qed.
Lemma sorted_filter P `{∀ d : delayed, base.Decision (P d)} l : StronglySorted (λ d d', delayed_until d ≤ delayed_until d') l →
  StronglySorted (λ d d', delayed_until d ≤ delayed_until d') (filter P l).
Proof.
  induction 1 as [|d l Hl IH Hd]; [constructor|]. rewrite filter_cons. case_decide; [|done]. constructor; [done|].
  apply list.Forall_forall. intros x [_ Hx]%elem_of_list_filter. rewrite list.Forall_forall in Hd. auto.
Qed.

Lemma orderly_once u r : orderly r → orderly (use_once u r).1.
Proof.
  intros [O1 O2 O3]. destruct u as [o|k]; simpl.
  - destruct (pass_cases o r) as [(x & -> & ->)|[(_ & Hm & Hs & ->)|(_ & _ & ->)]]; simpl.
    + split; simpl; [lia| |done]. eapply list.Forall_impl; [exact O2|]. simpl. intros d [? ?]. split; [done|lia].
    + split; simpl; [done| |].
      * apply list.Forall_app. split; [done|]. constructor; [|constructor]. simpl. split; [done|lia].
      * apply sorted_snoc; [done|]. eapply list.Forall_impl; [exact O2|]. simpl. intros d [_ ?]. lia.
    + by split.
  - rewrite report_is. assert (known k r ≤ numbered r) by (unfold known; lia). split; simpl; [done| |by apply sorted_filter].
    apply list.Forall_forall. intros d [Hd Hin]%elem_of_list_filter. rewrite list.Forall_forall in O2. destruct (O2 d Hin).
    split; [done|lia].
Qed.

(* Nothing is lost, doubled or overtaken, of what must wait and of what need not. *)
Lemma once_kept u r : orderly r →
  (delayed_output <$> waiting r) ++ that_wait (option_list (passed u)) =
    that_wait (use_once u r).2 ++ (delayed_output <$> waiting (use_once u r).1) ∧
  that_go (option_list (passed u)) = that_go (use_once u r).2.
Proof.
  intros [O1 O2 O3]. destruct u as [o|k]; simpl.
  - unfold that_wait, that_go. rewrite !filter_cons, !filter_nil.
    destruct (pass_cases o r) as [(x & -> & ->)|[(_ & Hm & Hs & ->)|(_ & Hm & ->)]]; simpl.
    + by rewrite app_nil_r.
    + rewrite Hm, decide_True by done. simpl. by rewrite fmap_app.
    + rewrite !filter_cons, !filter_nil. destruct (must_wait o) eqn:E; simpl; [|by rewrite app_nil_r].
      specialize (Hm eq_refl). assert (waiting r = []) as ->; [|done].
      destruct (waiting r) as [|d l]; [done|]. inversion_clear O2 as [|? ? [_ Hd] _]. lia.
  - rewrite report_is. simpl. unfold that_wait, that_go. rewrite filter_nil, app_nil_r.
    assert (H : ∀ P `{∀ d : delayed, base.Decision (P d)} (l : list delayed), Forall (λ d, must_wait (delayed_output d) = true) l →
      filter (λ o, must_wait o = true) (delayed_output <$> filter P l) = delayed_output <$> filter P l ∧
      filter (λ o, must_wait o = false) (delayed_output <$> filter P l) = []).
    { intros P HP l Hl. induction Hl as [|d l Hd _ [IH1 IH2]]; [done|]. rewrite filter_cons. case_decide; [|done].
      rewrite fmap_cons, !filter_cons, Hd, IH1, IH2. done. }
    destruct (H (λ d, delayed_until d ≤ known k r) _ (waiting r)) as [-> ->].
    { eapply list.Forall_impl; [exact O2|]. by intros d [? _]. }
    split; [|done]. by rewrite <- fmap_app, sorted_cut.
Qed.

Theorem all_kept us r : orderly r →
  (delayed_output <$> waiting r) ++ that_wait (omap passed us) =
    that_wait (use_all us r).2 ++ (delayed_output <$> waiting (use_all us r).1) ∧
  that_go (omap passed us) = that_go (use_all us r).2.
Proof.
  revert r. induction us as [|u us IH]; intros r O; simpl; [by rewrite app_nil_r|].
  destruct (once_kept u r O) as [H1 H2]. destruct (IH _ (orderly_once u r O)) as [H3 H4].
  assert (E : ∀ l, match passed u with Some y => y :: l | None => l end = option_list (passed u) ++ l) by (by intros; destruct (passed u)).
  change (list_omap use output passed us) with (omap passed us). rewrite E.
  unfold that_wait, that_go in *. rewrite !list.filter_app, <- H4, <- H2. split; [|done].
  rewrite assoc_L by apply _. rewrite H1, <- !assoc_L by apply _. by rewrite H3.
Qed.
