(* What it means that a value is chosen, the invariant of all runs, and why it makes two chosen values equal.

   The invariant speaks of a [view] of the system, in which a replica may remember less than it knows and may hold outputs
   back: that is needed where replicas crash (Crash.v). Where they do not (Safety.v) both are as if not there. *)
From stdpp Require Import gmap list numbers sets.
Require Import Prim Model Network.
Local Open Scope N_scope.

(* [said]: what has been put out. [current]: the replicas' states. [remembered]: what they would be in after a crash.
   [held]: outputs that wait until what they rest on is durable. *)
Record view := View {
  said : history; current : replica → state; remembered : replica → state; held : replica → list output }.

Section chosen.
Context (c : config).
Notation n := (config_replicas c).

(* --- Definitions. ----------------------------------------------------------------------------------------------- *)

Definition proposed (h : history) (b : ballot) (i : instance) (x : value) : Prop :=
  ∃ p, sent h p (Message_Propose b i x).
Definition voted (h : history) (a : replica) (b : ballot) (i : instance) : Prop := sent h a (Message_Accept b i).

(* A majority of those who vote. *)
Definition quorum (Q : nset) : Prop := (∀ a, a ∈ Q → a < n) ∧ n < 2 * ns_size Q.

(* A quorum has voted for whatever b proposes for i. *)
Definition ratified (h : history) (b : ballot) (i : instance) : Prop := ∃ Q, quorum Q ∧ ∀ a, a ∈ Q → voted h a b i.
Definition chosen (h : history) (i : instance) (x : value) : Prop := ∃ b, ratified h b i ∧ proposed h b i x.

(* A vote that is out, or will be unless its voter crashes. *)
Definition cast (v : view) (a : replica) (b : ballot) (i : instance) : Prop :=
  voted (said v) a b i ∨ sends (held v a) (Message_Accept b i).
(* Nothing will ever be chosen for i at b: a quorum has not voted so, and remembers that it promised not to. *)
Definition blocked (v : view) (b : ballot) (i : instance) : Prop :=
  ∃ Q, quorum Q ∧ ∀ a, a ∈ Q → ¬ cast v a b i ∧ b < promised (remembered v a).
(* Whatever was or will be chosen for i at a ballot below b is x. *)
Definition safe_at (v : view) (b : ballot) (i : instance) (x : value) : Prop :=
  ∀ b', b' < b → proposed (said v) b' i x ∨ blocked v b' i.

(* Nobody made x up. *)
Definition legitimate (h : history) (x : value) : Prop := x = noop ∨ requested h x.

(* --- The invariant of one replica. ------------------------------------------------------------------------------ *)

(* A majority has promised; the candidates of a replica that still prepares are at least as new as all votes reported. *)
Definition promise_kept (h : history) (s : state) (x : replica) : Prop :=
  ∃ votes, sent h x (Message_Promise (promised s) (first s) votes) ∧
    ∀ u, u ∈ votes → vote_instance u < next s ∧
      (role_now s = Preparing →
       ∃ d, im_get (vote_instance u) (candidates s) = Some d ∧ vote_ballot u ≤ candidate_ballot d).

(* What an entry of the log stands for. *)
Definition entry_inv (h : history) (s : state) (i : instance) (e : entry) : Prop :=
  entry_ballot e ≤ promised s ∧ i < low s + config_span c ∧ proposed h (entry_ballot e) i (entry_value e) ∧
  ∀ x, x ∈ entry_acks e → x < n ∧ voted h x (entry_ballot e) i.

(* What is true of replica a's state s. *)
Record replica_inv (h : history) (a : replica) (s : state) : Prop := ReplicaInv {
  (* Only what is executed is in a snapshot, and only what is in a snapshot is forgotten. *)
  ri_low : low s ≤ snapshot_at s ∧ snapshot_at s ≤ executed s;
  (* The log holds votes within the span, for proposals, with acknowledgements that were sent. *)
  ri_log : ∀ i e, im_get i (log s) = Some e → entry_inv h s i e;
  ri_decisions : ∀ i x, im_get i (decisions s) = Some x → chosen h i x;
  (* Who prepares or leads owns the ballot, ... *)
  ri_owner : role_now s ≠ Follower → a < n ∧ owner n (promised s) = a ∧ first s ≤ next s;
  (* ... has heard of candidates that were proposed at lower ballots, ... *)
  ri_candidates : role_now s = Preparing → ∀ i d, im_get i (candidates s) = Some d →
    candidate_ballot d < promised s ∧ proposed h (candidate_ballot d) i (candidate_value d);
  (* ... counts promises that were sent, ... *)
  ri_promises : role_now s ≠ Follower → ∀ x, x ∈ promises s → x < n ∧ promise_kept h s x;
  (* ... and leads once they are a majority. *)
  ri_leading : role_now s = Leading → n < 2 * ns_size (promises s) }.

(* --- The invariant of all. -------------------------------------------------------------------------------------- *)

(* Who is in state s has promised b and knows of a vote for i at b or later, unless the instance is forgotten. *)
Definition vote_kept (h : history) (s : state) (b : ballot) (i : instance) : Prop :=
  b ≤ promised s ∧ (∃ x, proposed h b i x) ∧
  (i < low s ∨ ∃ e, im_get i (log s) = Some e ∧ b ≤ entry_ballot e).
(* a's promise reports, from k on, a vote as new as any that a has cast or will cast below b; and only real votes. *)
Definition promise_sound (v : view) (a : replica) (b : ballot) (k : instance) (votes : list vote) : Prop :=
  (∀ u, u ∈ votes → vote_ballot u < b ∧ proposed (said v) (vote_ballot u) (vote_instance u) (vote_value u)) ∧
  ∀ i b', k ≤ i → cast v a b' i → b' < b → ∃ u, u ∈ votes ∧ vote_instance u = i ∧ b' ≤ vote_ballot u.
(* The ballot's owner will not use it as a new one again. *)
Definition used (v : view) (b : ballot) : Prop := b ≤ promised (remembered v (owner n b)).

Record inv (v : view) : Prop := Inv {
  i_replica : ∀ a, replica_inv (said v) a (current v a);
  i_ahead : ∀ a, promised (remembered v a) ≤ promised (current v a);
  i_held : ∀ a o, o ∈ held v a → ∃ m, waits m = true ∧ (o = Output_Broadcast m ∨ ∃ dst, o = Output_Send dst m);
  (* A vote that is out is remembered, one that is cast is known. *)
  i_vote : ∀ a b i, voted (said v) a b i → vote_kept (said v) (remembered v a) b i;
  i_cast : ∀ a b i, cast v a b i → vote_kept (said v) (current v a) b i;
  (* So is a promise. It answers a prepare, or is made to oneself. *)
  i_promise : ∀ a b k votes, sent (said v) a (Message_Promise b k votes) →
    b ≤ promised (remembered v a) ∧ used v b ∧ promise_sound v a b k votes;
  i_held_promise : ∀ a b k votes, sends (held v a) (Message_Promise b k votes) →
    b ≤ promised (current v a) ∧ (owner n b = a ∨ used v b) ∧ promise_sound v a b k votes;
  i_prepare : ∀ a b k, sent (said v) a (Message_Prepare b k) → owner n b = a ∧ used v b;
  i_held_prepare : ∀ a b k, sends (held v a) (Message_Prepare b k) → owner n b = a;
  (* Proposals come from the owner of their ballot, and from [next] on a leader has made none. *)
  i_propose : ∀ p b i x, sent (said v) p (Message_Propose b i x) → owner n b = p ∧ used v b ∧
    (b = promised (current v p) →
     role_now (current v p) = Follower ∨ role_now (current v p) = Leading ∧ i < next (current v p));
  i_unique : ∀ p b i x y, sent (said v) p (Message_Propose b i x) → sent (said v) p (Message_Propose b i y) → x = y;
  i_safe : ∀ b i x, proposed (said v) b i x → safe_at v b i x;
  (* What is said to be chosen is chosen. *)
  i_commit : ∀ a b i, sent (said v) a (Message_Commit b i) → ratified (said v) b i;
  i_learned : ∀ a ds d, sent (said v) a (Message_Learned ds) → d ∈ ds →
    chosen (said v) (decision_instance d) (decision_value d);
  i_delivered : ∀ a i x, delivered (said v) a i x → chosen (said v) i x;
  (* No value is made up. *)
  i_forward : ∀ a x, sent (said v) a (Message_Forward x) → requested (said v) x;
  i_legitimate : ∀ b i x, proposed (said v) b i x → legitimate (said v) x }.

(* --- What was so stays so. -------------------------------------------------------------------------------------- *)

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
Lemma entry_mono x h s i e : entry_inv h s i e → entry_inv (x :: h) s i e.
Proof.
  intros (?&?&?&Hx). split_and!; [done|done|by apply proposed_mono|].
  intros y Hy. destruct (Hx y Hy). split; [done|by apply voted_mono].
Qed.
Lemma vote_kept_mono x h s b i : vote_kept h s b i → vote_kept (x :: h) s b i.
Proof. intros (? & [y ?] & ?). split_and!; [done|exists y; by apply proposed_mono|done]. Qed.
Lemma replica_mono x h a s : replica_inv h a s → replica_inv (x :: h) a s.
Proof.
  intros [R1 R2 R3 R4 R5 R6 R7]. split; try done.
  - intros i e He. by apply entry_mono, R2.
  - intros. apply chosen_mono; auto.
  - intros Hr i d Hd. destruct (R5 Hr i d Hd). split; [done|by apply proposed_mono].
  - intros Hr y Hy. destruct (R6 Hr y Hy). split; [done|by apply promise_kept_mono].
Qed.

(* --- Quorums meet. ---------------------------------------------------------------------------------------------- *)

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

(* --- Agreement. ------------------------------------------------------------------------------------------------- *)

Lemma proposed_unique v b i x y : inv v → proposed (said v) b i x → proposed (said v) b i y → x = y.
Proof.
  intros I [p Hp] [q Hq]. destruct (i_propose _ I _ _ _ _ Hp) as [<- _]. destruct (i_propose _ I _ _ _ _ Hq) as [<- _].
  exact (i_unique _ I _ _ _ _ _ Hp Hq).
Qed.
(* What is ratified below b is what b proposes: it cannot be blocked. *)
Lemma ratified_below v b b' i x y : inv v → proposed (said v) b i x → b' < b → ratified (said v) b' i →
  proposed (said v) b' i y → y = x.
Proof.
  intros I Hp Hlt (Q & HQ & Hv) Hp'. destruct (i_safe _ I _ _ _ Hp b' Hlt) as [H|(Q' & HQ' & Hb)].
  - exact (proposed_unique v b' i y x I Hp' H).
  - destruct (quorums_meet Q Q') as (a & ? & Ha); auto. destruct (Hb a Ha) as [Hn _]. destruct Hn. left. auto.
Qed.
Theorem chosen_unique v i x y : inv v → chosen (said v) i x → chosen (said v) i y → x = y.
Proof.
  intros I (b & Hr & Hp) (b' & Hr' & Hp'). destruct (N.lt_trichotomy b b') as [H|[->|H]].
  - exact (ratified_below v b' b i y x I Hp' H Hr Hp).
  - exact (proposed_unique v b' i x y I Hp Hp').
  - symmetry. exact (ratified_below v b b' i x y I Hp H Hr' Hp').
Qed.
Theorem chosen_legitimate v i x : inv v → chosen (said v) i x → legitimate (said v) x.
Proof. intros I (b & _ & Hp). exact (i_legitimate _ I _ _ _ Hp). Qed.

(* --- What a quorum of promises makes safe. ---------------------------------------------------------------------- *)

(* Q has promised b for all instances from k on; whatever it reports of i is in m, or newer there. *)
Definition prepared (v : view) (b : ballot) (k i : instance) (m : imap candidate) (Q : nset) : Prop :=
  quorum Q ∧ ∀ x, x ∈ Q → ∃ votes, sent (said v) x (Message_Promise b k votes) ∧
    ∀ u, u ∈ votes → vote_instance u = i → ∃ d, im_get i m = Some d ∧ vote_ballot u ≤ candidate_ballot d.

(* Where Q reports only votes below b', nothing is chosen at b'. *)
Lemma prepared_blocks v b k i m Q b' : inv v → k ≤ i → prepared v b k i m Q → b' < b →
  (∀ d, im_get i m = Some d → candidate_ballot d < b') → blocked v b' i.
Proof.
  intros I Hk [HQ HP] Hlt Hd. exists Q. split; [done|]. intros a Ha. destruct (HP a Ha) as (votes & Hs & Hvotes).
  destruct (i_promise _ I _ _ _ _ Hs) as (Hb & _ & _ & Hcov). split; [|lia].
  intros Hv. destruct (Hcov i b') as (u & Hu & Hi & Hle); [done..|].
  destruct (Hvotes u Hu Hi) as (d & Hdm & Hdl). specialize (Hd d Hdm). lia.
Qed.
(* No ballot between the candidate's and b can choose, since Q promised b and reports no vote there; at the candidate's
   own ballot nothing else was proposed; and what is below was settled when the candidate was proposed. *)
Lemma safe_pick v b k Q m i : inv v → k ≤ i → prepared v b k i m Q →
  (∀ d, im_get i m = Some d → candidate_ballot d < b ∧ proposed (said v) (candidate_ballot d) i (candidate_value d)) →
  safe_at v b i (pick i m).
Proof.
  intros I Hk HP HC b' Hlt. pose proof (prepared_blocks v b k i m Q b' I Hk HP Hlt) as Hblk.
  unfold pick. destruct (im_get i m) as [d|] eqn:E; [|right; by apply Hblk].
  destruct (HC d eq_refl) as [Hdb Hdp]. destruct (N.lt_trichotomy b' (candidate_ballot d)) as [H|[->|H]].
  - apply (i_safe _ I _ _ _ Hdp b' H).
  - by left.
  - right. apply Hblk. by intros d' [= <-].
Qed.
(* Where no promise reports a vote, everything is safe. *)
Lemma safe_free v b k Q i x : inv v → k ≤ i → prepared v b k i im_empty Q → safe_at v b i x.
Proof. intros I Hk HP b' Hlt. right. by apply (prepared_blocks v b k i im_empty Q). Qed.
End chosen.
