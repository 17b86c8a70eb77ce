(* What a replica finds in its journal when it restarts. The theorems are stated in StatementsReplay.v. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model PrimFacts Network Run Bounded.
Local Open Scope N_scope.

(* What outlives a crash of a replica whose journal is whole: ballot, marks, snapshot, votes and decisions. It follows, stands at
   its snapshot, and has forgotten who else has voted as it did. *)
Definition forget_acks (e : entry) : entry :=
  {| entry_ballot := entry_ballot e; entry_value := entry_value e; entry_acks := ns_empty |}.
Definition votes_only (m : imap entry) : imap entry := fmap (M := gmap N) forget_acks m.
Arguments votes_only : simpl never.
Definition restarted (s : state) : state :=
  {| promised := promised s; role_now := Follower; low := low s; executed := snapshot_at s; next := 0; first := 0;
     promises := ns_empty; candidates := im_empty; log := votes_only (log s); decisions := decisions s;
     snapshot_at := snapshot_at s; snapshot := snapshot s |}.

(* The records among some outputs. *)
Definition records (outs : list output) : list record := omap entry_of_journal outs.

(* --- Votes without acknowledgements. ----------------------------------------------------------------------------------- *)

Lemma votes_get i m : im_get i (votes_only m) = forget_acks <$> im_get i m.
Proof. apply (lookup_fmap (M := gmap N)). Qed.

Lemma votes_get_Some i m x : im_get i (votes_only m) = Some x ↔ ∃ e, im_get i m = Some e ∧ x = forget_acks e.
Proof. rewrite votes_get, fmap_Some. done. Qed.

Lemma votes_empty : votes_only im_empty = im_empty.
Proof. apply (fmap_empty (M := gmap N)). Qed.

Lemma votes_set i e m : votes_only (im_set i e m) = im_set i (forget_acks e) (votes_only m).
Proof. apply (fmap_insert (M := gmap N)). Qed.

(* One acknowledgement more or less makes no difference. *)
Lemma votes_ack i e e' m : im_get i m = Some e → forget_acks e' = forget_acks e → votes_only (im_set i e' m) = votes_only m.
Proof.
  intros He Hf. apply im_ext. intros j. rewrite votes_set, im_get_set, votes_get. case_decide; [|done]. subst.
  by rewrite He, Hf.
Qed.

Lemma votes_drop k m : votes_only (im_drop_below k m) = im_drop_below k (votes_only m).
Proof. apply im_ext. intros i. rewrite im_get_drop, !votes_get, im_get_drop. by case_decide. Qed.

Lemma votes_votes m : votes_only (votes_only m) = votes_only m.
Proof. apply im_ext. intros i. rewrite !votes_get. by destruct (im_get i m). Qed.

(* --- What every state that comes about fulfils. ------------------------------------------------------------------------- *)

Definition votes_below (s : state) : Prop := ∀ i e, im_get i (log s) = Some e → entry_ballot e ≤ promised s.

Record sound (c : config) (s : state) : Prop := Sound { sound_bounded : bounded c s; sound_votes : votes_below s }.

(* --- Replaying one step's records does to the restarted state what the step did to the live one. ------------------------- *)

Section steps.
Context (c : config) (self : replica).

Lemma next_ballot_above n b : self < n → b < next_ballot n self b.
Proof.
  intros H. unfold next_ballot. rewrite (N.div_mod b n) at 1 by lia.
  pose proof (N.mod_lt b n). nia.
Qed.

Lemma restarted_init : restarted init = init.
Proof. unfold restarted, init; cbn. by rewrite votes_empty. Qed.

Lemma restarted_restarted s : restarted (restarted s) = restarted s.
Proof. unfold restarted; cbn. by rewrite votes_votes. Qed.

Lemma restarted_remember b s : promised s < b → restarted (set_promised b s) = remember b (restarted s).
Proof. intros H%N.ltb_lt. unfold remember; cbn. by rewrite H. Qed.

Lemma restarted_vote b i v a s :
  restarted (set_log (im_set i (Entry b v a) (log s)) s) = replay_vote b i v (restarted s).
Proof. unfold restarted, replay_vote; cbn. by rewrite votes_set. Qed.

Lemma restarted_learn s d : restarted (learn c s d) = learn c (restarted s) d.
Proof. unfold learn, in_span; cbn. by destruct (_ && _). Qed.

Lemma restarted_learned ds s : restarted (fold_left (learn c) ds s) = fold_left (learn c) ds (restarted s).
Proof. revert s. induction ds as [|d ds IH]; intros s; cbn; [done|]. by rewrite IH, restarted_learn. Qed.

Lemma restarted_decided b i e s :
  im_get i (log s) = Some e → entry_ballot e = b →
  restarted (set_decisions (im_set i (entry_value e) (decisions s)) s) = replay_decided b i (restarted s).
Proof. intros He <-. unfold replay_decided; cbn. rewrite votes_get, He; cbn. by rewrite N.eqb_refl. Qed.

Lemma restarted_drop k s : restarted (drop_below k s) = drop_below k (restarted s).
Proof. unfold restarted, drop_below; cbn. by rewrite votes_drop. Qed.

Lemma restarted_install k x s : restarted (install k x s) = install k x (restarted s).
Proof. unfold restarted, install; cbn. by rewrite votes_drop. Qed.

Lemma records_reproposals b lo hi m : records (reproposals b lo hi m) = [].
Proof. unfold reproposals. by induction (n_range lo hi). Qed.

Lemma replay_accept src b i v s :
  b = promised s →
  fold_left (replay c) (records (accept src b i v s).2) (restarted s) = restarted (accept src b i v s).1.
Proof.
  intros ->. unfold accept.
  assert (remember (promised s) (restarted s) = restarted s) as Hr by (unfold remember; cbn; by rewrite N.ltb_irrefl).
  repeat case_match; cbn; rewrite ?Hr; try done; symmetry; apply restarted_vote.
Qed.

Lemma replay_accept_above src b i v s :
  promised s < b → votes_below s →
  fold_left (replay c) (records (accept src b i v (set_promised b s)).2) (restarted s)
  = restarted (accept src b i v (set_promised b s)).1.
Proof.
  intros Hb Hv. unfold accept; cbn. destruct (im_get i (log s)) as [e|] eqn:He.
  - specialize (Hv _ _ He). destruct (_ =? _) eqn:E; guards; [lia|]. cbn.
    rewrite <- restarted_remember by done. symmetry. apply (restarted_vote _ _ _ _ (set_promised b s)).
  - cbn. rewrite <- restarted_remember by done. symmetry. apply (restarted_vote _ _ _ _ (set_promised b s)).
Qed.

Lemma replay_receive src m s :
  votes_below s →
  fold_left (replay c) (records (receive c self src m s).2) (restarted s) = restarted (receive c self src m s).1.
Proof.
  intros Hv. destruct m; cbn.
  - unfold on_prepare. repeat case_match; cbn; try done. guards. symmetry. by apply restarted_remember.
  - unfold on_promise. repeat case_match; cbn; by rewrite ?records_reproposals.
  - unfold on_propose. repeat case_match; cbn; try done; guards; [by apply replay_accept|by apply replay_accept_above].
  - unfold on_accept. destruct (_ && _); [|done]. destruct (im_get i (log s)) as [e|] eqn:He; [|done].
    destruct (_ =? _) eqn:E; [|done]. guards.
    set (e' := Entry b (entry_value e) _). set (s1 := set_log (im_set i e' (log s)) s).
    assert (restarted s1 = restarted s) as Hs.
    { unfold restarted; cbn. rewrite (votes_ack i e) by (try done; unfold forget_acks; cbn; by rewrite E). done. }
    destruct (majority _ _); cbn; [|done]. rewrite <- Hs. symmetry.
    apply (restarted_decided b i e' s1); [|done]. cbn. rewrite im_get_set. by rewrite decide_True.
  - unfold on_commit. destruct (im_has _ _); [done|]. destruct (im_get i (log s)) as [e|] eqn:He; [|done].
    destruct (_ =? _) eqn:E; [|done]. guards. cbn. symmetry. by apply restarted_decided.
  - unfold on_ballot. case_match; cbn; [|done]. guards. symmetry. by apply restarted_remember.
  - unfold on_ballot. case_match; cbn; [|done]. guards. symmetry. by apply restarted_remember.
  - unfold on_query. by case_match.
  - cbn. symmetry. apply restarted_learned.
  - unfold on_snapshot. case_match; cbn; [|done]. symmetry. apply (restarted_install _ _ (set_next _ s)).
  - done.
  - unfold on_forward, propose. by repeat case_match.
Qed.

Lemma replay_step e s :
  votes_below s →
  fold_left (replay c) (records (step c self e s).2) (restarted s) = restarted (step c self e s).1.
Proof.
  intros Hv. destruct e; cbn.
  - by apply replay_receive.
  - unfold on_request, propose. by repeat case_match.
  - unfold on_suspect. case_match; cbn; [|done]. guards. symmetry. apply restarted_remember. by apply next_ballot_above.
  - done.
  - unfold on_execute. by case_match.
  - unfold on_catch_up. by case_match.
  - unfold on_taken. by case_match.
  - unfold on_truncate. case_match; cbn; [|done]. symmetry. apply restarted_drop.
Qed.

(* A record comes before all else that its step puts out. *)
Definition no_record (o : output) : Prop := entry_of_journal o = None.

Lemma reproposals_no_record b lo hi m : Forall no_record (tail (reproposals b lo hi m)).
Proof.
  assert (Forall no_record (reproposals b lo hi m)) as H by (unfold reproposals; induction (n_range lo hi); repeat constructor; done).
  destruct H; [constructor|done].
Qed.

Lemma record_leads e s : Forall no_record (tail (step c self e s).2).
Proof.
  destruct e as [src m| | | | | | |]; [destruct m|..]; cbn;
    unfold on_prepare, on_promise, on_propose, accept, on_accept, on_commit, on_ballot, on_query, on_snapshot, on_forward,
      on_request, propose, on_suspect, on_execute, on_catch_up, on_taken, on_truncate;
    repeat case_match; simplify_eq/=; try apply reproposals_no_record; repeat constructor.
Qed.

Lemma record_first e s outs r outs' : (step c self e s).2 = outs ++ Output_Journal r :: outs' → outs = [].
Proof.
  intros E. pose proof (record_leads e s) as H. rewrite E in H. destruct outs as [|o outs]; [done|].
  cbn in H. rewrite list.Forall_app in H. destruct H as [_ H]. by inversion_clear H.
Qed.
End steps.
