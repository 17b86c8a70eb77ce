(* Agreement and integrity in every cluster that can come about, crashes included. *)
From stdpp Require Import gmap list numbers sets.
Require Import Prim Model Network Release ReleaseProof Replay SafetyChosen SafetyStep SafetyProposer Safety SafetyCrash Crash CrashJournal.
Local Open Scope N_scope.

Definition cluster_view (c : config) (w : cluster) : view :=
  {| said := story w; current := λ a, live (machine_of w a); remembered := λ a, recover c (on_disk (machine_of w a));
     held := λ a, delayed_output <$> waiting (released (machine_of w a)) |}.

Record cluster_inv (c : config) (w : cluster) : Prop := ClusterInv {
  ci_view : inv c (cluster_view c w);
  ci_machine : ∀ a, machine_inv c a (story w) (machine_of w a) }.

Section actions.
Context (c : config) (w : cluster) (a : replica) (I : cluster_inv c w).
Notation m := (machine_of w a).
Let V := ci_view _ _ I.
Let M := ci_machine _ _ I a.

(* The other replicas' machines stay as they are. *)
Lemma machines_after r m' outs : machine_inv c a (story w) m' →
  ∀ x, machine_inv c x (story (acts w a r m' outs)) (machine_of (acts w a r m' outs) x).
Proof. intros H x. apply machine_mono. simpl. case_decide as E; [by subst|apply I]. Qed.

Lemma after_event e s outs : possible (story w) e → step c a e (live m) = (s, outs) →
  cluster_inv c (acts w a (Took e) (advance s outs m) (performed outs m)).
Proof.
  intros Hp Hs. pose proof (step_lstep c (cluster_view c w) a e s outs V Hp Hs) as L.
  pose proof (i_replica _ _ V a : replica_inv c (story w) a (live m)) as Hrep.
  destruct (pass_step outs (released m)) as (later & Hlater & Hnow & Hwait & Hwaiting & Hgo).
  { replace outs with (step c a e (live m)).2 by (by rewrite Hs). apply record_leads. }
  { pose proof (mi_synced _ _ _ _ M). lia. }
  split.
  - apply inv_step with (cluster_view c w) a e s (recover c (on_disk (advance s outs m))) (performed outs m) later outs;
      [done|done|split|..]; simpl; try done.
    + intros x. by case_decide.
    + intros x. by case_decide.
    + intros x. case_decide; [|done]. cbn [advance released]. rewrite Hwaiting, fmap_app, <- list_fmap_compose.
      f_equal. apply list_fmap_id.
    + intros o Ho. by apply must_wait_true, Hwait.
    + destruct Hgo as [Hgo|[Hrec Hsy]]; [right|left].
      * split; [|done]. unfold on_disk. rewrite (records_advance m s outs), take_app_le by apply M. done.
      * assert (Hno : omap entry_of_journal outs = []) by (clear -Hrec; induction Hrec as [|o l Ho _ IH]; [done|]; simpl; by rewrite Ho).
        pose proof (mi_synced _ _ _ _ M). unfold on_disk. rewrite take_ge.
        -- rewrite (recover_advance c a (cluster_view c w) m e s outs M Hs Hrep).
           split; [done|]. intros h b i. apply vote_kept_restarted.
        -- rewrite (records_advance m s outs), Hno, app_nil_r. simpl. lia.
  - apply machines_after. eapply (machine_advance c a (cluster_view c w)); [apply M|done|done|done|apply (i_replica _ _ V)].
Qed.

Lemma after_sync k : (durable m ≤ k ≤ length (recorded m))%nat → cluster_inv c (acts w a Synced (sync k m) []).
Proof.
  intros Hk. destruct M as [M1 M2 M3 M4 M5 M6 M7]. split.
  - apply inv_sync with (cluster_view c w) a (memory c m k) []; [done|]. split; simpl.
    + done.
    + intros x. by case_decide; subst.
    + intros x. by case_decide.
    + intros x. by case_decide; subst.
    + apply M4. lia.
    + transitivity (promised (recover c (recorded m))); [|by rewrite M1].
      rewrite <- (memory_all c m (length (recorded m))) by done. by apply M4.
    + by intros o ?%elem_of_nil.
    + by intros x ?%sends_nil.
  - apply machines_after. by apply machine_sync.
Qed.

Lemma after_report k : true_report k m → cluster_inv c (acts w a Synced (informed k m) (let_go k m)).
Proof.
  intros Ht. destruct (report_true c a _ m k M Ht) as (_ & Hkept & Hgone). split.
  - apply inv_sync with (cluster_view c w) a (recover c (on_disk m)) (let_go k m); [done|]. split; simpl.
    + done.
    + intros x. by case_decide; subst.
    + intros x. by case_decide.
    + intros x o. case_decide; [subst|done]. intros (d & -> & Hd%Hkept)%elem_of_list_fmap. by apply elem_of_list_fmap_1.
    + apply extends_refl.
    + apply (i_ahead _ _ V a).
    + intros o (d & Hd & <- & _)%Hgone. by apply elem_of_list_fmap_1.
    + intros x Hx. assert (∃ o, o ∈ let_go k m ∧ sends [o] x) as (o & (d & Hd & <- & Hpl)%Hgone & Hsend).
      { destruct Hx as [H|[d H]]; eexists; (split; [exact H|]); apply sends_cons; by left. }
      destruct (mi_waiting _ _ _ _ M d Hd) as (_ & _ & Hsec). rewrite Hpl in Hsec. exact (Hsec _ Hsend).
  - apply machines_after. by apply machine_informed.
Qed.

Lemma after_shorten : cluster_inv c (acts w a Synced (shorten c m) []).
Proof.
  assert (Hmem : recover c (on_disk (shorten c m)) = recover c (on_disk m)).
  { pose proof (memory_shorten c a _ m (durable (shorten c m)) M ltac:(done)) as H.
    by rewrite Nat.sub_diag, Nat.add_0_r in H. }
  split.
  - apply inv_sync with (cluster_view c w) a (recover c (on_disk m)) []; [done|]. split.
    + done.
    + intros x. simpl. by case_decide; subst.
    + intros x. simpl. by case_decide.
    + intros x. simpl. by case_decide; subst.
    + apply extends_refl.
    + apply (i_ahead _ _ V a).
    + by intros o ?%elem_of_nil.
    + by intros x ?%sends_nil.
  - apply machines_after. by apply machine_shorten.
Qed.

Lemma on_disk_crash m0 : on_disk (crash c m0) = on_disk m0.
Proof. unfold on_disk at 1. unfold crash. cbn. by rewrite firstn_all. Qed.

Lemma after_crash : cluster_inv c (acts w a Crashed (crash c m) (reset (crash c m))).
Proof.
  destruct (mi_memory _ _ _ _ M (durable m)) as (? & _ & Hr); [done|]. split.
  - eapply inv_crash with (cluster_view c w) a _ _; [done|]. split; simpl; try done.
    + intros x. by case_decide.
    + intros x. case_decide; [subst; by rewrite on_disk_crash|done].
    + intros x. by case_decide.
    + change (recover c (on_disk m)) with (memory c m (durable m)). by rewrite <- Hr.
  - apply machines_after. by apply machine_crash.
Qed.
End actions.

Theorem occurs_inv c w : occurs c w → cluster_inv c w.
Proof.
  induction 1 as [|w a e s outs _ I Hp Hs|w a k _ I Hk|w a k _ I Hk|w a _ I|w a _ I].
  - split; [|intros a; apply machine_new]. by apply inv_start.
  - by apply after_event.
  - by apply after_sync.
  - by apply after_report.
  - by apply after_shorten.
  - by apply after_crash.
Qed.

Section theorems.
Context (c : config) (w : cluster) (occurred : occurs c w).
Let I := occurs_inv c w occurred.

Theorem crash_chosen_agreement i x y : chosen c (story w) i x → chosen c (story w) i y → x = y.
Proof. apply (chosen_unique c (cluster_view c w)), I. Qed.
Theorem crash_delivered_chosen a i x : delivered (story w) a i x → chosen c (story w) i x.
Proof. apply (i_delivered _ _ (ci_view _ _ I)). Qed.
Theorem crash_decided_chosen a i x :
  im_get i (decisions (live (machine_of w a))) = Some x → chosen c (story w) i x.
Proof. apply (ri_decisions _ _ _ _ (i_replica _ _ (ci_view _ _ I) a)). Qed.

Theorem crash_delivery a1 a2 i x y : delivered (story w) a1 i x → delivered (story w) a2 i y → x = y.
Proof. intros H1 H2. eapply crash_chosen_agreement; by eapply crash_delivered_chosen. Qed.
Theorem crash_decision a1 a2 i x y :
  im_get i (decisions (live (machine_of w a1))) = Some x → im_get i (decisions (live (machine_of w a2))) = Some y → x = y.
Proof. intros H1 H2. eapply crash_chosen_agreement; by eapply crash_decided_chosen. Qed.
Theorem crash_decision_delivery a1 a2 i x y :
  im_get i (decisions (live (machine_of w a1))) = Some x → delivered (story w) a2 i y → x = y.
Proof. intros H1 H2. eapply crash_chosen_agreement; [by eapply crash_decided_chosen|by eapply crash_delivered_chosen]. Qed.
Theorem crash_integrity a i x : delivered (story w) a i x → x = noop ∨ requested (story w) x.
Proof.
  intros H%crash_delivered_chosen. exact (chosen_legitimate c (cluster_view c w) i x (ci_view _ _ I) H).
Qed.

(* What has left is on disk. *)
Theorem crash_prepare_on_disk a b k : sent (story w) a (Message_Prepare b k) →
  b ≤ promised (recover c (on_disk (machine_of w a))).
Proof. intros H. destruct (i_prepare _ _ (ci_view _ _ I) _ _ _ H) as [Ho Hu]. unfold used in Hu. by rewrite Ho in Hu. Qed.
Theorem crash_promise_on_disk a b k votes : sent (story w) a (Message_Promise b k votes) →
  b ≤ promised (recover c (on_disk (machine_of w a))).
Proof. intros H. by destruct (i_promise _ _ (ci_view _ _ I) _ _ _ _ H). Qed.
Theorem crash_vote_on_disk a b i (s := recover c (on_disk (machine_of w a))) : sent (story w) a (Message_Accept b i) →
  b ≤ promised s ∧ (i < low s ∨ ∃ e, im_get i (log s) = Some e ∧ b ≤ entry_ballot e).
Proof. intros H. by destruct (i_vote _ _ (ci_view _ _ I) _ _ _ H) as (? & _ & ?). Qed.
End theorems.
