(* Acceptors, learners, catch-up and snapshots: each handler does only what a replica may do. *)
From stdpp Require Import gmap list numbers sets.
Require Import Prim PrimFacts Model Network SafetyChosen SafetyStep.
Local Open Scope N_scope.

(* Decide [quiet] (below) of literal outputs, up to what they say to be chosen. *)
Ltac quiet := split; [intros ? ?; outs; subst; try done | intros ? ? ?; outs; try done].

Section handlers.
Context (c : config) (w : view) (a : replica) (e : event) (I : inv c w).
Notation n := (config_replicas c).
Notation s := (current w a).
Notation does := (lstep c w a e).
Let R := i_replica _ _ I a.

(* --- Handlers that neither vote nor promise nor propose. -------------------------------------------------------- *)

(* Phase 1 and the lead go on as they were, or end as a greater ballot is promised. *)
Definition same_role (s' : state) : Prop :=
  (promised s < promised s' ∧ role_now s' = Follower) ∨
  (promised s' = promised s ∧ role_now s' = role_now s ∧ first s' = first s ∧ promises s' = promises s ∧
   candidates s' = candidates s ∧ next s ≤ next s').

Lemma same_role_refl : same_role s.
Proof. right. split_and!; done. Qed.
Lemma same_role_promised s' : same_role s' → promised s ≤ promised s'.
Proof. intros [[??]|[-> _]]; lia. Qed.
Lemma same_role_role s' : same_role s' → promised s' = promised s →
  (role_now s = Follower → role_now s' = Follower) ∧
  (role_now s = Leading → role_now s' = Leading ∧ next s ≤ next s').
Proof. intros [[??]|(_&->&_&_&_&?)]; [lia|done]. Qed.

(* The part of the invariant that speaks of the role. *)
Lemma same_role_inv s' : same_role s' → low s' ≤ snapshot_at s' ∧ snapshot_at s' ≤ executed s' →
  (∀ i x, im_get i (log s') = Some x → entry_inv c (said w) s' i x) →
  (∀ i x, im_get i (decisions s') = Some x → chosen c (said w) i x) →
  replica_inv c (said w) a s'.
Proof.
  intros Hs H1 H2 H3. destruct R as [_ _ _ R4 R5 R6 R7].
  destruct Hs as [[Hp Hr]|(Ep & Er & Ef & Eps & Ec & Hn)].
  - split; try done; rewrite Hr; done.
  - split; try done; unfold promise_kept; rewrite ?Ep, ?Er, ?Ef, ?Eps, ?Ec; try done.
    + intros H. destruct (R4 H) as (? & ? & ?). split_and!; [done..|lia].
    + intros H x Hx. destruct (R6 H x Hx) as (? & votes & ? & Hu). split; [done|]. exists votes. split; [done|].
      intros u Hin. destruct (Hu u Hin). split; [lia|done].
Qed.

(* Outputs that commit the replica to nothing, and say only what is so. *)
Definition quiet (outs : list output) : Prop :=
  (∀ m, sends outs m → match m with
     | Message_Accept _ _ | Message_Prepare _ _ | Message_Promise _ _ _ | Message_Propose _ _ _ => False
     | Message_Commit b i => ratified c (said w) b i
     | Message_Learned ds => ∀ d, d ∈ ds → chosen c (said w) (decision_instance d) (decision_value d)
     | Message_Forward x => requested (said w) x ∨ e = Event_Request x
     | _ => True end) ∧
  (∀ i x, Output_Deliver i x ∈ outs → chosen c (said w) i x).

Lemma does_quiet s' outs : same_role s' → extends s s' →
  low s' ≤ snapshot_at s' ∧ snapshot_at s' ≤ executed s' →
  (∀ i x, im_get i (log s') = Some x → entry_inv c (said w) s' i x) →
  (∀ i x, im_get i (decisions s') = Some x → chosen c (said w) i x) →
  quiet outs → does s' outs.
Proof.
  intros Hs Hext HL Hl Hd [M1 M2].
  split; try (intros; match goal with H : sends _ _ |- _ => destruct (M1 _ H) end; fail); try done.
  - by apply same_role_role.
  - intros b i Hm. apply (M1 _ Hm).
  - intros ds d Hm. apply (M1 _ Hm).
  - intros x Hm. apply (M1 _ Hm).
  - by apply same_role_inv.
Qed.

(* Log, promise and low mark stay. *)
Lemma extends_same s' : promised s ≤ promised s' → low s' = low s → log s' = log s → extends s s'.
Proof. intros Hp El Elog. split; rewrite ?El, ?Elog; [done..|]. intros i x Hx. right. by exists x. Qed.
Lemma entry_same s' i x : promised s ≤ promised s' → low s ≤ low s' → im_get i (log s) = Some x →
  entry_inv c (said w) s' i x.
Proof. intros Hp Hl Hx. destruct (ri_log _ _ _ _ R i x Hx) as (?&?&?&?). split_and!; try done; lia. Qed.

(* Nothing changes. *)
Lemma does_nothing outs : quiet outs → does s outs.
Proof. intros H. by apply does_quiet; [apply same_role_refl|by apply extends_same|apply R..|]. Qed.
Lemma h_heartbeat s' outs : on_heartbeat s = (s', outs) → does s' outs.
Proof. intros [= <- <-]. apply does_nothing. quiet. Qed.
Lemma h_ballot b s' outs : on_ballot b s = (s', outs) → does s' outs.
Proof.
  unfold on_ballot. destruct (promised s <? b) eqn:E; intros [= <- <-]; [|apply does_nothing; quiet].
  apply N.ltb_lt in E. apply does_quiet; simpl; [by left|apply extends_same; simpl; [lia|done..]|apply R| |apply R|quiet].
  intros i x. apply entry_same; simpl; lia.
Qed.

(* --- Learning and delivery. ------------------------------------------------------------------------------------- *)

(* Only [decisions] and [executed] change. *)
Lemma does_learn d k outs : (∀ i x, im_get i d = Some x → chosen c (said w) i x) → executed s ≤ k → quiet outs →
  does (set_executed k (set_decisions d s)) outs.
Proof.
  intros Hd Hk M. destruct (ri_low _ _ _ _ R). apply does_quiet; simpl; try done.
  - apply same_role_refl.
  - by apply extends_same.
  - split; [done|lia].
  - intros i x. by apply entry_same.
Qed.
Lemma does_decide i x outs : chosen c (said w) i x → quiet outs →
  does (set_decisions (im_set i x (decisions s)) s) outs.
Proof.
  intros Hc M. change (set_decisions (im_set i x (decisions s)) s)
    with (set_executed (executed s) (set_decisions (im_set i x (decisions s)) s)).
  apply does_learn; [|done|done]. intros j u. rewrite im_get_set. case_decide; [by intros [= <-]; subst|].
  apply (ri_decisions _ _ _ _ R).
Qed.
Lemma h_execute s' outs : on_execute s = (s', outs) → does s' outs.
Proof.
  unfold on_execute. destruct (im_get (executed s) (decisions s)) as [x|] eqn:E; intros [= <- <-];
    [|apply does_nothing; quiet].
  change (set_executed (executed s + 1) s) with (set_executed (executed s + 1) (set_decisions (decisions s) s)).
  apply does_learn; [apply R|lia|]. quiet.
  match goal with H : Output_Deliver _ _ = _ |- _ => injection H as -> -> end. by apply (ri_decisions _ _ _ _ R).
Qed.
Lemma h_commit src b i s' outs : sent (said w) src (Message_Commit b i) → on_commit b i s = (s', outs) → does s' outs.
Proof.
  intros Hs. unfold on_commit. destruct (im_has i (decisions s)); [intros [= <- <-]; apply does_nothing; quiet|].
  destruct (im_get i (log s)) as [x|] eqn:E; [|intros [= <- <-]; apply does_nothing; quiet].
  destruct (entry_ballot x =? b) eqn:E1; intros [= <- <-]; [|apply does_nothing; quiet]. apply N.eqb_eq in E1 as <-.
  apply does_decide; [|quiet]. exists (entry_ballot x). split; [by eapply (i_commit _ _ I)|].
  by apply (ri_log _ _ _ _ R).
Qed.
(* [on_learned] changes only [decisions], where it adds some of what it was told. *)
Lemma learn_all ds g : ∃ d, fold_left (learn c) ds g = set_decisions d g ∧
  ∀ i x, im_get i d = Some x → im_get i (decisions g) = Some x ∨
    ∃ y, y ∈ ds ∧ decision_instance y = i ∧ decision_value y = x.
Proof.
  revert g. induction ds as [|y l IH]; intros g; simpl.
  - exists (decisions g). split; [by destruct g|auto].
  - destruct (IH (learn c g y)) as (d & -> & Hd). exists d. split; [unfold learn; by case_match|].
    intros i x Hi. destruct (Hd i x Hi) as [H|(z & ? & ?)]; [|right; exists z; split; [by right|done]].
    revert H. unfold learn. case_match; [|auto]. simpl. rewrite im_get_set. case_decide; [|auto].
    intros [= <-]. right. exists y. split; [by left|done].
Qed.
Lemma h_learned src ds s' outs : sent (said w) src (Message_Learned ds) → on_learned c ds s = (s', outs) → does s' outs.
Proof.
  intros Hs [= <- <-]. destruct (learn_all ds s) as (d & -> & Hd).
  change (set_decisions d s) with (set_executed (executed s) (set_decisions d s)).
  apply does_learn; [|done|quiet]. intros i x Hi. destruct (Hd i x Hi) as [H|(y & Hy & <- & <-)].
  - by apply (ri_decisions _ _ _ _ R).
  - by eapply (i_learned _ _ I).
Qed.
(* The proposer counts votes and, with a majority, announces. *)
Lemma h_accepted src b i s' outs : sent (said w) src (Message_Accept b i) → on_accept c src b i s = (s', outs) →
  does s' outs.
Proof.
  intros Hs. unfold on_accept. destruct (src <? n) eqn:En; simpl; [|intros [= <- <-]; apply does_nothing; quiet].
  destruct (negb (im_has i (decisions s))); simpl; [|intros [= <- <-]; apply does_nothing; quiet].
  destruct (im_get i (log s)) as [x|] eqn:E; [|intros [= <- <-]; apply does_nothing; quiet].
  destruct (entry_ballot x =? b) eqn:E1; [|intros [= <- <-]; apply does_nothing; quiet].
  apply N.eqb_eq in E1 as <-. apply N.ltb_lt in En.
  destruct (ri_log _ _ _ _ R i x E) as (Hb & Hspan & Hp & Hx). set (acks := ns_add src (entry_acks x)).
  assert (Hacks : ∀ y, y ∈ acks → y < n ∧ voted (said w) y (entry_ballot x) i).
  { intros y [->|Hin]%ns_elem_add; [done|auto]. }
  set (x1 := {| entry_ballot := entry_ballot x; entry_value := entry_value x; entry_acks := acks |}).
  assert (Hgen : ∀ d outs, (∀ j u, im_get j d = Some u → chosen c (said w) j u) → quiet outs →
     does (set_decisions d (set_log (im_set i x1 (log s)) s)) outs).
  { intros d outs0 Hd M. apply does_quiet; simpl; try done.
    - apply same_role_refl.
    - split; [done..|]. intros j y Hy. right. simpl. rewrite im_get_set. case_decide as Hj; [|by exists y].
      subst j. exists x1. split; [done|]. rewrite E in Hy. by injection Hy as <-.
    - apply R.
    - intros j y. rewrite im_get_set. case_decide; [|by apply entry_same]. intros [= <-]. by subst j. }
  destruct (majority n (ns_size acks)) eqn:Em; intros [= <- <-].
  - apply N.ltb_lt in Em. assert (Hr : ratified c (said w) (entry_ballot x) i).
    { exists acks. split; [split; [|done]|]; intros y Hy; by apply Hacks. }
    apply Hgen; [|quiet; by injection H as -> ->].
    intros j u. simpl. rewrite im_get_set. case_decide; [|apply R]. intros [= <-]. subst j. by exists (entry_ballot x).
  - change (set_log (im_set i x1 (log s)) s) with (set_decisions (decisions s) (set_log (im_set i x1 (log s)) s)).
    apply Hgen; [apply R|quiet].
Qed.

(* --- Catch-up, snapshots, truncation. --------------------------------------------------------------------------- *)

Lemma h_catch_up dst hi s' outs : on_catch_up dst hi s = (s', outs) → does s' outs.
Proof. unfold on_catch_up. case (_ <? _); intros [= <- <-]; apply does_nothing; quiet. Qed.
Lemma h_query src lo hi s' outs : on_query c src lo hi s = (s', outs) → does s' outs.
Proof.
  unfold on_query. case (_ <? _); intros [= <- <-]; apply does_nothing; quiet.
  intros d ([i x] & -> & Hp)%elem_of_list_fmap. apply im_range_elem in Hp as [_ Hp]. by apply (ri_decisions _ _ _ _ R).
Qed.
(* All is forgotten below k, which is in the snapshot, if need be by installing one. *)
Lemma does_forget s' k outs : same_role s' → low s ≤ k → low s' = k → k ≤ snapshot_at s' →
  snapshot_at s' ≤ executed s' → log s' = im_drop_below k (log s) → decisions s' = im_drop_below k (decisions s) →
  quiet outs → does s' outs.
Proof.
  intros Hr Hk El H1 H2 Elog Edec M. pose proof (same_role_promised s' Hr).
  apply does_quiet; rewrite ?El, ?Elog, ?Edec; try done.
  - split; rewrite ?El, ?Elog; [done..|]. intros i x Hx. destruct (decide (i < k)); [by left|right].
    exists x. split; [|done]. apply im_get_drop_Some. split; [lia|done].
  - intros i x [_ Hx]%im_get_drop_Some. by apply entry_same; [|rewrite El|].
  - intros i x [_ ?]%im_get_drop_Some. by apply (ri_decisions _ _ _ _ R).
Qed.
Lemma h_snapshot k x s' outs : on_snapshot k x s = (s', outs) → does s' outs.
Proof.
  unfold on_snapshot. destruct (executed s <? k) eqn:E; intros [= <- <-]; [|apply does_nothing; quiet].
  apply N.ltb_lt in E. destruct (ri_low _ _ _ _ R). apply does_forget with k; simpl; try done; [|lia|quiet].
  right. simpl. split_and!; try done. lia.
Qed.
Lemma h_taken k x s' outs : on_taken k x s = (s', outs) → does s' outs.
Proof.
  unfold on_taken. destruct (snapshot_at s <? k) eqn:E; simpl; [|intros [= <- <-]; apply does_nothing; quiet].
  destruct (k <=? executed s) eqn:E1; intros [= <- <-]; [|apply does_nothing; quiet].
  apply N.ltb_lt in E. apply N.leb_le in E1. destruct (ri_low _ _ _ _ R). apply does_quiet; simpl; try apply R.
  - apply same_role_refl.
  - by apply extends_same.
  - split; [lia|done].
  - quiet.
Qed.
Lemma h_truncate k s' outs : on_truncate k s = (s', outs) → does s' outs.
Proof.
  unfold on_truncate. destruct (low s <? k) eqn:E1; simpl; [|intros [= <- <-]; apply does_nothing; quiet].
  destruct (k <=? snapshot_at s) eqn:E2; intros [= <- <-]; [|apply does_nothing; quiet].
  apply N.ltb_lt in E1. apply N.leb_le in E2. destruct (ri_low _ _ _ _ R).
  apply does_forget with k; simpl; try done; [apply same_role_refl|lia|quiet].
Qed.

(* --- Promises and votes. ---------------------------------------------------------------------------------------- *)

Lemma h_prepare src b k s' outs : sent (said w) src (Message_Prepare b k) → on_prepare c a src b k s = (s', outs) →
  does s' outs.
Proof.
  intros Hs. unfold on_prepare. destruct (a <? n); [|intros [= <- <-]; apply does_nothing; quiet].
  destruct (promised s <? b) eqn:E1.
  2: { destruct (b <? promised s); intros [= <- <-]; apply does_nothing; quiet. }
  destruct (k <? low s) eqn:E2; intros [= <- <-]; [apply does_nothing; quiet|].
  apply N.ltb_lt in E1. apply N.ltb_ge in E2. destruct (i_prepare _ _ I _ _ _ Hs) as [_ Hused].
  split; simpl; try (intros; outs; done); try lia.
  - apply extends_same; simpl; [lia|done..].
  - intros b' k' votes Hm. outs. injection Hm as -> -> ->. split_and!; try done; [by right|]. intros b' i H. outs.
  - apply same_role_inv; simpl; [by left|apply R| |apply R]. intros i x. apply entry_same; simpl; lia.
Qed.

(* [accept] is called with s, or with s after it has promised the greater ballot b. *)
Lemma h_accept g b i x src s' outs : (b = promised s ∧ g = s ∨ promised s < b ∧ g = set_promised b s) →
  i < low s + config_span c → sent (said w) src (Message_Propose b i x) → accept src b i x g = (s', outs) → does s' outs.
Proof.
  intros Hg Hspan Hs.
  assert (Hp : proposed (said w) b i x) by (by exists src).
  assert (Hr : ∀ l, same_role (set_log l g)).
  { intros l. destruct Hg as [[_ ->]|[H ->]]; [apply same_role_refl|by left]. }
  assert (Eg : promised g = b ∧ low g = low s ∧ log g = log s ∧ decisions g = decisions s ∧
    snapshot_at g = snapshot_at s ∧ executed g = executed s) by (destruct Hg as [[-> ->]|[_ ->]]; done).
  destruct Eg as (Ep & El & Elog & Edec & Esnap & Eex). assert (Hb : promised s ≤ b) by (destruct Hg as [[-> _]|[? _]]; lia).
  set (x0 := {| entry_ballot := b; entry_value := x; entry_acks := ns_empty |}).
  assert (Hvote : does (set_log (im_set i x0 (log g)) g)
    [Output_Journal (Record_Vote b i x); Output_Send src (Message_Accept b i)]).
  { split; simpl; try (intros; outs; done).
    - split; simpl; rewrite ?Ep, ?El, ?Elog; [done..|]. intros j y Hy. right. rewrite im_get_set.
      case_decide; [subst j; exists x0|by exists y].
      split; [done|]. destruct (ri_log _ _ _ _ R _ _ Hy). simpl. lia.
    - intros b' i' Hm. outs. injection Hm as -> ->. split_and!; [done|by exists x|].
      exists x0. by rewrite im_get_set, decide_True.
    - apply (same_role_role _ (Hr (log g))).
    - apply same_role_inv; simpl; rewrite ?Ep, ?El, ?Elog, ?Edec, ?Esnap, ?Eex; try apply R; [apply Hr|].
      intros j y. rewrite im_get_set. case_decide; [|by apply entry_same; simpl; rewrite ?Ep, ?El].
      intros [= <-]. subst j. unfold entry_inv. simpl. rewrite Ep, El. split_and!; [done..|].
      by intros y Hy%ns_not_elem_empty. }
  unfold accept. destruct (im_get i (log g)) as [y|] eqn:E; [destruct (entry_ballot y =? b) eqn:E1|]; intros [= <- <-];
    [|exact Hvote..].
  (* The vote was cast before, so the ballot was promised before. *)
  apply N.eqb_eq in E1 as <-. rewrite Elog in E. destruct (ri_log _ _ _ _ R i y E) as (Hbx & _).
  destruct Hg as [[_ ->]|[? _]]; [|lia].
  split; simpl; try (intros; outs; done).
  - by apply extends_same.
  - intros b' i' Hm. outs. injection Hm as -> ->. split_and!; [lia|by exists x|by exists y].
Qed.
Lemma h_propose src b i x s' outs : sent (said w) src (Message_Propose b i x) →
  on_propose c a src b i x s = (s', outs) → does s' outs.
Proof.
  intros Hs. unfold on_propose. destruct (a <? n); [|intros [= <- <-]; apply does_nothing; quiet].
  destruct (i <? low s); [intros [= <- <-]; apply does_nothing; quiet|].
  destruct (_ <=? i) eqn:E0; [intros [= <- <-]; apply does_nothing; quiet|apply N.leb_gt in E0].
  destruct (promised s =? b) eqn:E1; [|destruct (promised s <? b) eqn:E2].
  - apply N.eqb_eq in E1 as <-. apply h_accept; auto.
  - apply N.ltb_lt in E2. apply h_accept; auto.
  - intros [= <- <-]. apply does_nothing. quiet.
Qed.
End handlers.
