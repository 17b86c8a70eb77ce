(* One replica through crashes: it recovers what it must, and its short journal is as good as the long one. The theorems are
   stated in StatementsReplay.v. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model PrimFacts Network Run Bounded Replay Kept.
Local Open Scope N_scope.

Lemma prefix_snoc {A} (l k : list A) x : l `prefix_of` k ++ [x] → l `prefix_of` k ∨ l = k ++ [x].
Proof.
  intros [t Ht]. destruct t as [|y t _] using rev_ind.
  - right. by rewrite app_nil_r in Ht.
  - left. rewrite assoc_L in Ht by apply _. apply app_inj_tail in Ht as [-> _]. by exists t.
Qed.

Section restart.
Context (c : config) (self : replica).

(* --- Soundness is for ever. --------------------------------------------------------------------------------------------- *)

Lemma sound_init : sound c init.
Proof. split; [apply bounded_init|]. intros i e. cbn. by rewrite im_get_empty. Qed.

Lemma sound_step e s : sound c s → sound c (step c self e s).1.
Proof.
  intros H. split; [apply bounded_step, H|]. by destruct (keeps_step c self e s H) as (_ & ? & _).
Qed.

Lemma sound_restarted s : sound c s → sound c (restarted s).
Proof.
  intros [[] Hv]. split; [split; cbn; try done; try lia|].
  - intros i x (e & ? & _)%votes_get_Some. eauto.
  - intros i x (e & _ & ->)%votes_get_Some. apply voters_empty.
  - intros i x (e & ? & ->)%votes_get_Some. cbn. eauto.
Qed.

Lemma sound_run es : sound c (state_after c self es).
Proof. apply run_invariant; [apply sound_init|]. intros. by apply sound_step. Qed.

(* --- The short journal. --------------------------------------------------------------------------------------------------- *)

Definition within_map {V} (d m : imap V) : Prop := ∀ i x, im_get i d = Some x → im_get i m = Some x.

(* Learning some entries of m ends with a part of m that has them all. *)
Lemma learn_part m l s :
  (∀ i v, (i, v) ∈ l → low s ≤ i < low s + config_span c ∧ im_get i m = Some v) → within_map (decisions s) m →
  ∃ d, fold_left (learn c) (map decision_of l) s = set_decisions d s ∧ within_map d m ∧ within_map (decisions s) d ∧
    ∀ i v, (i, v) ∈ l → im_get i d = Some v.
Proof.
  revert s. induction l as [|[i v] l IH]; intros s Hl Hm; cbn [map fold_left].
  { exists (decisions s). split_and!; [by destruct s|done|by intros ?|]. by intros ? ? ?%elem_of_nil. }
  destruct (Hl i v (elem_of_list_here _ _)) as [Hi Hv].
  set (s1 := learn c s (decision_of (i, v))).
  assert (∃ d, s1 = set_decisions d s ∧ within_map d m ∧ within_map (decisions s) d ∧ im_get i d = Some v) as (d & E & H1 & H2 & H3).
  { subst s1. unfold learn, in_span; cbn.
    rewrite (proj2 (N.leb_le _ _)), (proj2 (N.ltb_lt _ _)) by lia. cbn.
    destruct (im_has i (decisions s)) eqn:Hh; cbn.
    - apply im_has_true in Hh as [u Hu]. exists (decisions s). split_and!; [by destruct s|done|by intros ?|].
      specialize (Hm i u Hu). congruence.
    - apply im_has_false in Hh. exists (im_set i v (decisions s)). split_and!; [done| | |by rewrite im_get_set, decide_True].
      + intros j u [[-> ->]|[_ ?]]%im_get_set_Some; auto.
      + intros j u Hu. rewrite im_get_set. case_decide; [congruence|done]. }
  clearbody s1. subst s1. destruct (IH (set_decisions d s)) as (d' & -> & H4 & H5 & H6).
  { intros j u ?. apply Hl. by right. }
  { done. }
  exists d'. split_and!; [done|done|by intros j u ?%H2%H5|].
  intros j u [[= -> ->]|?]%elem_of_cons; auto.
Qed.

(* So does replaying votes, if nobody promised more. *)
Lemma replay_part m l s :
  (∀ i e, (i, e) ∈ l → entry_ballot e ≤ promised s ∧ im_get i m = Some (forget_acks e)) → within_map (log s) m →
  ∃ d, fold_left (replay c) (map vote_record l) s = set_log d s ∧ within_map d m ∧ within_map (log s) d ∧
    ∀ i e, (i, e) ∈ l → im_get i d = Some (forget_acks e).
Proof.
  revert s. induction l as [|[i e] l IH]; intros s Hl Hm; cbn.
  { exists (log s). split_and!; [by destruct s|done|by intros ?|]. by intros ? ? ?%elem_of_nil. }
  destruct (Hl i e (elem_of_list_here _ _)) as [Hb Hi].
  unfold remember at 1. rewrite (proj2 (N.ltb_ge _ _)) by done. unfold replay_vote at 1. fold (forget_acks e).
  set (s1 := set_log (im_set i (forget_acks e) (log s)) s).
  destruct (IH s1) as (d & -> & H1 & H2 & H3).
  - intros j x ?. apply Hl. by right.
  - intros j x [[-> ->]|[_ ?]]%im_get_set_Some; auto.
  - assert (im_get i d = Some (forget_acks e)) as Hd by (apply H2; cbn; by rewrite im_get_set, decide_True).
    exists d. split_and!; [done|done| |].
    + intros j x Hx. destruct (decide (j = i)) as [->|]; [specialize (Hm _ _ Hx); congruence|].
      apply H2. cbn. by rewrite im_get_set, decide_False.
    + intros j x [[= -> ->]|?]%elem_of_cons; auto.
Qed.

Lemma within_map_full {V} (d m : imap V) : within_map d m → (∀ i x, im_get i m = Some x → im_get i d = Some x) → d = m.
Proof.
  intros H1 H2. apply im_ext. intros i. destruct (im_get i m) as [x|] eqn:E; [by apply H2|].
  destruct (im_get i d) as [x|] eqn:E'; [|done]. apply H1 in E'. congruence.
Qed.

(* All of the restarted state but its votes and decisions. *)
Definition foundation (s : state) : state :=
  {| promised := promised s; role_now := Follower; low := low s; executed := snapshot_at s; next := 0; first := 0;
     promises := ns_empty; candidates := im_empty; log := im_empty; decisions := im_empty;
     snapshot_at := snapshot_at s; snapshot := snapshot s |}.

Lemma drop_empty {V} k : im_drop_below k (im_empty : imap V) = im_empty.
Proof. apply im_ext. intros i. rewrite im_get_drop, im_get_empty. by case_decide. Qed.

Lemma replay_foundation s :
  fold_left (replay c) [Record_Truncate (low s); Record_Snapshot (snapshot_at s) (snapshot s); Record_Ballot (promised s)] init
  = foundation s.
Proof.
  unfold foundation; cbn. unfold remember, drop_below; cbn. rewrite !drop_empty.
  destruct (0 <? promised s) eqn:E; [done|]. apply N.ltb_ge in E. by replace (promised s) with 0 by lia.
Qed.

Lemma recover_checkpoint s : sound c s → recover c (checkpoint c s) = restarted s.
Proof.
  intros [[] Hv]. unfold recover, checkpoint.
  change (?a :: ?b :: ?x :: ?y :: ?l) with ([a; b; x] ++ y :: l). rewrite <- app_assoc, !fold_left_app, replay_foundation. cbn.
  set (range := im_range _ _ (decisions s)). set (votes := im_range _ _ (log s)).
  destruct (learn_part (decisions s) range (foundation s)) as (d & -> & H1 & _ & H2).
  { intros i v. apply im_range_elem. }
  { intros i v. cbn. by rewrite im_get_empty. }
  rewrite (within_map_full d (decisions s)); [|done|].
  2: { intros i v Hi. apply H2, im_range_elem. split; [eauto|done]. }
  destruct (replay_part (votes_only (log s)) votes (set_decisions (decisions s) (foundation s))) as (l & -> & H3 & _ & H4).
  { intros i e [_ He]%im_range_elem. split; [by eapply Hv|]. by rewrite votes_get, He. }
  { intros i v. cbn. by rewrite im_get_empty. }
  rewrite (within_map_full l (votes_only (log s))); [done|done|].
  intros i x (e & He & ->)%votes_get_Some. apply H4, im_range_elem. split; [eauto|done].
Qed.

(* --- Runs without a crash. ------------------------------------------------------------------------------------------------ *)

Definition journal_after (es : list event) : list record := records (outputs_after c self es).

Lemma journal_snoc es e : journal_after (es ++ [e]) = journal_after es ++ records (step_outputs c self es e).
Proof. unfold journal_after, records. by rewrite outputs_after_snoc, omap_app. Qed.

Lemma recover_run es : recover c (journal_after es) = restarted (state_after c self es).
Proof.
  induction es as [|e es IH] using rev_ind; [symmetry; apply restarted_init|].
  rewrite journal_snoc. unfold recover. rewrite fold_left_app. fold (recover c (journal_after es)). rewrite IH, state_after_snoc.
  apply replay_step, sound_run.
Qed.

Lemma found_durable es (live := state_after c self es) (found := recover c (journal_after es)) :
  promised found = promised live ∧ low found = low live ∧ decisions found = decisions live ∧
  snapshot_at found = snapshot_at live ∧ snapshot found = snapshot live.
Proof. subst found. by rewrite recover_run. Qed.

Lemma found_log es i :
  im_get i (log (recover c (journal_after es))) =
  match im_get i (log (state_after c self es)) with
  | Some e => Some {| entry_ballot := entry_ballot e; entry_value := entry_value e; entry_acks := ns_empty |}
  | None => None
  end.
Proof. rewrite recover_run. apply votes_get. Qed.

Lemma found_position es (live := state_after c self es) (found := recover c (journal_after es)) :
  role_now found = Follower ∧ executed found = snapshot_at live ∧ snapshot_at live ≤ executed live.
Proof. subst found. rewrite recover_run. split_and!; [done..|]. by destruct (bounded_run c self es) as [(? & ? & ?)]. Qed.

Lemma recover_continues es rs :
  recover c (checkpoint c (state_after c self es) ++ rs) = recover c (journal_after es ++ rs).
Proof.
  pose proof (recover_run es) as Hj. pose proof (recover_checkpoint _ (sound_run es)) as Hc.
  unfold recover in *. rewrite !fold_left_app. congruence.
Qed.

Lemma records_accept src b i v s : (length (records (accept src b i v s).2) ≤ 1)%nat.
Proof. unfold accept. repeat case_match; cbn; lia. Qed.

(* One step writes one record at most. *)
Lemma records_few e s : (length (records (step c self e s).2) ≤ 1)%nat.
Proof.
  destruct e as [src m| | | | | | |]; [destruct m| | | | | | |]; cbn.
  all: unfold on_prepare, on_promise, on_propose, on_accept, on_commit, on_ballot, on_query, on_learned, on_snapshot, on_forward,
    on_request, propose, on_suspect, on_heartbeat, on_execute, on_catch_up, on_taken, on_truncate.
  all: repeat case_match; cbn; rewrite ?records_reproposals; cbn; try lia; apply records_accept.
Qed.

Lemma prefix_run es rs : rs `prefix_of` journal_after es → ∃ es', es' `prefix_of` es ∧ journal_after es' = rs.
Proof.
  induction es as [|e es IH] using rev_ind; intros H.
  - exists []. split; [done|]. by apply prefix_nil_inv in H.
  - rewrite journal_snoc in H. pose proof (records_few e (state_after c self es)) as Hl. fold (step_outputs c self es e) in Hl.
    assert (rs `prefix_of` journal_after es ∨ rs = journal_after (es ++ [e])) as [(es' & ? & ?)%IH| ->].
    + rewrite journal_snoc. destruct (records _) as [|r [|]]; cbn in Hl; [|by apply prefix_snoc in H as [?|?]; auto|lia].
      rewrite app_nil_r in H. by left.
    + exists es'. split; [by apply prefix_app_r|done].
    + by exists (es ++ [e]).
Qed.

Lemma recover_prefix es rs :
  rs `prefix_of` journal_after es →
  ∃ es', es' `prefix_of` es ∧ journal_after es' = rs ∧ recover c rs = restarted (state_after c self es').
Proof. intros (es' & ? & <-)%prefix_run. exists es'. by rewrite recover_run. Qed.

(* What was said holds in whatever is recovered from then on. *)
Lemma said_kept es e es' o m :
  o ∈ step_outputs c self es e → message_of o = Some m → kept m (recover c (journal_after (es ++ [e] ++ es'))).
Proof.
  intros Ho Hm. rewrite recover_run, <- kept_restarted. unfold step_outputs in Ho.
  induction es' as [|e' es' IH] using rev_ind.
  - rewrite app_nil_r, state_after_snoc. destruct (keeps_step c self e (state_after c self es)) as (_ & _ & H); [apply sound_run|eauto].
  - rewrite !assoc_L in * by apply _. rewrite state_after_snoc.
    destruct (keeps_step c self e' (state_after c self ((es ++ [e]) ++ es'))) as (Hg & _); [apply sound_run|].
    by eapply grows_kept.
Qed.

(* --- Runs with crashes. ---------------------------------------------------------------------------------------------------- *)

(* What one step writes, and what it says. *)
Record moment := Moment { wrote : list record; said : list message }.
Definition moment_of (outs : list output) : moment := {| wrote := records outs; said := omap message_of outs |}.

(* [life base ms old s]: the journal holds [base] and what the steps [ms] wrote since; they said what they said, and [old] was
   said before; the replica is in state s. A crash loses the latest of [ms], and with them what they said: it has not left the
   replica, since it waits for the journal. The journal may be replaced by the checkpoint of the state, all at once. *)
Inductive life : list record → list moment → list message → state → Prop :=
| life_start : life [] [] [] init
| life_step base ms old s e :
    life base ms old s → life base (ms ++ [moment_of (step c self e s).2]) old (step c self e s).1
| life_crash base ms old s ms' :
    life base ms old s → ms' `prefix_of` ms → life base ms' old (recover c (base ++ (ms' ≫= wrote)))
| life_shorten base ms old s :
    life base ms old s → life (checkpoint c s) [] (old ++ (ms ≫= said)) s.

(* The journal says what the state is, and the state keeps what was said. *)
Record fits (base : list record) (ms : list moment) (old : list message) (s : state) : Prop := Fits {
  fits_sound : sound c s;
  fits_journal : recover c (base ++ (ms ≫= wrote)) = restarted s;
  fits_said : ∀ m, m ∈ old ++ (ms ≫= said) → kept m s }.

Lemma fits_step base ms old s e :
  fits base ms old s → fits base (ms ++ [moment_of (step c self e s).2]) old (step c self e s).1.
Proof.
  intros [Hs Hj Hk]. destruct (keeps_step c self e s Hs) as (Hg & _ & Ho). split.
  - by apply sound_step.
  - rewrite bind_app. cbn [mbind list_bind]. rewrite app_nil_r, assoc_L by apply _.
    unfold recover. rewrite fold_left_app. fold (recover c (base ++ (ms ≫= wrote))). rewrite Hj.
    apply replay_step, Hs.
  - intros m. rewrite bind_app, assoc_L by apply _. rewrite elem_of_app. intros [Hm|Hm].
    + eapply grows_kept; eauto.
    + cbn in Hm. rewrite app_nil_r in Hm. apply elem_of_list_omap in Hm as (o & ? & ?). eauto.
Qed.

Lemma fits_restarted base ms old s : fits base ms old s → fits base ms old (restarted s).
Proof.
  intros [Hs Hj Hk]. split; [by apply sound_restarted|by rewrite restarted_restarted|].
  intros m Hm. rewrite <- kept_restarted. auto.
Qed.

Lemma life_fits base ms old s :
  life base ms old s → fits base ms old s ∧ ∀ ms', ms' `prefix_of` ms → ∃ s', fits base ms' old s'.
Proof.
  induction 1 as [|base ms old s e _ [IH IHp]|base ms old s ms' _ [IH IHp] Hp|base ms old s _ [IH IHp]].
  - assert (fits [] [] [] init).
    { split; [apply sound_init|symmetry; apply restarted_init|]. by intros m ?%elem_of_nil. }
    split; [done|]. intros ms' ->%prefix_nil_inv. eauto.
  - apply (fits_step _ _ _ _ e) in IH as IH'. split; [done|].
    intros ms' [?| ->]%prefix_snoc; eauto.
  - destruct (IHp _ Hp) as (s' & Hs'). split.
    + rewrite (fits_journal _ _ _ _ Hs'). by apply fits_restarted.
    + intros ms'' Hp'. apply IHp. by etrans.
  - assert (fits (checkpoint c s) [] (old ++ (ms ≫= said)) s).
    { destruct IH as [Hs Hj Hk]. split; [done| |].
      - cbn. rewrite app_nil_r. by apply recover_checkpoint.
      - intros m. cbn. rewrite app_nil_r. auto. }
    split; [done|]. intros ms' ->%prefix_nil_inv. eauto.
Qed.

Lemma life_recover base ms old s : life base ms old s → recover c (base ++ (ms ≫= wrote)) = restarted s.
Proof. by intros [[] _]%life_fits. Qed.

Lemma life_kept base ms old s m :
  life base ms old s → m ∈ old ++ (ms ≫= said) → kept m (recover c (base ++ (ms ≫= wrote))).
Proof. intros [[_ Hj Hk] _]%life_fits Hm. rewrite Hj, <- kept_restarted. auto. Qed.

Lemma life_marks base ms old s :
  life base ms old s →
  low s ≤ snapshot_at s ∧ snapshot_at s ≤ executed s ∧ executed s ≤ low s + config_span c ∧
  (∀ i e, im_get i (log s) = Some e → low s ≤ i < low s + config_span c) ∧
  (∀ i v, im_get i (decisions s) = Some v → low s ≤ i < low s + config_span c).
Proof. intros [[[[(? & ? & ?) ? ?] _]] _]%life_fits. done. Qed.
End restart.
