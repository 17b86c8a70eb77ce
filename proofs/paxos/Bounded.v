(* Whatever one replica is told, what it keeps and what it puts out stays bounded: an invariant of its state, and what it
   gives for one step's outputs. The theorems are stated in StatementsBounds.v. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model PrimFacts Run.
Local Open Scope N_scope.

Definition keys_in {V} (lo hi : N) (m : imap V) : Prop := ∀ i x, im_get i m = Some x → lo ≤ i < hi.
Definition voters (c : config) (a : nset) : Prop := ∀ x, x ∈ a → x < config_replicas c.

(* The last two are what bounds the reproposals of a new leader. *)
Record bounded (c : config) (s : state) : Prop := Bounded {
  b_marks : low s ≤ snapshot_at s ∧ snapshot_at s ≤ executed s ∧ executed s ≤ low s + config_span c;
  b_log : keys_in (low s) (low s + config_span c) (log s);
  b_decisions : keys_in (low s) (low s + config_span c) (decisions s);
  b_candidates : keys_in (first s) (first s + config_span c) (candidates s);
  b_acks : ∀ i e, im_get i (log s) = Some e → voters c (entry_acks e);
  b_promises : voters c (promises s);
  b_first : first s ≤ low s + config_span c;
  b_next : next s ≤ N.max (low s) (first s) + config_span c;
  b_preparing : role_now s = Preparing → first s ≤ next s ≤ N.max (low s) (first s + config_span c) }.

(* --- Maps and sets that stay in their range. ---------------------------------------------------------------------------- *)

Lemma keys_in_empty {V} lo hi : keys_in lo hi (im_empty : imap V).
Proof. intros i x. by rewrite im_get_empty. Qed.

Lemma keys_in_set {V} lo hi i (x : V) m : lo ≤ i < hi → keys_in lo hi m → keys_in lo hi (im_set i x m).
Proof. intros Hi Hm j y [[-> _]|[_ Hj]]%im_get_set_Some; eauto. Qed.

Lemma keys_in_drop {V} lo hi k hi' (m : imap V) : hi ≤ hi' → keys_in lo hi m → keys_in k hi' (im_drop_below k m).
Proof. intros Hk Hm i x [? Hi%Hm]%im_get_drop_Some. lia. Qed.

Lemma voters_empty c : voters c ns_empty.
Proof. by intros x ?%ns_not_elem_empty. Qed.

Lemma voters_add c a s : a < config_replicas c → voters c s → voters c (ns_add a s).
Proof. intros Ha Hs x [->|?]%ns_elem_add; auto. Qed.

(* --- Phase 1's fold over the votes of a promise. ------------------------------------------------------------------------- *)

Lemma within_fold lo hi votes a :
  fold_left (λ a v, a && (lo <=? vote_instance v) && (vote_instance v <? hi)) votes a = true →
  a = true ∧ ∀ v, v ∈ votes → lo ≤ vote_instance v < hi.
Proof.
  revert a. induction votes as [|v votes IH]; intros a; cbn.
  - intros ->. split; [done|]. by intros v ?%elem_of_nil.
  - intros [H HIn]%IH. rewrite !andb_true_iff, N.leb_le, N.ltb_lt in H. destruct H as [[-> ?] ?].
    split; [done|]. intros w [->|?]%elem_of_cons; auto.
Qed.

Lemma within_true lo hi votes : within lo hi votes = true → ∀ v, v ∈ votes → lo ≤ vote_instance v < hi.
Proof. intros H. by apply (within_fold lo hi votes true). Qed.

Lemma upper_le votes k hi : k ≤ hi → (∀ v, v ∈ votes → vote_instance v < hi) → upper votes k ≤ hi.
Proof.
  unfold upper. revert k. induction votes as [|v votes IH]; intros k Hk H; cbn; [done|].
  apply IH; [|intros w ?; apply H; by right]. specialize (H v (elem_of_list_here _ _)). lia.
Qed.

Lemma upper_ge votes k : k ≤ upper votes k.
Proof.
  unfold upper. revert k. induction votes as [|v votes IH]; intros k; cbn; [done|].
  specialize (IH (N.max k (vote_instance v + 1))). lia.
Qed.

Lemma merge_votes_keys lo hi votes m :
  (∀ v, v ∈ votes → lo ≤ vote_instance v < hi) → keys_in lo hi m → keys_in lo hi (merge_votes votes m).
Proof.
  unfold merge_votes. revert m. induction votes as [|v votes IH]; intros m H Hm; cbn; [done|].
  apply IH; [intros w ?; apply H; by right|]. specialize (H v (elem_of_list_here _ _)).
  unfold merge_vote. repeat case_match; try apply keys_in_set; auto.
Qed.

(* --- Each handler keeps the bounds. -------------------------------------------------------------------------------------- *)

Section handlers.
Context (c : config).

(* What is a number's business is left to [lia], what is a map's to [eauto]. *)
Ltac bounds := constructor; cbn; try done; try (split_and?; lia); try (intros; discriminate).

Lemma bounded_init : bounded c init.
Proof. bounds; try apply keys_in_empty; try apply voters_empty; intros; by rewrite ?im_get_empty in *. Qed.

Lemma bounded_promised b s : bounded c s → bounded c (set_promised b s).
Proof. intros []. by bounds. Qed.

Lemma bounded_entry i e s :
  low s ≤ i < low s + config_span c → voters c (entry_acks e) → bounded c s → bounded c (set_log (im_set i e (log s)) s).
Proof.
  intros Hi He []. bounds.
  - by apply keys_in_set.
  - intros j x [[-> ->]|[_ ?]]%im_get_set_Some; eauto.
Qed.

Lemma bounded_decision i v s :
  low s ≤ i < low s + config_span c → bounded c s → bounded c (set_decisions (im_set i v (decisions s)) s).
Proof. intros Hi []. bounds. by apply keys_in_set. Qed.

Lemma bounded_drop k s : low s ≤ k → k ≤ snapshot_at s → bounded c s → bounded c (drop_below k s).
Proof.
  intros Hl Hk []. bounds.
  - eapply keys_in_drop; [|done]. lia.
  - eapply keys_in_drop; [|done]. lia.
  - intros i e [_ ?]%im_get_drop_Some. eauto.
  - intros Hr. specialize (b_preparing0 Hr). lia.
Qed.

Lemma bounded_install k x s : executed s < k → bounded c s → bounded c (install k x (set_next (N.max (next s) k) s)).
Proof.
  intros Hk []. unfold install. bounds.
  - eapply keys_in_drop; [|done]. lia.
  - eapply keys_in_drop; [|done]. lia.
  - intros i e [_ ?]%im_get_drop_Some. eauto.
  - intros Hr. specialize (b_preparing0 Hr). lia.
Qed.

Lemma bounded_learn s d : bounded c s → bounded c (learn c s d).
Proof.
  intros H. unfold learn, in_span. destruct (_ && _) eqn:E; [|done]. guards. by apply bounded_decision.
Qed.

Lemma bounded_accept src b i v s :
  low s ≤ i < low s + config_span c → bounded c s → bounded c (accept src b i v s).1.
Proof.
  intros Hi H. unfold accept. repeat case_match; cbn; try done; apply bounded_entry; cbn; auto using voters_empty.
Qed.

Lemma bounded_receive self src m s : bounded c s → bounded c (receive c self src m s).1.
Proof.
  intros H. destruct m; cbn.
  - unfold on_prepare. repeat case_match; cbn; auto using bounded_promised.
  - unfold on_promise. destruct (role_now s) eqn:Hr; try done. destruct (_ && _) eqn:E; [|done]. guards. subst.
    match goal with W : within _ _ _ = true |- _ => pose proof (within_true _ _ _ W) as Hv end. destruct H.
    destruct (b_preparing0 Hr) as [Hf Hn].
    pose proof (upper_ge votes (next s)).
    assert (upper votes (next s) ≤ N.max (low s) (first s + config_span c)).
    { apply upper_le; [done|]. intros v ?%Hv. lia. }
    destruct (majority _ _); bounds; auto using voters_add, keys_in_empty, merge_votes_keys; intros; lia.
  - unfold on_propose. repeat case_match; cbn; auto; guards; apply bounded_accept; cbn; auto using bounded_promised.
  - unfold on_accept. destruct (_ && _) eqn:E; [|done]. guards. destruct (im_get i (log s)) as [e|] eqn:He; [|done].
    destruct (_ =? _); [|done].
    set (s1 := set_log _ s).
    assert (low s ≤ i < low s + config_span c) by (by eapply b_log).
    assert (bounded c s1) by (apply bounded_entry; [done| |done]; apply voters_add; [done|by eapply b_acks]).
    destruct (majority _ _); [|done]. by apply (bounded_decision i (entry_value e) s1).
  - unfold on_commit. destruct (im_has i _); [done|]. destruct (im_get i (log s)) as [e|] eqn:He; [|done].
    destruct (_ =? _); [|done]. apply bounded_decision; [by eapply b_log|done].
  - unfold on_ballot. case_match; cbn; auto using bounded_promised.
  - unfold on_ballot. case_match; cbn; auto using bounded_promised.
  - unfold on_query. by case_match.
  - unfold on_learned. cbn. clear src. revert s H. induction ds as [|d ds IH]; intros s H; cbn; auto using bounded_learn.
  - unfold on_snapshot. destruct (_ <? _) eqn:E; [|done]. guards. cbn. by apply bounded_install.
  - done.
  - unfold on_forward, propose, has_room. repeat case_match; cbn; auto; guards. destruct H. bounds. congruence.
Qed.

Lemma bounded_step self e s : bounded c s → bounded c (step c self e s).1.
Proof.
  intros H. destruct e; cbn.
  - by apply bounded_receive.
  - unfold on_request, propose, has_room. repeat case_match; cbn; auto; guards. destruct H. bounds. congruence.
  - unfold on_suspect. destruct (_ <? _); [|done]. destruct H.
    bounds; auto using keys_in_empty, voters_empty; intros; lia.
  - done.
  - unfold on_execute. destruct (im_get _ _) as [v|] eqn:E; [|done]. destruct H. apply b_decisions0 in E.
    bounds.
  - unfold on_catch_up. by case_match.
  - unfold on_taken. destruct (_ && _) eqn:E; [|done]. guards. destruct H. bounds.
  - unfold on_truncate. destruct (_ && _) eqn:E; [|done]. guards. apply bounded_drop; [lia|lia|done].
Qed.

Theorem bounded_run self es : bounded c (state_after c self es).
Proof. apply run_invariant; [apply bounded_init|]. intros. by apply bounded_step. Qed.

(* --- One step's outputs are few, and so are the entries of a message. -------------------------------------------------- *)

Lemma reproposals_length b lo hi m : N.of_nat (length (reproposals b lo hi m)) = hi - lo.
Proof. unfold reproposals. by rewrite map_length, n_range_length. Qed.

Lemma outputs_few self e s :
  bounded c s → N.of_nat (length (step c self e s).2) ≤ N.max 3 (config_span c).
Proof.
  intros H. destruct e as [src m| | | | | | |]; [destruct m| | | | | | |]; cbn.
  2: { (* a promise: the new leader's proposals *)
    unfold on_promise. destruct (role_now s) eqn:Hr; cbn; [lia| |lia]. destruct (_ && _) eqn:E; cbn; [|lia]. guards. subst.
    match goal with W : within _ _ _ = true |- _ => pose proof (within_true _ _ _ W) as Hv end. destruct (b_preparing _ _ H Hr) as [Hf Hn].
    assert (upper votes (next s) ≤ N.max (low s) (first s + config_span c)).
    { apply upper_le; [done|]. intros v ?%Hv. lia. }
    destruct (majority _ _); cbn; [|lia]. rewrite reproposals_length. lia. }
  all: unfold on_prepare, on_propose, accept, on_accept, on_commit, on_ballot, on_query, on_learned, on_snapshot, on_forward,
    on_request, propose, on_suspect, on_heartbeat, on_execute, on_catch_up, on_taken, on_truncate.
  all: repeat case_match; cbn; lia.
Qed.

(* How many instances a message speaks of in its lists. *)
Definition votes_in (m : message) : N := match m with Message_Promise _ _ votes => N.of_nat (length votes) | _ => 0 end.
Definition decisions_in (m : message) : N := match m with Message_Learned ds => N.of_nat (length ds) | _ => 0 end.
Definition short (m : message) : Prop := votes_in m ≤ config_span c ∧ decisions_in m ≤ config_chunk c.

Lemma votes_from_short k s : low s ≤ k → N.of_nat (length (votes_from c k s)) ≤ config_span c.
Proof.
  intros Hk. unfold votes_from. rewrite map_length.
  pose proof (im_range_length k (low s + config_span c) (log s)). lia.
Qed.

Lemma reproposals_short b lo hi m o x : o ∈ reproposals b lo hi m → message_of o = Some x → short x.
Proof.
  unfold reproposals. intros (i & -> & _)%elem_of_list_fmap [= <-]. split; cbn; lia.
Qed.

Lemma messages_short self e s o m : o ∈ (step c self e s).2 → message_of o = Some m → short m.
Proof.
  destruct e as [src x| | | | | | |]; [destruct x| | | | | | |]; cbn.
  2: { unfold on_promise. repeat case_match; cbn; try (by intros ?%elem_of_nil). apply reproposals_short. }
  all: unfold on_prepare, on_propose, accept, on_accept, on_commit, on_ballot, on_query, on_learned, on_snapshot, on_forward,
    on_request, propose, on_suspect, on_heartbeat, on_execute, on_catch_up, on_taken, on_truncate.
  all: repeat case_match; cbn; rewrite ?elem_of_cons, ?elem_of_nil; intros Ho Hm; destruct_or? Ho; subst; simplify_eq/=.
  all: split; cbn; guards; try lia.
  - by apply votes_from_short.
  - rewrite map_length.
    match goal with |- context [im_range ?lo ?hi ?m] => pose proof (im_range_length lo hi m) end. lia.
  - apply votes_from_short. lia.
Qed.

(* --- A learner keeps no vote and leads nothing. -------------------------------------------------------------------------- *)

Record idle (s : state) : Prop := Idle {
  idle_role : role_now s = Follower;
  idle_log : log s = im_empty;
  idle_promises : promises s = ns_empty;
  idle_candidates : candidates s = im_empty }.

Lemma drop_below_empty k : im_drop_below k (im_empty : imap entry) = im_empty.
Proof. apply im_ext. intros i. rewrite im_get_drop, im_get_empty. by case_decide. Qed.

Lemma idle_learned ds s : idle s → idle (fold_left (learn c) ds s).
Proof.
  revert s. induction ds as [|d ds IH]; intros s H; cbn; [done|]. apply IH. unfold learn. by case_match; destruct H.
Qed.

Lemma idle_step self e s : config_replicas c ≤ self → idle s → idle (step c self e s).1.
Proof.
  intros Hself H. apply N.ltb_ge in Hself. pose proof H as [Hr Hl Hp Hc].
  destruct e as [src m| | | | | | |]; [destruct m| | | | | | |]; cbn; try done.
  all: unfold on_prepare, on_promise, on_propose, on_accept, on_commit, on_ballot, on_query, on_learned, on_snapshot,
    on_forward, on_request, on_suspect, on_execute, on_catch_up, on_taken, on_truncate, install.
  all: rewrite ?Hself, ?Hr, ?Hl, ?im_get_empty; repeat case_match; cbn; try done; auto using idle_learned.
  all: split; cbn; rewrite ?Hl, ?drop_below_empty; done.
Qed.

(* What only a voter says. *)
Definition voters_word (m : message) : bool :=
  match m with
  | Message_Prepare _ _ | Message_Promise _ _ _ | Message_Propose _ _ _ | Message_Accept _ _ | Message_Commit _ _ => true
  | _ => false
  end.

Lemma idle_says self e s o m :
  config_replicas c ≤ self → idle s → o ∈ (step c self e s).2 → message_of o = Some m → voters_word m = false.
Proof.
  intros Hself%N.ltb_ge [Hr Hl Hp Hc].
  destruct e as [src x| | | | | | |]; [destruct x| | | | | | |]; cbn.
  all: unfold on_prepare, on_promise, on_propose, on_accept, on_commit, on_ballot, on_query, on_learned, on_snapshot,
    on_forward, on_request, on_suspect, on_heartbeat, on_execute, on_catch_up, on_taken, on_truncate.
  all: rewrite ?Hself, ?Hr, ?Hl, ?im_get_empty; repeat case_match; cbn; rewrite ?elem_of_cons, ?elem_of_nil; intros Ho Hm;
    destruct_or? Ho; subst; simplify_eq/=; done.
Qed.

Theorem idle_run self es : config_replicas c ≤ self → idle (state_after c self es).
Proof. intros Hself. apply run_invariant; [done|]. intros. by apply idle_step. Qed.

Lemma idle_state self es (s := state_after c self es) :
  config_replicas c ≤ self → role_now s = Follower ∧ log s = im_empty ∧ candidates s = im_empty ∧ promises s = ns_empty.
Proof. intros []%(idle_run self es). done. Qed.

(* --- So all is small. ---------------------------------------------------------------------------------------------------- *)

Lemma keys_in_size {V} lo hi (m : imap V) : keys_in lo hi m → im_size m ≤ hi - lo.
Proof. apply im_size_le. Qed.

Lemma small_state s :
  bounded c s →
  im_size (log s) ≤ config_span c ∧ im_size (decisions s) ≤ config_span c ∧ im_size (candidates s) ≤ config_span c ∧
  ns_size (promises s) ≤ config_replicas c ∧
  ∀ i e, im_get i (log s) = Some e → ns_size (entry_acks e) ≤ config_replicas c.
Proof.
  intros []. split_and!.
  - apply keys_in_size in b_log0. lia.
  - apply keys_in_size in b_decisions0. lia.
  - apply keys_in_size in b_candidates0. lia.
  - by apply ns_size_le.
  - intros i e He. by apply ns_size_le, (b_acks0 i).
Qed.
End handlers.
