(* What it means that a value is chosen, the invariant of all runs, and why it makes two chosen values equal. *)
From stdpp Require Import gmap list numbers sets.
Require Import Prim Model Network.
Local Open Scope N_scope.

Section chosen.
Context (c : config).
Notation n := (config_replicas c).

(* --- Definitions: all speak of what was sent, none of a replica's state. -------------------------------------------- *)

Definition proposed (h : history) (b : ballot) (i : instance) (v : value) : Prop :=
  ∃ p, sent h p (Message_Propose b i v).
Definition voted (h : history) (a : replica) (b : ballot) (i : instance) : Prop := sent h a (Message_Accept b i).

(* A majority of those who vote. *)
Definition quorum (Q : nset) : Prop := (∀ a, a ∈ Q → a < n) ∧ n < 2 * ns_size Q.

(* A quorum has voted for whatever b proposes for i. *)
Definition ratified (h : history) (b : ballot) (i : instance) : Prop := ∃ Q, quorum Q ∧ ∀ a, a ∈ Q → voted h a b i.
Definition chosen (h : history) (i : instance) (v : value) : Prop := ∃ b, ratified h b i ∧ proposed h b i v.

(* Nothing will ever be chosen for i at b: a quorum has not voted so, and has promised not to. *)
Definition blocked (w : world) (b : ballot) (i : instance) : Prop :=
  ∃ Q, quorum Q ∧ ∀ a, a ∈ Q → ¬ voted (past w) a b i ∧ b < promised (state_of w a).
(* Whatever was or will be chosen for i at a ballot below b is v. *)
Definition safe_at (w : world) (b : ballot) (i : instance) (v : value) : Prop :=
  ∀ b', b' < b → proposed (past w) b' i v ∨ blocked w b' i.

(* Nobody made v up. *)
Definition legitimate (h : history) (v : value) : Prop := v = noop ∨ requested h v.

(* --- The invariant. ------------------------------------------------------------------------------------------------- *)

(* A majority has promised, and the candidates of a replica that still prepares are at least as new as all votes reported. *)
Definition promise_kept (h : history) (s : state) (x : replica) : Prop :=
  ∃ votes, sent h x (Message_Promise (promised s) (first s) votes) ∧
    ∀ u, u ∈ votes → vote_instance u < next s ∧
      (role_now s = Preparing →
       ∃ d, im_get (vote_instance u) (candidates s) = Some d ∧ vote_ballot u ≤ candidate_ballot d).

(* What is true of replica a's state s. *)
Record replica_inv (h : history) (a : replica) (s : state) : Prop := ReplicaInv {
  (* Only what is executed is snapshot, only what is snapshot is forgotten. *)
  ri_low : low s ≤ snapshot_at s ∧ snapshot_at s ≤ executed s;
  (* The log holds votes within the span, for proposals, with acknowledgements that were sent. *)
  ri_log : ∀ i e, im_get i (log s) = Some e →
    entry_ballot e ≤ promised s ∧ i < low s + config_span c ∧ proposed h (entry_ballot e) i (entry_value e) ∧
    ∀ x, x ∈ entry_acks e → x < n ∧ voted h x (entry_ballot e) i;
  ri_decisions : ∀ i v, im_get i (decisions s) = Some v → chosen h i v;
  (* Who prepares or leads owns the ballot, ... *)
  ri_owner : role_now s ≠ Follower → a < n ∧ owner n (promised s) = a ∧ first s ≤ next s;
  (* ... has heard of candidates that were proposed at lower ballots, ... *)
  ri_candidates : role_now s = Preparing → ∀ i d, im_get i (candidates s) = Some d →
    candidate_ballot d < promised s ∧ proposed h (candidate_ballot d) i (candidate_value d);
  (* ... counts promises that were sent, ... *)
  ri_promises : role_now s ≠ Follower → ∀ x, x ∈ promises s → x < n ∧ promise_kept h s x;
  (* ... and leads once they are a majority. *)
  ri_leading : role_now s = Leading → n < 2 * ns_size (promises s) }.

(* What is true of the world. *)
Record inv (w : world) : Prop := Inv {
  i_replica : ∀ a, replica_inv (past w) a (state_of w a);
  (* A voter has promised the ballot and remembers the vote or a newer one, unless it has forgotten the instance. *)
  i_vote : ∀ a b i, voted (past w) a b i →
    b ≤ promised (state_of w a) ∧ (∃ v, proposed (past w) b i v) ∧
    (i < low (state_of w a) ∨ ∃ e, im_get i (log (state_of w a)) = Some e ∧ b ≤ entry_ballot e);
  (* A promise reports, from its start on, a vote as new as any that its sender has sent or will send below its ballot. *)
  i_promise : ∀ a b k votes, sent (past w) a (Message_Promise b k votes) →
    b ≤ promised (state_of w a) ∧
    (∀ u, u ∈ votes → vote_ballot u < b ∧ proposed (past w) (vote_ballot u) (vote_instance u) (vote_value u)) ∧
    ∀ i b', k ≤ i → voted (past w) a b' i → b' < b → ∃ u, u ∈ votes ∧ vote_instance u = i ∧ b' ≤ vote_ballot u;
  (* Proposals come from the owner of their ballot while it leads, and from next on it has made none. *)
  i_propose : ∀ p b i v, sent (past w) p (Message_Propose b i v) →
    owner n b = p ∧ b ≤ promised (state_of w p) ∧
    (b = promised (state_of w p) → role_now (state_of w p) = Leading ∧ i < next (state_of w p));
  i_unique : ∀ p b i v v', sent (past w) p (Message_Propose b i v) → sent (past w) p (Message_Propose b i v') → v = v';
  i_safe : ∀ b i v, proposed (past w) b i v → safe_at w b i v;
  i_commit : ∀ a b i, sent (past w) a (Message_Commit b i) → ratified (past w) b i;
  i_learned : ∀ a ds d, sent (past w) a (Message_Learned ds) → d ∈ ds →
    chosen (past w) (decision_instance d) (decision_value d);
  i_delivered : ∀ a i v, delivered (past w) a i v → chosen (past w) i v;
  i_forward : ∀ a v, sent (past w) a (Message_Forward v) → requested (past w) v;
  i_legitimate : ∀ b i v, proposed (past w) b i v → legitimate (past w) v }.

(* --- What was so stays so. ------------------------------------------------------------------------------------------ *)

Lemma proposed_mono x h b i v : proposed h b i v → proposed (x :: h) b i v.
Proof. intros [p H]. exists p. by apply sent_mono. Qed.
Lemma voted_mono x h a b i : voted h a b i → voted (x :: h) a b i.
Proof. apply sent_mono. Qed.
Lemma ratified_mono x h b i : ratified h b i → ratified (x :: h) b i.
Proof. intros (Q & HQ & H). exists Q. split; [done|]. intros a Ha. by apply voted_mono, H. Qed.
Lemma chosen_mono x h i v : chosen h i v → chosen (x :: h) i v.
Proof. intros (b & ? & ?). exists b. split; [by apply ratified_mono|by apply proposed_mono]. Qed.
Lemma legitimate_mono x h v : legitimate h v → legitimate (x :: h) v.
Proof. intros [?|?]; [by left|right; by apply requested_mono]. Qed.
Lemma promise_kept_mono x h s y : promise_kept h s y → promise_kept (x :: h) s y.
Proof. intros (votes & ? & ?). exists votes. split; [by apply sent_mono|done]. Qed.
Lemma replica_mono x h a s : replica_inv h a s → replica_inv (x :: h) a s.
Proof.
  intros [R1 R2 R3 R4 R5 R6 R7]. split; try done.
  - intros i e He. destruct (R2 i e He) as (?&?&?&Hx). split_and!; [done|done|by apply proposed_mono|].
    intros y Hy. destruct (Hx y Hy). split; [done|by apply voted_mono].
  - intros. apply chosen_mono; auto.
  - intros Hr i d Hd. destruct (R5 Hr i d Hd). split; [done|by apply proposed_mono].
  - intros Hr y Hy. destruct (R6 Hr y Hy). split; [done|by apply promise_kept_mono].
Qed.

(* --- Quorums meet. -------------------------------------------------------------------------------------------------- *)

Lemma quorums_meet Q1 Q2 : quorum Q1 → quorum Q2 → ∃ a, a ∈ Q1 ∧ a ∈ Q2.
Proof.
  unfold quorum, ns_size, nset in *. intros [B1 S1] [B2 S2]. destruct (decide (Q1 ∩ Q2 = ∅)) as [E|E];
    [exfalso|apply set_choose_L in E as [x Hx]; exists x; set_solver].
  assert (Hd : Q1 ## Q2) by set_solver.
  assert (Hle : (length (elements (Q1 ∪ Q2)) ≤ length (n_range 0 n))%nat).
  { apply submseteq_length, NoDup_submseteq; [apply NoDup_elements|].
    intros x Hx%elem_of_elements. apply elem_of_list_fmap.
    assert (x < n) by (apply elem_of_union in Hx as [?|?]; auto).
    exists (N.to_nat x). rewrite N2Nat.id. split; [done|]. apply elem_of_seq. lia. }
  change (length (elements (Q1 ∪ Q2))) with (size (Q1 ∪ Q2)) in Hle.
  rewrite size_union in Hle by done. unfold n_range in Hle. rewrite fmap_length, seq_length in Hle. lia.
Qed.

(* --- Agreement. ----------------------------------------------------------------------------------------------------- *)

Lemma proposed_unique w b i v v' : inv w → proposed (past w) b i v → proposed (past w) b i v' → v = v'.
Proof.
  intros I [p Hp] [p' Hp']. destruct (i_propose _ I _ _ _ _ Hp) as [E _]. destruct (i_propose _ I _ _ _ _ Hp') as [E' _].
  subst. exact (i_unique _ I _ _ _ _ _ Hp Hp').
Qed.
(* What is ratified below b is what b proposes: it cannot be blocked. *)
Lemma ratified_below w b b' i v v' : inv w → proposed (past w) b i v → b' < b → ratified (past w) b' i →
  proposed (past w) b' i v' → v' = v.
Proof.
  intros I Hp Hlt (Q & HQ & Hv) Hp'. destruct (i_safe _ I _ _ _ Hp b' Hlt) as [H|(Q' & HQ' & Hb)].
  - exact (proposed_unique w b' i v' v I Hp' H).
  - destruct (quorums_meet Q Q') as (a & ? & Ha); auto. destruct (Hb a Ha) as [Hn _]. destruct Hn; auto.
Qed.
Theorem chosen_unique w i v v' : inv w → chosen (past w) i v → chosen (past w) i v' → v = v'.
Proof.
  intros I (b & Hr & Hp) (b' & Hr' & Hp'). destruct (N.lt_trichotomy b b') as [H|[->|H]].
  - exact (ratified_below w b' b i v' v I Hp' H Hr Hp).
  - exact (proposed_unique w b' i v v' I Hp Hp').
  - symmetry. exact (ratified_below w b b' i v v' I Hp H Hr' Hp').
Qed.
Theorem chosen_legitimate w i v : inv w → chosen (past w) i v → legitimate (past w) v.
Proof. intros I (b & _ & Hp). exact (i_legitimate _ I _ _ _ Hp). Qed.

(* --- What a quorum of promises makes safe. -------------------------------------------------------------------------- *)

(* Q has promised b for all instances from k on; whatever it reports of i is in m, or newer there. *)
Definition prepared (w : world) (b : ballot) (k i : instance) (m : imap candidate) (Q : nset) : Prop :=
  quorum Q ∧ ∀ x, x ∈ Q → ∃ votes, sent (past w) x (Message_Promise b k votes) ∧
    ∀ u, u ∈ votes → vote_instance u = i → ∃ d, im_get i m = Some d ∧ vote_ballot u ≤ candidate_ballot d.

(* No ballot between the candidate's and b can choose, since Q promised b and reports no vote there; at the candidate's own
   ballot nothing else was proposed; and what is below was settled when the candidate was proposed. *)
Lemma safe_pick w b k Q m i : inv w → k ≤ i → prepared w b k i m Q →
  (∀ d, im_get i m = Some d → candidate_ballot d < b ∧ proposed (past w) (candidate_ballot d) i (candidate_value d)) →
  safe_at w b i (pick i m).
Proof.
  intros I Hk [HQ HP] HC b' Hlt.
  assert (Hblk : (∀ d, im_get i m = Some d → candidate_ballot d < b') → blocked w b' i).
  { intros Hd. exists Q. split; [done|]. intros a Ha. destruct (HP a Ha) as (votes & Hs & Hvotes).
    destruct (i_promise _ I _ _ _ _ Hs) as (Hb & _ & Hcov). split; [|lia].
    intros Hv. destruct (Hcov i b') as (u & Hu & Hi & Hle); [done..|].
    destruct (Hvotes u Hu Hi) as (d & Hdm & Hdl). specialize (Hd d Hdm). lia. }
  unfold pick. destruct (im_get i m) as [d|] eqn:E; [|right; apply Hblk; done].
  destruct (HC d eq_refl) as [Hdb Hdp].
  destruct (N.lt_trichotomy b' (candidate_ballot d)) as [H|[->|H]].
  - apply (i_safe _ I _ _ _ Hdp b' H).
  - by left.
  - right. apply Hblk. by intros d' [= <-].
Qed.
(* Where no promise reports a vote, everything is safe. *)
Lemma safe_free w b k Q i v : inv w → k ≤ i → prepared w b k i im_empty Q → safe_at w b i v.
Proof.
  intros I Hk [HQ HP] b' Hlt. right. exists Q. split; [done|]. intros a Ha.
  destruct (HP a Ha) as (votes & Hs & Hvotes). destruct (i_promise _ I _ _ _ _ Hs) as (Hb & _ & Hcov). split; [|lia].
  intros Hv. destruct (Hcov i b') as (u & Hu & Hi & Hle); [done..|].
  by destruct (Hvotes u Hu Hi) as (d & ? & _).
Qed.
End chosen.
