(* A replica keeps its word: what it has promised and voted it holds from then on, or has forgotten the instance and votes there
   no more. Of one replica and any events; used for restarts (Restart.v). *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model PrimFacts Run Bounded Replay.
Local Open Scope N_scope.

(* The replica has a vote for i, at ballot b or above, or has forgotten i. *)
Definition vote_kept (b : ballot) (i : instance) (s : state) : Prop :=
  i < low s ∨ ∃ x, im_get i (log s) = Some x ∧ b ≤ entry_ballot x.

(* What a message that waits for the journal says of its sender, s. *)
Definition kept (m : message) (s : state) : Prop :=
  match m with
  | Message_Prepare b _ => b ≤ promised s
  | Message_Promise b _ _ => b ≤ promised s
  | Message_Accept b i => b ≤ promised s ∧ vote_kept b i s
  | _ => True
  end.

(* Promises and votes only grow. *)
Record grows (s s' : state) : Prop := Grows {
  g_promised : promised s ≤ promised s';
  g_low : low s ≤ low s';
  g_votes : ∀ i x, im_get i (log s) = Some x → vote_kept (entry_ballot x) i s' }.

Lemma grows_vote_kept s s' b i : grows s s' → vote_kept b i s → vote_kept b i s'.
Proof.
  intros [_ Hl Hv] [?|(x & Hx & ?)]; [left; lia|].
  destruct (Hv _ _ Hx) as [?|(y & ? & ?)]; [by left|right; exists y; split; [done|lia]].
Qed.

Lemma grows_trans s1 s2 s3 : grows s1 s2 → grows s2 s3 → grows s1 s3.
Proof.
  intros [Hp Hl Hv] H. pose proof H as [Hp' Hl' _]. split; [lia..|]. intros i x Hx. eapply grows_vote_kept; eauto.
Qed.

Lemma grows_kept s s' m : grows s s' → kept m s → kept m s'.
Proof.
  intros Hg. pose proof Hg as [Hp _ _]. destruct m; cbn; try done; try lia.
  intros [? ?]. split; [lia|by eapply grows_vote_kept].
Qed.

Lemma kept_restarted m s : kept m s ↔ kept m (restarted s).
Proof.
  destruct m; try done. cbn. unfold vote_kept; cbn. setoid_rewrite votes_get_Some. naive_solver.
Qed.

(* --- Every step. --------------------------------------------------------------------------------------------------------- *)

Section steps.
Context (c : config) (self : replica).

Lemma grows_same s s' : promised s ≤ promised s' → low s ≤ low s' → log s' = log s → grows s s'.
Proof. intros Hp Hl He. split; [done..|]. intros i x Hx. right. exists x. by rewrite He. Qed.

Lemma grows_refl s : grows s s.
Proof. by apply grows_same. Qed.

Lemma grows_set s s' i e :
  promised s ≤ promised s' → low s ≤ low s' → log s' = im_set i e (log s) →
  (∀ x, im_get i (log s) = Some x → entry_ballot x ≤ entry_ballot e) → grows s s'.
Proof.
  intros Hp Hl He Hi. split; [done..|]. intros j x Hx. right. rewrite He. setoid_rewrite im_get_set.
  case_decide; [subst; eauto|eauto].
Qed.

Lemma grows_drop s s' k : promised s ≤ promised s' → low s ≤ k → low s' = k → log s' = im_drop_below k (log s) → grows s s'.
Proof.
  intros Hp Hk Hl He. split; [done|lia|]. intros i x Hx. destruct (decide (k ≤ i)); [right|left; lia].
  exists x. rewrite He, im_get_drop_Some. done.
Qed.

Lemma votes_promised b s : promised s ≤ b → votes_below s → votes_below (set_promised b s).
Proof. intros Hb H i e He. cbn. specialize (H i e He). lia. Qed.

Lemma votes_set_log i e s : entry_ballot e ≤ promised s → votes_below s → votes_below (set_log (im_set i e (log s)) s).
Proof. intros He H j x [[-> ->]|[_ ?]]%im_get_set_Some; cbn; [done|eauto]. Qed.

Lemma votes_drop_below k s s' :
  promised s' = promised s → log s' = im_drop_below k (log s) → votes_below s → votes_below s'.
Proof. intros Hp Hl H i e. rewrite Hp, Hl. intros [_ ?]%im_get_drop_Some. eauto. Qed.

(* What one step does, and that the messages among its outputs are true after it. *)
Definition keeps (s s' : state) (outs : list output) : Prop :=
  grows s s' ∧ votes_below s' ∧ ∀ o m, o ∈ outs → message_of o = Some m → kept m s'.

(* Outputs that bind the replica to nothing. *)
Definition unbinding (outs : list output) : Prop := ∀ o m, o ∈ outs → message_of o = Some m → waits m = false.

Lemma keeps_unbinding s s' outs : grows s s' → votes_below s' → unbinding outs → keeps s s' outs.
Proof.
  intros Hg Hv Ho. split; [done|]. split; [done|]. intros o m Hin Hm. specialize (Ho o m Hin Hm). by destruct m.
Qed.

Ltac few := intros ? ? Ho Hm; cbn in Ho; rewrite ?elem_of_cons, ?elem_of_nil in Ho; destruct_or? Ho; subst; simplify_eq/=; cbn.

Lemma keeps_same s s' outs :
  promised s' = promised s → low s' = low s → log s' = log s → unbinding outs → votes_below s → keeps s s' outs.
Proof.
  intros Hp Hl He Ho Hv. apply keeps_unbinding; [apply grows_same; [lia|lia|done]| |done].
  intros i e. rewrite He, Hp. eauto.
Qed.

Lemma keeps_promised b s outs :
  promised s ≤ b → votes_below s → (∀ o m, o ∈ outs → message_of o = Some m → kept m (set_promised b s)) →
  keeps s (set_promised b s) outs.
Proof. intros Hb Hv Ho. split; [by apply grows_same|]. split; [by apply votes_promised|done]. Qed.

Lemma keeps_accept src b i v s :
  votes_below s → promised s = b → keeps s (accept src b i v s).1 (accept src b i v s).2.
Proof.
  intros Hv Hb. set (e := Entry b v ns_empty).
  assert (keeps s (set_log (im_set i e (log s)) s) [Output_Journal (Record_Vote b i v); Output_Send src (Message_Accept b i)]).
  { split; [|split].
    - eapply (grows_set _ _ i e); [done..|]. intros x Hx. cbn. subst b. eauto.
    - apply votes_set_log; [cbn; lia|done].
    - few. split; [lia|]. right. exists e. split; [|done]. cbn. by rewrite im_get_set, decide_True. }
  unfold accept. destruct (im_get i (log s)) as [x|] eqn:Hx; [|done]. destruct (_ =? _) eqn:E; [|done].
  apply N.eqb_eq in E. split; [apply grows_refl|split; [done|]].
  few. split; [lia|]. right. exists x. split; [done|lia].
Qed.

Lemma keeps_before s1 s2 s3 outs : grows s1 s2 → keeps s2 s3 outs → keeps s1 s3 outs.
Proof. intros Hg (H1 & H2 & H3). split; [by eapply grows_trans|done]. Qed.

Lemma learned_same ds s (s' := fold_left (learn c) ds s) : promised s' = promised s ∧ low s' = low s ∧ log s' = log s.
Proof.
  subst s'. revert s. induction ds as [|d ds IH]; intros s; cbn; [done|].
  destruct (IH (learn c s d)) as (-> & -> & ->). unfold learn. by case_match.
Qed.

Lemma unbinding_reproposals b lo hi m : unbinding (reproposals b lo hi m).
Proof. intros o x (i & -> & _)%elem_of_list_fmap [= <-]. done. Qed.

Lemma keeps_receive src m s :
  sound c s → keeps s (receive c self src m s).1 (receive c self src m s).2.
Proof.
  intros [Hb Hv]. destruct m; cbn.
  - unfold on_prepare. repeat case_match; cbn; guards; try (by apply keeps_same; [..|few|]).
    apply keeps_promised; [lia|done|]. by few.
  - unfold on_promise. repeat case_match; cbn; apply keeps_same; auto using unbinding_reproposals; by few.
  - unfold on_propose. repeat case_match; cbn; guards; try (by apply keeps_same; [..|few|]).
    + by apply keeps_accept.
    + eapply keeps_before; [by apply (grows_same s (set_promised b s)); cbn; [lia|..]|].
      apply keeps_accept; [|done]. apply votes_promised; [lia|done].
  - unfold on_accept. destruct (_ && _); [|by apply keeps_same; [..|few|]].
    destruct (im_get i (log s)) as [e|] eqn:He; [|by apply keeps_same; [..|few|]].
    destruct (_ =? _) eqn:E; [|by apply keeps_same; [..|few|]]. guards.
    set (e' := Entry b (entry_value e) _). set (s1 := set_log (im_set i e' (log s)) s).
    assert (grows s s1) as Hg.
    { eapply (grows_set _ _ i e'); [done..|]. intros x Hx. simplify_eq. cbn. lia. }
    assert (votes_below s1) as Hv1.
    { apply votes_set_log; [|done]. cbn. specialize (Hv _ _ He). lia. }
    apply (keeps_before _ s1); [done|].
    destruct (majority _ _); cbn; by apply keeps_same; [..|few|].
  - unfold on_commit. repeat case_match; cbn; by apply keeps_same; [..|few|].
  - unfold on_ballot. case_match; cbn; guards; [|by apply keeps_same; [..|few|]]. apply keeps_promised; [lia|done|]. by few.
  - unfold on_ballot. case_match; cbn; guards; [|by apply keeps_same; [..|few|]]. apply keeps_promised; [lia|done|]. by few.
  - unfold on_query. case_match; cbn; by apply keeps_same; [..|few|].
  - destruct (learned_same ds s) as (? & ? & ?). by apply keeps_same; [..|few|].
  - unfold on_snapshot. case_match; cbn; guards; [|by apply keeps_same; [..|few|]].
    destruct (b_marks _ _ Hb). apply keeps_unbinding; [|by apply (votes_drop_below k s)|by few].
    apply (grows_drop _ _ k); [done|lia|done|done].
  - by apply keeps_same; [..|few|].
  - unfold on_forward, propose. repeat case_match; cbn; by apply keeps_same; [..|few|].
Qed.

Lemma keeps_step e s : sound c s → keeps s (step c self e s).1 (step c self e s).2.
Proof.
  intros H. pose proof H as [Hb Hv]. destruct e; cbn.
  - by apply keeps_receive.
  - unfold on_request, propose. repeat case_match; cbn; by apply keeps_same; [..|few|].
  - unfold on_suspect. case_match; cbn; guards; [|by apply keeps_same; [..|few|]].
    assert (promised s < next_ballot (config_replicas c) self (promised s)) by (by apply next_ballot_above).
    split; [apply grows_same; cbn; [lia|done|done]|split].
    + intros i e ?%Hv. cbn. lia.
    + few; done.
  - by apply keeps_same; [..|few|].
  - unfold on_execute. case_match; cbn; by apply keeps_same; [..|few|].
  - unfold on_catch_up. case_match; cbn; by apply keeps_same; [..|few|].
  - unfold on_taken. case_match; cbn; by apply keeps_same; [..|few|].
  - unfold on_truncate. case_match; cbn; guards; [|by apply keeps_same; [..|few|]].
    apply keeps_unbinding; [|by apply (votes_drop_below k s)|by few]. apply (grows_drop _ _ k); [done|lia|done|done].
Qed.
End steps.
