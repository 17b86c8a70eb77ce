(* Clients of the replicas see one service that executes one request after the other. The theorem is stated in
   StatementsLinearizable.v. *)
From stdpp Require Import gmap list numbers.
Require Import Prim PrimFacts Model Network SafetyChosen Crash CrashSafety Service SnapshotSafety CrashLog RealTime
  Sessions SessionsProof Requests Executor.
Local Open Scope N_scope.

Section executor.
Context {request answer state : Type} (demand_of : request → demand) (requests : instance → value → list request).
Context (forgets : list request → request → list session) (refuses : list request → request → bool).
Context (retains : list request → session * sequence → bool).
Context (begin : state) (serve : state → request → state * answer).
Notation executor := (executor (request := request) (answer := answer) (state := state)).
Notation executed_from := (executed_from demand_of forgets refuses).
Notation executed := (executed_requests demand_of requests forgets refuses).
Notation process := (process demand_of forgets refuses retains serve).
Notation process_all := (process_all demand_of forgets refuses retains serve).
Notation deliver := (deliver demand_of requests forgets refuses retains serve).
Notation after_batches := (after_batches demand_of requests forgets refuses retains begin serve).
Notation alone := (alone begin serve).
Notation answer_at := (answer_at begin serve).
Notation call_of := (call_of demand_of).

(* --- What was executed, stays. ---------------------------------------------------------------------------------- *)

(* y is the answer to this call, which was executed. *)
Definition right (rs : list request) (call : option (session * sequence)) (y : answer) : Prop :=
  ∃ p r, rs !! p = Some r ∧ is_Some call ∧ call_of r = call ∧ answer_at rs p = Some y.

Lemma answer_at_prefix rs rs' p y : rs `prefix_of` rs' → answer_at rs p = Some y → answer_at rs' p = Some y.
Proof.
  intros [l ->]. unfold Executor.answer_at. destruct (rs !! p) as [r|] eqn:E; [|done]. apply lookup_lt_Some in E as Hp.
  rewrite lookup_app_l, E, take_app_le by lia. done.
Qed.
Lemma right_prefix rs rs' call y : rs `prefix_of` rs' → right rs call y → right rs' call y.
Proof.
  intros Hp (p & r & Hr & Hs & Hc & Hy). exists p, r. split_and!; [by eapply prefix_lookup|done..|by eapply answer_at_prefix].
Qed.
Lemma alone_snoc rs r : alone (rs ++ [r]) = (serve (alone rs) r).1.
Proof. unfold Executor.alone. by rewrite foldl_app. Qed.
Lemma right_here rs r : is_Some (call_of r) → right (rs ++ [r]) (call_of r) (serve (alone rs) r).2.
Proof.
  intros Hs. exists (length rs), r. unfold Executor.answer_at.
  rewrite (lookup_app_r rs [r] (length rs)), Nat.sub_diag, take_app by done. done.
Qed.

(* The executor is where rs take it, and keeps answers that it has given. *)
Record explained (rs : list request) (e : executor) : Prop := Explained {
  ex_service : service e = alone rs;
  ex_kept : ∀ call y, kept e !! call = Some y → right rs (Some call) y }.

Lemma explained_kept_on rs e past : explained rs e → ∀ call y,
  kept_on retains past (kept e) !! call = Some y → right rs (Some call) y.
Proof. intros E call y [H _]%map_filter_lookup_Some. by apply E. Qed.

Lemma explained_process rs e r (now := if (judge demand_of forgets refuses (heard e) r (table e)).2 then [r] else []) :
  explained rs e → explained (rs ++ now) (process r e).1 ∧
  (∀ y, (process r e).2 = Some y → right (rs ++ now) (call_of r) y) ∧
  table (process r e).1 = (judge demand_of forgets refuses (heard e) r (table e)).1 ∧
  heard (process r e).1 = heard e ++ [r] ∧ position (process r e).1 = position e.
Proof.
  intros E. pose proof (ex_service _ _ E) as Hs. subst now. unfold Executor.process.
  pose proof (judge_call demand_of forgets refuses (heard e) r (table e)) as Hcall. unfold judge in *.
  assert (Hothers : ∀ t, explained (rs ++ []) {| position := position e; heard := heard e ++ [r]; table := t;
    service := service e; kept := kept_on retains (heard e ++ [r]) (kept e) |}).
  { intros t. rewrite app_nil_r. split; [done|by apply explained_kept_on]. }
  destruct (turn_of demand_of forgets refuses (heard e) r (table e)) as [t turn].
  destruct turn; cbn [fst snd table heard position] in *; try (split_and!; [apply Hothers|done..]).
  - specialize (Hcall eq_refl). pose proof (right_here rs r Hcall) as Hr. rewrite <- Hs in Hr.
    pose proof (alone_snoc rs r) as Ha. rewrite <- Hs in Ha.
    destruct (serve (service e) r) as [s y]; cbn [fst snd table heard position] in *.
    split_and!; [split; cbn [service kept]; [done|]|by intros y' [= <-]|done..].
    unfold keep. destruct (call_of r) as [call|] eqn:Ec; [|by destruct Hcall].
    intros call' y' [H _]%map_filter_lookup_Some. apply lookup_insert_Some in H as [[<- <-]|[_ H]]; [done|].
    eapply right_prefix, E, H. by exists [r].
  - split_and!; [apply Hothers| |done..]. rewrite app_nil_r. intros y.
    unfold again. destruct (call_of r) as [call|]; [|done]. apply E.
Qed.

Lemma explained_all rs rs' e : explained rs e →
  let e' := (process_all rs' e).1 in let rs2 := rs ++ executed_from (table e) (heard e) rs' in
  explained rs2 e' ∧ (∀ r y, (r, Some y) ∈ (process_all rs' e).2 → r ∈ rs' ∧ right rs2 (call_of r) y) ∧ position e' = position e ∧
  ∀ rs3, executed_from (table e) (heard e) (rs' ++ rs3) = executed_from (table e) (heard e) rs' ++ executed_from (table e') (heard e') rs3.
Proof.
  revert rs e. induction rs' as [|r rs' IH]; intros rs e E.
  - cbn. rewrite app_nil_r. split_and!; [done| |done..]. by intros r y ?%elem_of_nil.
  - cbn [Executor.process_all Requests.executed_from app].
    destruct (explained_process rs e r E) as (E1 & Hy & Ht & Hh & Hp).
    destruct (process r e) as [e1 y1]; cbn [fst snd] in *.
    destruct (judge demand_of forgets refuses (heard e) r (table e)) as [t run]; cbn [fst snd] in *.
    destruct (IH _ _ E1) as (E2 & Hall & Hp2 & Happ). rewrite Ht, Hh in *.
    destruct (process_all rs' e1) as [e2 l]; cbn [fst snd] in *. rewrite <- app_assoc in E2.
    split_and!; [done| |congruence|].
    + intros r' y [[= -> <-]|H]%elem_of_cons.
      * split; [by left|]. eapply right_prefix, Hy; [|done]. rewrite assoc_L by apply _. by eexists.
      * destruct (Hall _ _ H) as [? Hr]. rewrite <- app_assoc in Hr. split; [by right|done].
    + intros rs3. rewrite Happ. by rewrite assoc_L by apply _.
Qed.

(* --- Batches. --------------------------------------------------------------------------------------------------- *)

Lemma explained_deliver vs e v : explained (executed vs) e → position e = N.of_nat (length vs) →
  (∀ rs, executed_from no_sessions [] (requests_in requests 0 vs ++ rs) = executed vs ++ executed_from (table e) (heard e) rs) →
  let e' := (deliver v e).1 in
  explained (executed (vs ++ [v])) e' ∧ position e' = N.of_nat (length (vs ++ [v])) ∧
  (∀ rs, executed_from no_sessions [] (requests_in requests 0 (vs ++ [v]) ++ rs) =
    executed (vs ++ [v]) ++ executed_from (table e') (heard e') rs) ∧
  ∀ r y, (r, Some y) ∈ (deliver v e).2 → right (executed (vs ++ [v])) (call_of r) y.
Proof.
  intros E Hpos Happ. unfold Executor.deliver.
  destruct (explained_all (executed vs) (requests (position e) v) e E) as (E' & Hall & Hpos' & Happ').
  destruct (process_all (requests (position e) v) e) as [e1 l]; cbn [fst snd] in *.
  assert (Hin : requests_in requests 0 (vs ++ [v]) = requests_in requests 0 vs ++ requests (position e) v).
  { rewrite requests_in_app. cbn. by rewrite app_nil_r, N.add_0_l, Hpos. }
  assert (Hex : executed (vs ++ [v]) = executed vs ++ executed_from (table e) (heard e) (requests (position e) v)).
  { unfold executed_requests at 1. rewrite Hin. apply Happ. }
  rewrite Hex. split_and!.
  - by destruct E'.
  - cbn. rewrite app_length. simpl. lia.
  - intros rs. rewrite Hin, <- app_assoc, Happ, Happ'. cbn. by rewrite assoc_L by apply _.
  - intros r y H. by destruct (Hall r y H).
Qed.

Lemma explained_batches vs (e := after_batches vs) : explained (executed vs) e ∧ position e = N.of_nat (length vs) ∧
  ∀ rs, executed_from no_sessions [] (requests_in requests 0 vs ++ rs) = executed vs ++ executed_from (table e) (heard e) rs.
Proof.
  subst e. induction vs as [|v vs (E & Hpos & Happ)] using rev_ind.
  - split_and!; [|done..]. split; [done|]. intros call y H. cbn in H. by rewrite lookup_empty in H.
  - unfold Executor.after_batches. rewrite foldl_app. cbn [foldl].
    destruct (explained_deliver vs _ v E Hpos Happ) as (? & ? & ? & _). done.
Qed.
Lemma answers_right vs v r y : (r, Some y) ∈ (deliver v (after_batches vs)).2 → right (executed (vs ++ [v])) (call_of r) y.
Proof.
  destruct (explained_batches vs) as (E & Hpos & Happ).
  destruct (explained_deliver vs _ v E Hpos Happ) as (_ & _ & _ & H). apply H.
Qed.

(* --- Replicas. -------------------------------------------------------------------------------------------------- *)

Context (c : config) (apply : image → value → image) (answers : image → value → list (request * option answer)).
Notation answered := (answered apply answers).
Notation asked := (asked demand_of requests).

Lemma outputs_of_app a t h : outputs_of a h `prefix_of` outputs_of a (t ++ h).
Proof.
  induction t as [|x t IH]; [done|]. cbn [app]. rewrite outputs_of_cons. etrans; [exact IH|]. by eexists.
Qed.
Lemma answered_later t h a k r y : answered h a k r y → answered (t ++ h) a k r y.
Proof. intros (outs & v & x & Hp & H). exists outs, v, x. split; [|done]. etrans; [exact Hp|apply outputs_of_app]. Qed.

Context (executor_runs : executes demand_of requests forgets refuses retains begin serve apply answers) (no_requests : ∀ i, requests i noop = []).

(* An answer is that of the service alone, which has executed the first k + 1 batches of the log. *)
Lemma answered_right w vs a k r y : occurs c w → log_prefix c (story w) vs →
  (∀ a k x, was_in apply (story w) a k x → k ≤ N.of_nat (length vs) ∧ x = replays apply (take (N.to_nat k) vs)) →
  answered (story w) a k r y → right (executed (take (N.to_nat (k + 1)) vs)) (call_of r) y ∧ k < N.of_nat (length vs).
Proof.
  intros Hw Hvs Hall (outs & v & x & Hp & Hx & Hr).
  destruct (Hall a k x) as [Hk ->].
  { exists outs. split; [|done]. etrans; [|exact Hp]. by eexists. }
  destruct (Hall a (k + 1) (apply (replays apply (take (N.to_nat k) vs)) v)) as [Hk1 _].
  { exists (outs ++ [Output_Deliver k v]). split; [done|]. unfold served in *. rewrite foldl_app, Hx. done. }
  split; [|lia]. destruct (lookup_lt_is_Some_2 vs (N.to_nat k)) as [u Hu]; [lia|].
  assert (u = v) as ->.
  { pose proof (Hvs _ _ Hu) as Hc. rewrite N2Nat.id in Hc. eapply (crash_chosen_agreement c w Hw k); [done|].
    apply (crash_delivered_chosen c w Hw a). apply emitted_outputs. destruct Hp as [l ->]. set_solver. }
  rewrite executor_runs in Hr. apply answers_right in Hr.
  replace (N.to_nat (k + 1)) with (S (N.to_nat k)) by lia. by erewrite take_S_r by exact Hu.
Qed.

(* --- Two times. ------------------------------------------------------------------------------------------------- *)

Lemma honest_app t h : honest apply (t ++ h) → honest apply h.
Proof. induction t as [|x t IH]; [done|]. cbn. intros [? _]. auto. Qed.

Lemma requests_in_elem i vs r : r ∈ requests_in requests i vs → ∃ j v, vs !! j = Some v ∧ r ∈ requests (i + N.of_nat j) v.
Proof.
  revert i. induction vs as [|v vs IH]; intros i; cbn; [by intros ?%elem_of_nil|]. intros [H|H]%elem_of_app.
  - exists 0%nat, v. split; [done|]. by rewrite N.add_0_r.
  - destruct (IH _ H) as (j & u & Hu & Hr). exists (S j), u. split; [done|].
    by replace (i + N.of_nat (S j)) with (i + 1 + N.of_nat j) by lia.
Qed.
Lemma executed_elem vs r : r ∈ executed vs → r ∈ requests_in requests 0 vs.
Proof.
  intros H. eapply elem_of_submseteq; [exact H|].
  apply sublist_submseteq, (executed_from_sublist demand_of forgets refuses no_sessions []).
Qed.

(* A call stands in one place. *)
Lemma one_place rs p q r r' : NoDup (omap call_of rs) → rs !! p = Some r → rs !! q = Some r' →
  is_Some (call_of r) → call_of r = call_of r' → p = q.
Proof.
  intros Hn Hp Hq Hs E. revert p q Hn Hp Hq. induction rs as [|x rs IH]; intros p q Hn Hp Hq; [done|].
  assert (Hlater : ∀ y j, rs !! j = Some y → call_of x = call_of y → is_Some (call_of x) → False).
  { intros y j Hy Ey [call Hx]. cbn in Hn. rewrite Hx in Hn. apply list.NoDup_cons in Hn as [Hn _]. apply Hn, elem_of_list_omap.
    exists y. split; [by eapply elem_of_list_lookup_2|congruence]. }
  destruct p as [|p], q as [|q]; cbn in Hp, Hq; [done|..].
  - injection Hp as ->. by destruct (Hlater r' q).
  - injection Hq as ->. destruct (Hlater r p); [done|done|by rewrite <- E].
  - f_equal. apply IH; [|done|done]. cbn in Hn. destruct (call_of x); [by apply list.NoDup_cons in Hn as [_ ?]|done].
Qed.

(* Who was not asked for before stands behind all that was executed by then. *)
Lemma asked_before before after between vs k p r :
  occurs c before → occurs c after → story after = between ++ story before → log_prefix c (story after) vs →
  folds apply c (story before) k (replays apply (take (N.to_nat k) vs)) → k ≤ N.of_nat (length vs) →
  executed vs !! p = Some r → (p < length (executed (take (N.to_nat k) vs)))%nat → asked (story before) (call_of r).
Proof.
  intros Hb Ha Hlater Hvs (us & Hus & Hlen & _) Hk Hp Hlt.
  assert (E : us = take (N.to_nat k) vs).
  { rewrite (log_prefix_agree c after Ha us vs); [f_equal; lia| |done|lia]. by eapply log_prefix_later. }
  assert (Hr : r ∈ executed (take (N.to_nat k) vs)).
  { apply elem_of_list_lookup. exists p.
    destruct (executed_prefix demand_of requests forgets refuses (take (N.to_nat k) vs) vs) as [l El].
    - exists (drop (N.to_nat k) vs). by rewrite take_drop.
    - by rewrite El, lookup_app_l in Hp by lia. }
  apply executed_elem, requests_in_elem in Hr as (j & v & Hv & Hr). rewrite <- E in Hv.
  destruct (chosen_legitimate c (cluster_view c before) (N.of_nat j) v (ci_view _ _ (occurs_inv c before Hb)) (Hus _ _ Hv))
    as [->|Hq]; [rewrite no_requests in Hr; by apply elem_of_nil in Hr|].
  by exists v, (0 + N.of_nat j), r.
Qed.

Theorem linearizable after : occurs c after → honest apply (story after) →
  ∃ rs, NoDup (omap call_of rs) ∧
  (∀ id, ∃ k, fresh_of id (omap call_of rs) = n_range 1 (k + 1)) ∧
  (∀ a k r y, answered (story after) a k r y →
    ∃ p r', rs !! p = Some r' ∧ is_Some (call_of r) ∧ call_of r' = call_of r ∧ answer_at rs p = Some y) ∧
  ∀ before between, occurs c before → story after = between ++ story before →
    ∀ a k r y p r' q r2, answered (story before) a k r y → rs !! p = Some r' → call_of r' = call_of r →
    rs !! q = Some r2 → ¬ asked (story before) (call_of r2) → (p < q)%nat.
Proof.
  intros Ha Htrue. destruct (one_log c apply after Ha Htrue) as (vs & Hvs & Hall). exists (executed vs).
  pose proof (executed_once demand_of requests forgets refuses vs) as Honce.
  assert (Hprefix : ∀ k, executed (take k vs) `prefix_of` executed vs).
  { intros k. apply executed_prefix. exists (drop k vs). by rewrite take_drop. }
  split_and!; [done|apply executed_consecutive|..].
  - intros a k r y Hr. destruct (answered_right after vs a k r y Ha Hvs Hall Hr) as [H _].
    destruct (right_prefix _ _ _ _ (Hprefix _) H) as (p & r' & ? & ? & ? & ?). by exists p, r'.
  - intros before between Hb Hlater a k r y p r' q r2 Hr Hp Hcall Hq Hno.
    assert (Hwas : ∃ x, was_in apply (story before) a (k + 1) x).
    { destruct Hr as (outs & v & x & Hp' & Hx & _). exists (apply x v), (outs ++ [Output_Deliver k v]). split; [done|].
      unfold served in *. rewrite foldl_app, Hx. done. }
    destruct Hwas as [x Hwas].
    assert (Hfolds : folds apply c (story before) (k + 1) x).
    { eapply was_in_folds; [done| |exact Hwas]. rewrite Hlater in Htrue. by eapply honest_app. }
    assert (Hr' : answered (story after) a k r y) by (rewrite Hlater; by apply answered_later).
    destruct (answered_right after vs a k r y Ha Hvs Hall Hr') as [(p0 & r0 & Hp0 & Hs & Hc0 & _) Hk].
    assert (p = p0) as ->.
    { eapply (one_place (executed vs)); [done|done|by eapply prefix_lookup|by rewrite Hcall|congruence]. }
    apply lookup_lt_Some in Hp0. destruct (decide (p0 < q)%nat) as [|Hge]; [done|]. destruct Hno.
    destruct (Hall a (k + 1) x) as [_ Hx].
    { rewrite Hlater. destruct Hwas as (outs & Ho & ?). exists outs. split; [|done]. etrans; [exact Ho|apply outputs_of_app]. }
    eapply (asked_before before after between vs (k + 1) q r2); try done; [by rewrite <- Hx|lia|lia].
Qed.
End executor.
