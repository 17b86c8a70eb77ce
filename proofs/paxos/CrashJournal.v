(* What is true of a replica and its journal, whatever its events and crashes, if each of its steps does what it may. *)
From stdpp Require Import gmap list numbers sets.
Require Import Prim PrimFacts Model Network Replay Restart SafetyChosen SafetyStep SafetyCrash Crash.
Local Open Scope N_scope.

(* --- Restarting loses nothing that counts. ---------------------------------------------------------------------- *)

Lemma extends_refl s : extends s s.
Proof. split; [done..|]. intros i e He. right. by exists e. Qed.
Lemma extends_trans s1 s2 s3 : extends s1 s2 → extends s2 s3 → extends s1 s3.
Proof.
  intros [P1 L1 H1] [P2 L2 H2]. split; [lia..|]. intros i e He. destruct (H1 i e He) as [?|(e' & He' & ?)]; [left; lia|].
  destruct (H2 i e' He') as [?|(e'' & ? & ?)]; [by left|right]. exists e''. split; [done|lia].
Qed.
Lemma extends_restarted s s' : extends s s' → extends (restarted s) (restarted s').
Proof.
  intros [E1 E2 E3]. split; [done..|]. intros i e (e0 & He & ->)%votes_get_Some.
  destruct (E3 i e0 He) as [?|(e' & ? & ?)]; [by left|right]. exists (forget_acks e'). split; [|done].
  apply votes_get_Some. eauto.
Qed.
Lemma vote_kept_restarted h s b i : vote_kept h s b i → vote_kept h (restarted s) b i.
Proof.
  intros (? & ? & H). split_and!; [done..|]. destruct H as [?|(e & ? & ?)]; [by left|right].
  exists (forget_acks e). split; [|done]. apply votes_get_Some. eauto.
Qed.
Lemma secured_restarted h s m : secured h s m → secured h (restarted s) m.
Proof. destruct m; try done. apply vote_kept_restarted. Qed.
Lemma replica_inv_restarted c h a s : replica_inv c h a s → replica_inv c h a (restarted s).
Proof.
  intros [[??] R2 R3 _ _ _ _]. split; simpl; try done.
  intros i e (e0 & He & ->)%votes_get_Some. destruct (R2 i e0 He) as (?&?&?&_). split_and!; [done..|].
  by intros x ?%ns_not_elem_empty.
Qed.

(* --- What must wait rests on the state that the step ends in. --------------------------------------------------- *)

Lemma lstep_secured c v a e s outs m : lstep c v a e s outs → sends outs m → waits m = true → secured (said v) s m.
Proof.
  intros L Hm Hw. destruct m as [b k|b k votes| |b i| | | | | | | |]; try done; simpl.
  - by destruct (l_prepare _ _ _ _ _ _ L _ _ Hm) as [_ ->].
  - by destruct (l_promise _ _ _ _ _ _ L _ _ _ Hm) as (_ & -> & _).
  - destruct (l_vote _ _ _ _ _ _ L _ _ Hm) as (-> & ? & x & ? & ?). split_and!; [done..|right]. exists x. split; [done|lia].
Qed.

Lemma must_wait_true o : must_wait o = true → ∃ m, waits m = true ∧ (o = Output_Broadcast m ∨ ∃ dst, o = Output_Send dst m).
Proof. destruct o; simpl; try done; eauto. Qed.

(* --- The invariant of a machine. -------------------------------------------------------------------------------- *)

Section machine.
Context (c : config) (a : replica).

(* What a crash would leave if k records were durable. *)
Definition memory (m : machine) (k : nat) : state := recover c (take k (recorded m)).

Record machine_inv (h : history) (m : machine) : Prop := MachineInv {
  (* The journal is the state, but for what a restart may forget. *)
  mi_live : recover c (recorded m) = restarted (live m);
  mi_durable : (durable m ≤ length (recorded m))%nat;
  (* The more is durable, the more is remembered; *)
  mi_grows : ∀ k k', (k ≤ k')%nat → extends (memory m k) (memory m k');
  (* and all that is remembered is sound. *)
  mi_replica : ∀ k, replica_inv c h a (memory m k);
  mi_restarted : ∀ k, restarted (memory m k) = memory m k;
  (* A message waits for records that have been written, and then may leave. *)
  mi_waiting : ∀ k o, (k, o) ∈ waiting m → (k ≤ length (recorded m))%nat ∧ must_wait o = true ∧
    ∀ x, sends [o] x → secured h (memory m k) x }.

Lemma memory_all m k : (length (recorded m) ≤ k)%nat → memory m k = recover c (recorded m).
Proof. intros H. unfold memory. by rewrite take_ge. Qed.

Lemma machine_mono x h m : machine_inv h m → machine_inv (x :: h) m.
Proof.
  intros [M1 M2 M3 M4 M5 M6]. split; try done.
  - intros k. by apply replica_mono.
  - intros k o Ho. destruct (M6 k o Ho) as (? & ? & Hs). split_and!; [done..|]. intros y Hy. by apply secured_mono, Hs.
Qed.

Lemma machine_new h : machine_inv h new_machine.
Proof.
  assert (Hmem : ∀ k, memory new_machine k = init) by (intros []; done).
  split.
  - symmetry. apply restarted_init.
  - done.
  - intros k k' _. rewrite !Hmem. apply extends_refl.
  - intros k. by rewrite Hmem.
  - intros k. rewrite Hmem. apply restarted_init.
  - by intros k o ?%elem_of_nil.
Qed.

(* An event. *)
Section advance.
Context (v : view) (m : machine) (e : event) (s : state) (outs : list output).
Context (M : machine_inv (said v) m) (Hcurrent : current v a = live m).
Context (Hstep : step c a e (live m) = (s, outs)) (L : lstep c v a e s outs)
  (Hvotes : replica_inv c (said v) a (live m)).
Notation m' := (advance s outs m).

Lemma recover_advance : recover c (recorded m') = restarted s.
Proof.
  simpl. unfold recover. rewrite fold_left_app. fold (recover c (recorded m)). rewrite (mi_live _ _ M).
  fold (records outs). replace outs with (step c a e (live m)).2 by (by rewrite Hstep).
  rewrite replay_step; [by rewrite Hstep|]. intros i x Hx. by destruct (ri_log _ _ _ _ Hvotes i x Hx).
Qed.
(* What a crash would leave: what it would have left before, or all. *)
Lemma memory_advance k : memory m' k = if decide (k ≤ length (recorded m))%nat then memory m k else restarted s.
Proof.
  case_decide.
  - unfold memory. simpl. by rewrite take_app_le.
  - rewrite memory_all; [apply recover_advance|]. simpl. rewrite app_length.
    pose proof (records_few c a e (live m)) as H1. rewrite Hstep in H1. unfold records in H1. simpl in H1. lia.
Qed.
Lemma machine_advance : machine_inv (said v) m'.
Proof.
  destruct M as [M1 M2 M3 M4 M5 M6]. pose proof (l_replica _ _ _ _ _ _ L) as R. split.
  - apply recover_advance.
  - simpl. rewrite app_length. lia.
  - intros k k' Hk. rewrite !memory_advance. repeat case_decide; try lia; [by apply M3| |apply extends_refl].
    apply extends_trans with (memory m (length (recorded m))); [by apply M3|].
    rewrite memory_all, M1 by done. apply extends_restarted. rewrite <- Hcurrent. apply L.
  - intros k. rewrite memory_advance. case_decide; [done|by apply replica_inv_restarted].
  - intros k. rewrite memory_advance. case_decide; [done|by rewrite restarted_restarted].
  - intros k o. simpl. rewrite elem_of_app, app_length. intros [Ho|Ho].
    + destruct (M6 k o Ho) as (? & ? & ?). split_and!; [lia|done|]. intros x Hx. rewrite memory_advance, decide_True by done. auto.
    + apply elem_of_list_fmap in Ho as (o' & [= -> ->] & [Hw Ho']%elem_of_list_filter).
      split_and!; [done..|]. intros x Hx.
      assert (Hsec : secured (said v) (restarted s) x).
      { apply secured_restarted. eapply lstep_secured; [done|eapply sends_sub, Hx; set_solver|].
        destruct (must_wait_true _ Hw) as (y & Hy & [->|[d ->]]); outs; by subst. }
      rewrite <- recover_advance in Hsec. rewrite memory_all; [done|]. simpl. by rewrite app_length.
Qed.
End advance.

Lemma machine_sync h m k : (k ≤ length (recorded m))%nat → machine_inv h m → machine_inv h (sync k m).
Proof. intros Hk [M1 M2 M3 M4 M5 M6]. split; try done. intros j o [_ Ho]%elem_of_list_filter. by apply M6. Qed.

Lemma memory_crash m k : memory (crash c m) k = memory m (k `min` durable m).
Proof. unfold memory. simpl. unfold on_disk. by rewrite take_take. Qed.
Lemma machine_crash h m : machine_inv h m → machine_inv h (crash c m).
Proof.
  intros [M1 M2 M3 M4 M5 M6]. split.
  - symmetry. apply (M5 (durable m)).
  - simpl. unfold on_disk. rewrite take_length. lia.
  - intros k k' Hk. rewrite !memory_crash. apply M3. lia.
  - intros k. rewrite memory_crash. apply M4.
  - intros k. rewrite memory_crash. apply M5.
  - simpl. by intros k o ?%elem_of_nil.
Qed.
End machine.
