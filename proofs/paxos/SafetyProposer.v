(* Proposers: each handler does only what a replica may do; and so does [step]. *)
From stdpp Require Import gmap list numbers sets.
Require Import Prim PrimFacts Model Network SafetyChosen SafetyStep SafetyAcceptor.
Local Open Scope N_scope.

(* --- What phase 1 gathers. -------------------------------------------------------------------------------------- *)

Lemma upper_ge votes k : k ≤ upper votes k ∧ ∀ u, u ∈ votes → vote_instance u < upper votes k.
Proof.
  revert k. unfold upper. induction votes as [|v l IH]; intros k; simpl.
  - split; [lia|]. intros u Hu. by apply elem_of_nil in Hu.
  - destruct (IH (N.max k (vote_instance v + 1))) as [H1 H2]. split; [lia|].
    intros u [->|Hu]%elem_of_cons; [lia|auto].
Qed.

(* m' has a candidate wherever m has, one at least as new. *)
Definition newer (m m' : imap candidate) : Prop :=
  ∀ i d, im_get i m = Some d → ∃ d', im_get i m' = Some d' ∧ candidate_ballot d ≤ candidate_ballot d'.
Definition covers (m : imap candidate) (u : vote) : Prop :=
  ∃ d, im_get (vote_instance u) m = Some d ∧ vote_ballot u ≤ candidate_ballot d.
Definition comes_from (i : instance) (d : candidate) (u : vote) : Prop :=
  vote_instance u = i ∧ candidate_ballot d = vote_ballot u ∧ candidate_value d = vote_value u.

Lemma newer_refl m : newer m m.
Proof. intros i d H. exists d. done. Qed.
Lemma newer_trans m1 m2 m3 : newer m1 m2 → newer m2 m3 → newer m1 m3.
Proof.
  intros H1 H2 i d H. destruct (H1 i d H) as (d' & Hd & ?). destruct (H2 i d' Hd) as (d'' & ? & ?).
  exists d''. split; [done|lia].
Qed.
Lemma covers_newer m m' u : newer m m' → covers m u → covers m' u.
Proof. intros H (d & Hd & ?). destruct (H _ _ Hd) as (d' & ? & ?). exists d'. split; [done|lia]. Qed.

Lemma merge_vote_newer m v : newer m (merge_vote m v).
Proof.
  intros i d Hd. unfold merge_vote. destruct (im_get (vote_instance v) m) as [d0|] eqn:E.
  - destruct (candidate_ballot d0 <? vote_ballot v) eqn:E1; [|by exists d]. apply N.ltb_lt in E1.
    rewrite im_get_set. case_decide; [subst i|by exists d]. rewrite E in Hd. injection Hd as <-.
    eexists. split; [done|simpl; lia].
  - rewrite im_get_set. case_decide; [congruence|by exists d].
Qed.
Lemma merge_vote_covers m v : covers (merge_vote m v) v.
Proof.
  unfold covers, merge_vote. destruct (im_get (vote_instance v) m) as [d0|] eqn:E.
  - destruct (candidate_ballot d0 <? vote_ballot v) eqn:E1; [|exists d0; by apply N.ltb_ge in E1].
    rewrite im_get_set, decide_True by done. by eexists.
  - rewrite im_get_set, decide_True by done. by eexists.
Qed.
Lemma merge_vote_from m v i d : im_get i (merge_vote m v) = Some d → im_get i m = Some d ∨ comes_from i d v.
Proof.
  unfold merge_vote. destruct (im_get (vote_instance v) m) as [d0|] eqn:E; [destruct (candidate_ballot d0 <? vote_ballot v)|];
    try rewrite im_get_set; try case_decide; auto; intros [= <-]; by right.
Qed.
Lemma merge_votes_spec votes m :
  newer m (merge_votes votes m) ∧ (∀ u, u ∈ votes → covers (merge_votes votes m) u) ∧
  (∀ i d, im_get i (merge_votes votes m) = Some d → im_get i m = Some d ∨ ∃ u, u ∈ votes ∧ comes_from i d u).
Proof.
  revert m. unfold merge_votes. induction votes as [|v l IH]; intros m; simpl.
  { split_and!; [apply newer_refl|by intros u ?%elem_of_nil|auto]. }
  destruct (IH (merge_vote m v)) as (H1 & H2 & H3). split_and!.
  - eapply newer_trans; [apply merge_vote_newer|done].
  - intros u [->|Hu]%elem_of_cons; [|auto]. eapply covers_newer; [done|apply merge_vote_covers].
  - intros i d Hd. destruct (H3 i d Hd) as [Hm|(u & ? & ?)]; [|right; exists u; split; [by right|done]].
    destruct (merge_vote_from _ _ _ _ Hm) as [?|?]; [by left|right; exists v; split; [by left|done]].
Qed.

Lemma in_reproposals b lo hi m o : o ∈ reproposals b lo hi m →
  ∃ i, lo ≤ i ∧ i < hi ∧ o = Output_Broadcast (Message_Propose b i (pick i m)).
Proof. intros (i & -> & [??]%n_range_elem)%elem_of_list_fmap. by exists i. Qed.
Lemma sends_reproposals b lo hi m x : sends (reproposals b lo hi m) x →
  ∃ i, lo ≤ i ∧ i < hi ∧ x = Message_Propose b i (pick i m).
Proof. intros [H|[d H]]; apply in_reproposals in H as (i & ? & ? & [= ->]); by exists i. Qed.

Lemma next_ballot_gt n self b : 0 < n → b < next_ballot n self b.
Proof. intros. unfold next_ballot. pose proof (N.div_mod' b n). pose proof (N.mod_lt b n). nia. Qed.
Lemma next_ballot_owner n self b : self < n → owner n (next_ballot n self b) = self.
Proof. intros. unfold owner, next_ballot. rewrite N.add_comm, N.mod_add by lia. by apply N.mod_small. Qed.

Section handlers.
Context (c : config) (w : view) (a : replica) (e : event) (I : inv c w).
Notation n := (config_replicas c).
Notation s := (current w a).
Notation does := (lstep c w a e).
Let R := i_replica _ _ I a.

(* --- Phase 1. --------------------------------------------------------------------------------------------------- *)

Lemma h_suspect s' outs : on_suspect c a s = (s', outs) → does s' outs.
Proof.
  unfold on_suspect. destruct (a <? n) eqn:Ea; intros [= <- <-]; [|apply does_nothing; [done|quiet]].
  apply N.ltb_lt in Ea. pose proof (next_ballot_gt n a (promised s) ltac:(lia)).
  pose proof (next_ballot_owner n a (promised s) Ea) as Ho.
  split; simpl; try (intros; outs; done); try lia.
  - apply extends_same; simpl; [lia|done..].
  - intros b k Hm. outs. by injection Hm as -> ->.
  - intros b k votes Hm. outs. injection Hm as -> -> ->. split_and!; try done; [lia|by left|]. intros b' i Hm. outs.
  - destruct R. split; simpl; try done. intros i x. by apply entry_same; simpl; [|lia|].
Qed.

Lemma prepared_by b k i m Q : (∀ x, x ∈ Q → x < n) → n < 2 * ns_size Q →
  (∀ x, x ∈ Q → ∃ votes, sent (said w) x (Message_Promise b k votes) ∧
    ∀ u, u ∈ votes → vote_instance u = i → ∃ d, im_get i m = Some d ∧ vote_ballot u ≤ candidate_ballot d) →
  prepared c w b k i m Q.
Proof. by split. Qed.

(* What a replica that still prepares holds once it has the votes of one more promise: acks and m. All promises counted
   report only votes below hi that m covers; and m holds proposals. *)
Lemma gathered src votes : role_now s = Preparing → src < n →
  sent (said w) src (Message_Promise (promised s) (first s) votes) →
  let hi := upper votes (next s) in
  let m := merge_votes votes (candidates s) in
  (∀ x, x ∈ ns_add src (promises s) → x < n ∧ ∃ votes, sent (said w) x (Message_Promise (promised s) (first s) votes) ∧
      ∀ u, u ∈ votes → vote_instance u < hi ∧ covers m u) ∧
  (∀ i d, im_get i m = Some d →
      candidate_ballot d < promised s ∧ proposed (said w) (candidate_ballot d) i (candidate_value d)).
Proof.
  intros E Hsrc Hs hi m. destruct R as [_ _ _ _ R5 R6 _].
  destruct (upper_ge votes (next s)) as [Hhi Hup]. destruct (merge_votes_spec votes (candidates s)) as (M1 & M2 & M3).
  destruct (i_promise _ _ I _ _ _ _ Hs) as (_ & _ & Hpv & _). split.
  - intros x [->|Hx]%ns_elem_add.
    + split; [done|]. exists votes. split; [done|]. intros u Hu. split; [by apply Hup|by apply M2].
    + destruct (R6 ltac:(congruence) x Hx) as (? & votes' & ? & Hu). split; [done|]. exists votes'. split; [done|].
      intros u Hin. destruct (Hu u Hin) as [Hl Hc]. split; [unfold hi; lia|].
      apply covers_newer with (candidates s); [done|by apply Hc].
  - intros i d Hd. destruct (M3 i d Hd) as [?|(u & Hu & <- & -> & ->)]; [by apply R5|by apply Hpv].
Qed.

Lemma h_promise src b k votes s' outs : sent (said w) src (Message_Promise b k votes) →
  on_promise c src b k votes s = (s', outs) → does s' outs.
Proof.
  intros Hs. unfold on_promise.
  destruct (role_now s) eqn:E; try (intros [= <- <-]; apply does_nothing; [done|quiet]).
  destruct (_ && _) eqn:Eg; [|intros [= <- <-]; apply does_nothing; [done|quiet]].
  rewrite !andb_true_iff in Eg. destruct Eg as [[[[E1 E2] E3] _] _].
  apply N.eqb_eq in E1 as ->. apply N.eqb_eq in E2 as ->. apply N.ltb_lt in E3.
  destruct (gathered src votes E E3 Hs) as [HA HC]. destruct (upper_ge votes (next s)) as [Hhi _].
  set (hi := upper votes (next s)) in *. set (m := merge_votes votes (candidates s)) in *.
  set (acks := ns_add src (promises s)) in *. destruct (i_promise _ _ I _ _ _ _ Hs) as (_ & Hused & _).
  destruct R as [R1 R2 R3 R4 _ _ _]. destruct R4 as (Ha & Hown & Hfirst); [congruence|].
  destruct (majority n (ns_size acks)) eqn:Em; intros [= <- <-].
  - apply N.ltb_lt in Em. set (lo := N.max (first s) (low s)).
    split; simpl; try (intros; match goal with H : sends _ _ |- _ =>
      apply sends_reproposals in H as (?&?&?&?); discriminate end).
    + by apply extends_same.
    + intros b i x (j & ? & ? & [= -> -> ->])%sends_reproposals. split_and!; try done; [|congruence].
      apply safe_pick with (first s) acks; [done|lia|..|auto].
      apply prepared_by; [intros y Hy; by apply HA|done|]. intros y Hy. destruct (HA y Hy) as (_ & votes' & ? & Hu).
      exists votes'. split; [done|]. intros u Hin <-. by apply Hu.
    + intros b i x y (? & _ & _ & [= -> -> ->])%sends_reproposals (? & _ & _ & [= -> ->])%sends_reproposals. done.
    + split; congruence.
    + by intros i x (? & _ & _ & ?)%in_reproposals.
    + intros b i x (? & _ & _ & [= -> -> ->])%sends_reproposals. left. unfold pick.
      destruct (im_get _ m) as [d|] eqn:Ed; [|by left]. eapply (i_legitimate _ _ I). by apply HC.
    + split; simpl; try done.
      * intros _. split_and!; [done..|lia].
      * intros _ x Hx. destruct (HA x Hx) as (? & votes' & ? & Hu). split; [done|]. exists votes'. split; [done|].
        intros u Hin. split; [by apply Hu|done].
  - split; simpl; try (intros; outs; done).
    + by apply extends_same.
    + split; congruence.
    + split; simpl; try done.
      * intros _. split_and!; [done..|lia].
      * intros _ x Hx. destruct (HA x Hx) as (? & votes' & ? & Hu). split; [done|]. exists votes'. split; [done|].
        intros u Hin. split; [by apply Hu|intros _; by apply Hu].
Qed.

(* --- Phase 2. --------------------------------------------------------------------------------------------------- *)

(* A leader's ballot is remembered, since somebody has promised it. *)
Lemma leader_used : role_now s = Leading → used c w (promised s).
Proof.
  intros E. pose proof (ri_leading _ _ _ _ R E) as Hn. assert (Hne : promises s ≠ ns_empty).
  { intros H. rewrite H in Hn. unfold ns_size, ns_empty, nset in Hn. rewrite size_empty in Hn. lia. }
  apply set_choose_L in Hne as [x Hx]. destruct (ri_promises _ _ _ _ R ltac:(congruence) x Hx) as (_ & votes & Hs & _).
  by destruct (i_promise _ _ I _ _ _ _ Hs) as (_ & ? & _).
Qed.
(* It proposes at [next], of which no promise reported a vote. *)
Lemma h_lead x s' outs : role_now s = Leading → legitimate (said w) x ∨ e = Event_Request x →
  propose c x s = (s', outs) → does s' outs.
Proof.
  intros E Hv. unfold propose. destruct (has_room c s); intros [= <- <-]; [|apply does_nothing; [done|quiet]].
  pose proof (leader_used E). destruct R as [R1 R2 R3 R4 R5 R6 R7]. destruct R4 as (? & ? & Hfirst); [congruence|].
  assert (HA : ∀ y, y ∈ promises s → y < n ∧ promise_kept (said w) s y) by (apply R6; congruence).
  split; simpl; try (intros; outs; done).
  - by apply extends_same.
  - intros b i y Hm. outs. injection Hm as -> -> ->. split_and!; try done; [lia|].
    apply safe_free with (first s) (promises s); [done..|].
    apply prepared_by; [intros z Hz; by apply HA|by apply R7|]. intros z Hz. destruct (HA z Hz) as (_ & votes & ? & Hu).
    exists votes. split; [done|]. intros u Hin Heq. destruct (Hu u Hin). lia.
  - intros b i y z Hy Hz. outs. congruence.
  - intros _. split; [congruence|]. intros _. split; [done|lia].
  - intros b i y Hm. outs. by injection Hm as -> -> ->.
  - split; simpl; try done.
    + intros _. split_and!; [done..|lia].
    + intros _ y Hy. destruct (HA y Hy) as (? & votes & ? & Hu). split; [done|]. exists votes. split; [done|].
      intros u Hin. destruct (Hu u Hin). split; [simpl; lia|done].
Qed.
Lemma h_request x s' outs : e = Event_Request x → on_request c a x s = (s', outs) → does s' outs.
Proof.
  intros He. unfold on_request. destruct (role_now s) eqn:E; [|intros [= <- <-]; apply does_nothing; [done|quiet]|].
  - destruct (_ =? a); intros [= <- <-]; apply does_nothing; [done|quiet|done|quiet]. by right.
  - apply h_lead; auto.
Qed.
Lemma h_forward src x s' outs : sent (said w) src (Message_Forward x) → on_forward c x s = (s', outs) → does s' outs.
Proof.
  intros Hs. unfold on_forward. destruct (role_now s) eqn:E; [intros [= <- <-]; apply does_nothing; [done|quiet]..|].
  apply h_lead; [done|]. left. right. by eapply (i_forward _ _ I).
Qed.
End handlers.

(* --- All together. ---------------------------------------------------------------------------------------------- *)

Theorem step_lstep c w a e s outs : inv c w → possible (said w) e → step c a e (current w a) = (s, outs) →
  lstep c w a e s outs.
Proof.
  intros I Hs. destruct e as [src m|x| | | |dst hi|k x|k]; simpl in *.
  - destruct m; simpl.
    + by apply h_prepare.
    + by apply h_promise.
    + by apply h_propose.
    + by apply h_accepted.
    + by apply h_commit with src.
    + by apply h_ballot.
    + by apply h_ballot.
    + by apply h_query.
    + by apply h_learned with src.
    + by apply h_snapshot.
    + intros [= <- <-]. apply does_nothing; [done|quiet].
    + by apply h_forward with src.
  - by apply h_request.
  - by apply h_suspect.
  - by apply h_heartbeat.
  - by apply h_execute.
  - by apply h_catch_up.
  - by apply h_taken.
  - by apply h_truncate.
Qed.
