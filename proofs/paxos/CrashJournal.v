(* What is true of a replica and its journal, whatever its events and crashes, if each of its steps does what it may. *)
From stdpp Require Import gmap list numbers sets.
Require Import Prim PrimFacts Model Network Release ReleaseProof Replay Restart SafetyChosen SafetyStep SafetyCrash Crash.
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

(* --- What passes. ----------------------------------------------------------------------------------------------- *)

Definition at_once (outs : list output) : list output := filter (λ o, must_wait o = false) outs.
Definition put_off (outs : list output) : list output := filter (λ o, must_wait o = true) outs.

Lemma at_once_waits outs m : sends (at_once outs) m → waits m = false.
Proof. by intros [[H _]%elem_of_list_filter|[d [H _]%elem_of_list_filter]]. Qed.

(* A record passes, and all else stays in its order; here by what the outputs are. *)
Lemma pass_all_records outs r :
  omap entry_of_journal (pass_all outs r).2 = omap entry_of_journal outs ∧
  numbered (pass_all outs r).1 = numbered r + N.of_nat (length (omap entry_of_journal outs)) ∧
  synced (pass_all outs r).1 = synced r.
Proof.
  revert r. induction outs as [|o outs IH]; intros r; [split_and!; simpl; lia || done|].
  assert (Hone : ∀ r' now, pass o r = (r', now) → synced r' = synced r ∧
    match entry_of_journal o with
    | Some x => now = Some (Output_Journal x) ∧ numbered r' = numbered r + 1
    | None => match now with Some o' => o' = o | None => True end ∧ numbered r' = numbered r
    end).
  { intros r' now E. destruct (pass_cases o r) as [(x & -> & H)|[(-> & _ & _ & H)|(-> & _ & H)]]; rewrite H in E;
      by injection E as <- <-. }
  cbn [pass_all]. destruct (pass o r) as [r1 now]. destruct (Hone _ _ eq_refl) as [Hs Hn].
  destruct (IH r1) as (H1 & H2 & H3). destruct (pass_all outs r1) as [r2 l]. cbn [fst snd] in *.
  change (omap entry_of_journal (o :: outs)) with
    (match entry_of_journal o with Some x => x :: omap entry_of_journal outs | None => omap entry_of_journal outs end).
  destruct (entry_of_journal o) as [x|] eqn:E.
  - destruct Hn as [-> Hn]. cbn. change (list_omap record) with (omap (M := list) (B := record)). split_and!; [by f_equal|cbn; lia|congruence].
  - destruct Hn as [Ho Hn]. split_and!; [|lia|congruence]. destruct now as [o'|]; [|done]. subst o'. cbn. by rewrite E.
Qed.

Lemma pass_all_goes outs r : Forall no_record outs → numbered r ≤ synced r → pass_all outs r = (r, outs).
Proof.
  intros H Hr. induction H as [|o outs Ho _ IH]; [done|]. cbn [pass_all].
  destruct (pass_cases o r) as [(x & -> & _)|[(_ & _ & ? & _)|(_ & _ & ->)]]; [done|lia|]. by rewrite IH.
Qed.
Lemma pass_all_stays outs r : Forall no_record outs → synced r < numbered r →
  pass_all outs r = ({| numbered := numbered r; synced := synced r;
                        waiting := waiting r ++ (Delayed (numbered r) <$> put_off outs) |}, at_once outs).
Proof.
  intros H. revert r. induction H as [|o outs Ho _ IH]; intros r Hr.
  - simpl. rewrite app_nil_r. by destruct r.
  - cbn [pass_all]. unfold put_off, at_once. rewrite !filter_cons.
    destruct (pass_cases o r) as [(x & -> & _)|[(_ & -> & _ & ->)|(_ & Hm & ->)]]; [done|..].
    + rewrite IH by done. cbn. by rewrite <- assoc_L by apply _.
    + destruct (must_wait o); [specialize (Hm eq_refl); lia|]. by rewrite IH.
Qed.

(* The outputs of a step, of which a record comes first: what must wait goes only if nothing is to be waited for. *)
Lemma pass_step outs r : Forall no_record (tail outs) → synced r ≤ numbered r →
  ∃ later, later ⊆ outs ∧ (pass_all outs r).2 ⊆ outs ∧ (∀ o, o ∈ later → must_wait o = true) ∧
    waiting (pass_all outs r).1 = waiting r ++ (Delayed (numbered (pass_all outs r).1) <$> later) ∧
    ((∀ m, sends (pass_all outs r).2 m → waits m = false) ∨ Forall no_record outs ∧ synced r = numbered r).
Proof.
  assert (Hlater : ∀ l : list output, put_off l ⊆ l ∧ at_once l ⊆ l ∧ ∀ o, o ∈ put_off l → must_wait o = true).
  { intros l. split_and!; intros o [? ?]%elem_of_list_filter; done. }
  intros Ht Hr. destruct outs as [|o outs].
  { exists []. simpl. rewrite app_nil_r. split_and!; [done..| |done|left; by intros m ?%sends_nil]. by intros o ?%elem_of_nil. }
  simpl in Ht. destruct (entry_of_journal o) as [x|] eqn:Ho.
  - destruct o; try done. cbn [pass_all pass].
    rewrite pass_all_stays by (done || simpl; lia). destruct (Hlater outs) as (H1 & H2 & H3).
    exists (put_off outs). simpl. split_and!; [set_solver..|done|done|]. left.
    intros m [H|H]%sends_cons; [done|by eapply at_once_waits].
  - assert (H : Forall no_record (o :: outs)) by (by constructor). destruct (decide (synced r < numbered r)).
    + rewrite pass_all_stays by done. destruct (Hlater (o :: outs)) as (H1 & H2 & H3).
      exists (put_off (o :: outs)). cbn [fst snd numbered waiting].
      split_and!; [done..|]. left. apply at_once_waits.
    + rewrite pass_all_goes by (done || lia). exists []. simpl. rewrite app_nil_r.
      split_and!; [set_solver|done| |done|right; split; [done|lia]]. by intros o' ?%elem_of_nil.
Qed.

(* --- The invariant of a machine. -------------------------------------------------------------------------------- *)

Section machine.
Context (c : config) (a : replica).

(* What a crash would leave if k records were durable. *)
Definition memory (m : machine) (k : nat) : state := recover c (take k (recorded m)).

(* So much of the journal must be durable that the first k records since the start are, and all that is. *)
Definition place (m : machine) (k : N) : nat :=
  (durable m `max` (length (recorded m) - N.to_nat (numbered (released m) - k)))%nat.

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
  (* What the disk has reported is durable; *)
  mi_synced : synced (released m) + N.of_nat (length (recorded m) - durable m) ≤ numbered (released m);
  (* and a message that waits may leave once what it waits for is. *)
  mi_waiting : ∀ d, d ∈ waiting (released m) → delayed_until d ≤ numbered (released m) ∧ must_wait (delayed_output d) = true ∧
    ∀ x, sends [delayed_output d] x → secured h (memory m (place m (delayed_until d))) x }.

Lemma memory_all m k : (length (recorded m) ≤ k)%nat → memory m k = recover c (recorded m).
Proof. intros H. unfold memory. by rewrite take_ge. Qed.

Lemma machine_mono x h m : machine_inv h m → machine_inv (x :: h) m.
Proof.
  intros [M1 M2 M3 M4 M5 M6 M7]. split; try done.
  - intros k Hk. destruct (M5 k Hk). split; [by apply replica_mono|done].
  - intros d Hd. destruct (M7 d Hd) as (? & ? & Hs). split_and!; [done..|]. intros y Hy. by apply secured_mono, Hs.
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
  - done.
  - by intros d ?%elem_of_nil.
Qed.

(* An event. *)
Section advance.
Context (v : view) (m : machine) (e : event) (s : state) (outs : list output).
Context (M : machine_inv (said v) m) (Hcurrent : current v a = live m).
Context (Hstep : step c a e (live m) = (s, outs)) (L : lstep c v a e s outs)
  (Hvotes : replica_inv c (said v) a (live m)).
Notation m' := (advance s outs m).

Lemma records_advance : recorded m' = recorded m ++ omap entry_of_journal outs.
Proof. simpl. unfold performed. by destruct (pass_all_records outs (released m)) as [-> _]. Qed.
Lemma recover_advance : recover c (recorded m') = restarted s.
Proof.
  rewrite records_advance. unfold recover. rewrite fold_left_app. fold (recover c (recorded m)). rewrite (mi_live _ _ M).
  fold (records outs). replace outs with (step c a e (live m)).2 by (by rewrite Hstep).
  rewrite replay_step; [by rewrite Hstep|]. intros i x Hx. by destruct (ri_log _ _ _ _ Hvotes i x Hx).
Qed.
(* What a crash would leave: what it would have left before, or all. *)
Lemma memory_advance k : memory m' k = if decide (k ≤ length (recorded m))%nat then memory m k else restarted s.
Proof.
  case_decide.
  - unfold memory. rewrite records_advance. by rewrite take_app_le.
  - rewrite memory_all; [apply recover_advance|]. rewrite records_advance, app_length.
    pose proof (records_few c a e (live m)) as H1. rewrite Hstep in H1. unfold records in H1. simpl in H1. lia.
Qed.
Lemma machine_advance : machine_inv (said v) m'.
Proof.
  destruct M as [M1 M2 M3 M4 M5 M6 M7]. pose proof (l_replica _ _ _ _ _ _ L) as R.
  assert (Hsound : sound c s) by (replace s with (step c a e (live m)).1 by (by rewrite Hstep); by apply sound_step).
  destruct (pass_all_records outs (released m)) as (_ & Hnumbered & Hsynced).
  assert (Hlen : length (recorded m') = (length (recorded m) + length (omap entry_of_journal outs))%nat)
    by (by rewrite records_advance, app_length).
  split.
  - apply recover_advance.
  - done.
  - rewrite Hlen. simpl. lia.
  - intros k k' Hk. simpl in Hk. rewrite !memory_advance.
    repeat case_decide; try lia; [apply M4; lia| |apply extends_refl].
    apply extends_trans with (memory m (length (recorded m))); [apply M4; lia|].
    rewrite memory_all, M1 by done. apply extends_restarted. rewrite <- Hcurrent. apply L.
  - intros k Hk. rewrite memory_advance. case_decide; [by apply M5|].
    split_and!; [by apply replica_inv_restarted|by apply sound_restarted|apply restarted_restarted].
  - rewrite Hlen. simpl. rewrite Hnumbered, Hsynced. lia.
  - destruct (pass_step outs (released m)) as (later & Hlater & _ & Hwait & Hwaiting & _); [|lia|].
    { replace outs with (step c a e (live m)).2 by (by rewrite Hstep). apply record_leads. }
    intros d. cbn [advance released]. rewrite Hwaiting, elem_of_app. intros [Hd|Hd].
    + destruct (M7 d Hd) as (? & ? & Hsec). split_and!; [lia|done|]. intros x Hx.
      assert (place m' (delayed_until d) = place m (delayed_until d)) as ->.
      { unfold place. rewrite Hlen. cbn [advance released durable]. rewrite Hnumbered. lia. }
      rewrite memory_advance, decide_True by (unfold place; lia). auto.
    + apply elem_of_list_fmap in Hd as (o & -> & Ho). cbn [delayed_until delayed_output].
      split_and!; [done|by apply Hwait|]. intros x Hx.
      assert (Hsec : secured (said v) (restarted s) x).
      { apply secured_restarted. eapply lstep_secured; [done|eapply sends_sub, Hx; set_solver|].
        destruct (must_wait_true _ (Hwait _ Ho)) as (y & Hy & [->|[d ->]]); outs; by subst. }
      rewrite <- recover_advance in Hsec. rewrite memory_all; [done|]. unfold place. cbn [advance released]. lia.
Qed.
End advance.

Lemma machine_sync h m k : (durable m ≤ k ≤ length (recorded m))%nat → machine_inv h m → machine_inv h (sync k m).
Proof.
  intros Hk [M1 M2 M3 M4 M5 M6 M7]. split; try done; simpl.
  - lia.
  - intros j j' ?. apply M4. lia.
  - intros j ?. apply M5. lia.
  - lia.
  - intros d Hd. destruct (M7 _ Hd) as (? & ? & Hs). split_and!; [done..|]. intros x Hx.
    eapply secured_extends, Hs, Hx. change (memory (sync k m)) with (memory m). apply M4. unfold place. simpl. lia.
Qed.

(* What the disk says is durable, and what it lets go waits for no more. *)
Lemma report_true h m k : machine_inv h m → true_report k m →
  synced (report k (released m)).1 + N.of_nat (length (recorded m) - durable m) ≤ numbered (released m) ∧
  (∀ d, d ∈ waiting (report k (released m)).1 → d ∈ waiting (released m)) ∧
  ∀ o, o ∈ let_go k m → ∃ d, d ∈ waiting (released m) ∧ delayed_output d = o ∧ place m (delayed_until d) = durable m.
Proof.
  intros M Ht. unfold true_report in Ht. unfold let_go. rewrite report_is. cbn [fst snd synced waiting].
  pose proof (mi_synced _ _ M).
  assert (Hk : known k (released m) + N.of_nat (length (recorded m) - durable m) ≤ numbered (released m)) by (unfold known; lia).
  split_and!; [done|..].
  - by intros d [_ ?]%elem_of_list_filter.
  - intros o (d & -> & [Hd ?]%elem_of_list_filter)%elem_of_list_fmap. exists d. split_and!; [done..|]. unfold place. lia.
Qed.
Lemma machine_informed h m k : true_report k m → machine_inv h m → machine_inv h (informed k m).
Proof.
  intros Ht M. destruct (report_true h m k M Ht) as (Hs & Hw & _). destruct M as [M1 M2 M3 M4 M5 M6 M7].
  split; try done. intros d Hd%Hw. exact (M7 d Hd).
Qed.

Lemma durable_crash m : (durable m ≤ length (recorded m))%nat → durable (crash c m) = durable m.
Proof. intros H. unfold crash. cbn [durable]. unfold on_disk. by rewrite take_length_le. Qed.
Lemma memory_crash m k : (durable m ≤ k)%nat → memory (crash c m) k = memory m (durable m).
Proof. intros Hk. unfold memory. simpl. unfold on_disk. rewrite take_take. do 2 f_equal. lia. Qed.
Lemma machine_crash h m : machine_inv h m → machine_inv h (crash c m).
Proof.
  intros [M1 M2 M3 M4 M5 M6 M7]. destruct (M5 (durable m)) as (? & ? & ?); [done|].
  pose proof (durable_crash m M3) as Hd. split; rewrite ?Hd.
  - done.
  - done.
  - unfold crash. cbn [recorded]. unfold on_disk. rewrite take_length. lia.
  - intros k k' Hk. rewrite !memory_crash by lia. apply extends_refl.
  - intros k Hk. by rewrite memory_crash.
  - unfold crash. cbn [recorded released]. unfold on_disk. rewrite take_length. simpl. lia.
  - by intros d ?%elem_of_nil.
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
Lemma length_shorten m : (durable m ≤ length (recorded m))%nat →
  (length (recorded (shorten c m)) = durable (shorten c m) + (length (recorded m) - durable m))%nat.
Proof. intros H. unfold shorten; cbn [recorded durable]. by rewrite app_length, drop_length. Qed.
Lemma machine_shorten h m : machine_inv h m → machine_inv h (shorten c m).
Proof.
  intros M. pose proof M as [M1 M2 M3 M4 M5 M6 M7]. pose proof (length_shorten m M3) as Hlen. split.
  - rewrite <- (memory_all (shorten c m) (length (recorded (shorten c m)))) by done.
    rewrite (memory_shorten h) by (done || lia). rewrite memory_all; [done|lia].
  - done.
  - lia.
  - intros k k' Hk. rewrite !(memory_shorten h) by (done || lia). apply M4. lia.
  - intros k Hk. rewrite (memory_shorten h) by done. apply M5. lia.
  - rewrite Hlen. change (released (shorten c m)) with (released m). lia.
  - change (released (shorten c m)) with (released m). intros d Hd. destruct (M7 _ Hd) as (? & ? & Hs).
    split_and!; [done..|]. intros x Hx. rewrite (memory_shorten h); [|done|unfold place; lia].
    replace (durable m + _)%nat with (place m (delayed_until d)); [auto|].
    unfold place. rewrite Hlen. change (released (shorten c m)) with (released m). lia.
Qed.
End machine.
