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

(* The checkpoint of the live state is that of the state which the journal gives. *)
Lemma im_range_votes lo hi m : im_range lo hi (votes_only m) = prod_map id forget_acks <$> im_range lo hi m.
Proof.
  unfold im_range. induction (n_range lo hi) as [|i l IH]; [done|]. cbn. rewrite IH.
  change (votes_only m !! i) with (im_get i (votes_only m)). rewrite votes_get. unfold im_get.
  by destruct (m !! i).
Qed.
Theorem checkpoint_restarted c s : checkpoint c (restarted s) = checkpoint c s.
Proof.
  unfold checkpoint. cbn [restarted low promised log decisions snapshot_at snapshot]. rewrite im_range_votes.
  assert (H : ∀ l, map vote_record (prod_map id forget_acks <$> l) = map vote_record l); [|by rewrite H].
  induction l as [|[i e] l IH]; [done|]. exact (f_equal (cons _) IH).
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
  mi_sound : sound c (live m);
  mi_durable : (durable m ≤ length (recorded m))%nat;
  (* The more is durable, the more is remembered; *)
  mi_grows : ∀ k k', (durable m ≤ k ≤ k')%nat → extends (memory m k) (memory m k');
  (* and all that may be remembered is as after a restart. *)
  mi_memory : ∀ k, (durable m ≤ k)%nat →
    replica_inv c h a (memory m k) ∧ sound c (memory m k) ∧ restarted (memory m k) = memory m k;
  (* A message waits for records that have been written, and then may leave. *)
  mi_waiting : ∀ k o, (k, o) ∈ waiting m → (durable m ≤ k ≤ length (recorded m))%nat ∧ must_wait o = true ∧
    ∀ x, sends [o] x → secured h (memory m k) x }.

Lemma memory_all m k : (length (recorded m) ≤ k)%nat → memory m k = recover c (recorded m).
Proof. intros H. unfold memory. by rewrite take_ge. Qed.

Lemma machine_mono x h m : machine_inv h m → machine_inv (x :: h) m.
Proof.
  intros [M1 M2 M3 M4 M5 M6]. split; try done.
  - intros k Hk. destruct (M5 k Hk). split; [by apply replica_mono|done].
  - intros k o Ho. destruct (M6 k o Ho) as ([??] & ? & Hs). split_and!; [done..|]. intros y Hy. by apply secured_mono, Hs.
Qed.

Lemma machine_new h : machine_inv h new_machine.
Proof.
  assert (Hmem : ∀ k, memory new_machine k = init) by (intros []; done).
  split; simpl.
  - symmetry. apply restarted_init.
  - apply sound_init.
  - done.
  - intros k k' _. rewrite !Hmem. apply extends_refl.
  - intros k _. rewrite Hmem. split_and!; [done|apply sound_init|apply restarted_init].
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
  destruct M as [M1 M2 M3 M4 M5 M6]. pose proof (l_replica _ _ _ _ _ _ L) as R.
  assert (Hsound : sound c s) by (replace s with (step c a e (live m)).1 by (by rewrite Hstep); by apply sound_step).
  split.
  - apply recover_advance.
  - done.
  - simpl. rewrite app_length. lia.
  - intros k k' Hk. simpl in Hk. rewrite !memory_advance.
    repeat case_decide; try lia; [apply M4; lia| |apply extends_refl].
    apply extends_trans with (memory m (length (recorded m))); [apply M4; lia|].
    rewrite memory_all, M1 by done. apply extends_restarted. rewrite <- Hcurrent. apply L.
  - intros k Hk. rewrite memory_advance. case_decide; [by apply M5|].
    split_and!; [by apply replica_inv_restarted|by apply sound_restarted|apply restarted_restarted].
  - intros k o. simpl. rewrite elem_of_app, app_length. intros [Ho|Ho].
    + destruct (M6 k o Ho) as ([??] & ? & ?). split_and!; [lia|lia|done|]. intros x Hx.
      rewrite memory_advance, decide_True by done. auto.
    + apply elem_of_list_fmap in Ho as (o' & [= -> ->] & [Hw Ho']%elem_of_list_filter).
      split_and!; [lia|done..|]. intros x Hx.
      assert (Hsec : secured (said v) (restarted s) x).
      { apply secured_restarted. eapply lstep_secured; [done|eapply sends_sub, Hx; set_solver|].
        destruct (must_wait_true _ Hw) as (y & Hy & [->|[d ->]]); outs; by subst. }
      rewrite <- recover_advance in Hsec. rewrite memory_all; [done|]. simpl. by rewrite app_length.
Qed.
End advance.

Lemma machine_sync h m k : (durable m ≤ k ≤ length (recorded m))%nat → machine_inv h m → machine_inv h (sync k m).
Proof.
  intros Hk [M1 M2 M3 M4 M5 M6]. split; try done; simpl.
  - lia.
  - intros j j' ?. apply M4. lia.
  - intros j ?. apply M5. lia.
  - intros j o [Hj Ho]%elem_of_list_filter. simpl in Hj. destruct (M6 _ _ Ho) as ([??] & ? & ?). split_and!; [lia|done..].
Qed.

Lemma memory_crash m k : (durable m ≤ k)%nat → memory (crash c m) k = memory m (durable m).
Proof. intros Hk. unfold memory. simpl. unfold on_disk. rewrite take_take. do 2 f_equal. lia. Qed.
Lemma machine_crash h m : machine_inv h m → machine_inv h (crash c m).
Proof.
  intros [M1 M2 M3 M4 M5 M6]. destruct (M5 (durable m)) as (? & ? & ?); [done|]. split; simpl.
  - done.
  - done.
  - unfold on_disk. rewrite take_length. lia.
  - intros k k' Hk. rewrite !memory_crash by lia. apply extends_refl.
  - intros k Hk. by rewrite memory_crash.
  - by intros k o ?%elem_of_nil.
Qed.

Local Opaque checkpoint.
(* A shorter journal leaves what the longer one would leave. *)
Lemma memory_shorten h m k : machine_inv h m → (durable (shorten c m) ≤ k)%nat →
  memory (shorten c m) k = memory m (durable m + (k - durable (shorten c m)))%nat.
Proof.
  intros M Hk. destruct (mi_memory _ _ M (durable m)) as (_ & Hs & Hr); [done|].
  pose proof (recover_checkpoint c _ Hs) as Hshort. rewrite Hr in Hshort.
  change (memory m (durable m)) with (recover c (on_disk m)) in Hshort.
  unfold memory, shorten in *. cbn [recorded durable] in *.
  rewrite <- take_take_drop, take_app_ge by done. fold (on_disk m). revert Hshort. unfold recover.
  rewrite !fold_left_app. by intros ->.
Qed.
Lemma machine_shorten h m : machine_inv h m → machine_inv h (shorten c m).
Proof.
  intros M. pose proof M as [M1 M2 M3 M4 M5 M6]. split.
  - rewrite <- (memory_all (shorten c m) (length (recorded (shorten c m)))) by done.
    rewrite (memory_shorten h); [|done|unfold shorten; cbn; rewrite app_length; lia].
    rewrite memory_all; [done|]. unfold shorten; cbn [recorded durable]. rewrite app_length, drop_length. lia.
  - done.
  - unfold shorten; cbn [recorded durable]. rewrite app_length. lia.
  - intros k k' Hk. rewrite !(memory_shorten h) by (done || lia). apply M4. lia.
  - intros k Hk. rewrite (memory_shorten h) by done. apply M5. lia.
  - intros k o ([k0 o0] & [= -> ->] & Ho)%elem_of_list_fmap. destruct (M6 _ _ Ho) as ([??] & ? & Hs).
    cbn [fst snd]. split_and!; [..|done|].
    + unfold shorten; cbn [durable]. lia.
    + unfold shorten; cbn [recorded]. rewrite app_length, drop_length. lia.
    + intros x Hx. rewrite (memory_shorten h); [|done|unfold shorten; cbn [durable]; lia].
      unfold shorten; cbn [durable]. replace (durable m + _)%nat with k0 by lia. auto.
Qed.
End machine.
