(* What one action may do, and that whatever does no more preserves the invariant. *)
From stdpp Require Import gmap list numbers sets.
Require Import Prim PrimFacts Model Network SafetyChosen.
Local Open Scope N_scope.

(* --- What some outputs send. ---------------------------------------------------------------------------------------- *)

Lemma sends_nil m : ¬ sends [] m.
Proof. intros [H|[d H]]; by apply elem_of_nil in H. Qed.
Lemma sends_cons o l m : sends (o :: l) m ↔
  match o with Output_Broadcast m' | Output_Send _ m' => m = m' | _ => False end ∨ sends l m.
Proof.
  unfold sends. split.
  - intros [[<-|H]%elem_of_cons|[d [<-|H]%elem_of_cons]]; eauto.
  - intros [H|[H|[d H]]]; [|left; apply elem_of_cons; auto|right; exists d; apply elem_of_cons; auto].
    destruct o; try done; subst; [right; eexists|left]; by apply elem_of_cons; left.
Qed.
(* Take apart hypotheses about a literal list of outputs. *)
Ltac outs := repeat match goal with
  | H : sends [] _ |- _ => by apply sends_nil in H
  | H : sends (_ :: _) _ |- _ => apply sends_cons in H as [H|H]; try discriminate H; try contradiction H
  | H : _ ∈ [] |- _ => by apply elem_of_nil in H
  | H : _ ∈ _ :: _ |- _ => apply elem_of_cons in H as [H|H]; try discriminate H
  end.

Section step.
Context (c : config).
Notation n := (config_replicas c).

(* --- What one action may do. ---------------------------------------------------------------------------------------- *)

(* In the world w replica a takes e, becomes s and puts out outs. *)
Record lstep (w : world) (a : replica) (e : event) (s : state) (outs : list output) : Prop := LStep {
  (* It breaks no promise and keeps votes, unless it forgets the instance. *)
  l_promised : promised (state_of w a) ≤ promised s;
  l_low : low (state_of w a) ≤ low s;
  l_log : ∀ i e, im_get i (log (state_of w a)) = Some e →
    i < low s ∨ ∃ e', im_get i (log s) = Some e' ∧ entry_ballot e ≤ entry_ballot e';
  (* It votes for proposals, at the ballot promised, and notes the vote. *)
  l_vote : ∀ b i, sends outs (Message_Accept b i) →
    b = promised s ∧ (∃ v, proposed (past w) b i v) ∧ ∃ e, im_get i (log s) = Some e ∧ entry_ballot e = b;
  (* It promises only more than before, and only where it has forgotten nothing. *)
  l_promise : ∀ b k votes, sends outs (Message_Promise b k votes) →
    promised (state_of w a) < b ∧ b = promised s ∧ low (state_of w a) ≤ k ∧ votes = votes_from c k (state_of w a) ∧
    ∀ b i, ¬ sends outs (Message_Accept b i);
  (* It proposes only at an own ballot that it had before, what is safe, at instances that it has not used. *)
  l_propose : ∀ b i v, sends outs (Message_Propose b i v) →
    b = promised s ∧ promised s = promised (state_of w a) ∧ owner n b = a ∧ role_now s = Leading ∧ i < next s ∧
    safe_at c w b i v ∧ (role_now (state_of w a) = Leading → next (state_of w a) ≤ i);
  l_unique : ∀ b i v v', sends outs (Message_Propose b i v) → sends outs (Message_Propose b i v') → v = v';
  l_leading : promised s = promised (state_of w a) → role_now (state_of w a) = Leading →
    role_now s = Leading ∧ next (state_of w a) ≤ next s;
  (* What it says to be chosen is chosen. *)
  l_commit : ∀ b i, sends outs (Message_Commit b i) → ratified c (past w) b i;
  l_learned : ∀ ds d, sends outs (Message_Learned ds) → d ∈ ds → chosen c (past w) (decision_instance d) (decision_value d);
  l_delivered : ∀ i v, Output_Deliver i v ∈ outs → chosen c (past w) i v;
  (* It makes up no value. *)
  l_forward : ∀ v, sends outs (Message_Forward v) → requested (Action a e outs :: past w) v;
  l_legitimate : ∀ b i v, sends outs (Message_Propose b i v) → legitimate (Action a e outs :: past w) v;
  l_replica : replica_inv c (Action a e outs :: past w) a s }.

(* --- Votes reported. ------------------------------------------------------------------------------------------------ *)

Lemma votes_from_complete k s i e : im_get i (log s) = Some e → k ≤ i → i < low s + config_span c →
  ∃ u, u ∈ votes_from c k s ∧ vote_instance u = i ∧ vote_ballot u = entry_ballot e.
Proof.
  intros H Hk Hi. exists (vote_of (i, e)). split_and!; [|done..].
  apply elem_of_list_fmap. exists (i, e). split; [done|]. by apply im_range_elem.
Qed.
Lemma votes_from_sound k s u : u ∈ votes_from c k s →
  ∃ e, im_get (vote_instance u) (log s) = Some e ∧ vote_ballot u = entry_ballot e ∧ vote_value u = entry_value e.
Proof. intros ([i e] & -> & H)%elem_of_list_fmap. apply im_range_elem in H as [_ H]. by exists e. Qed.

(* --- It preserves the invariant. ------------------------------------------------------------------------------------ *)

Section preserve.
Context (w : world) (a : replica) (e : event) (s : state) (outs : list output).
Context (I : inv c w) (L : lstep w a e s outs).
Notation w' := (act w a e s outs).

Lemma state_same : state_of w' a = s.
Proof. simpl. by rewrite decide_True. Qed.
Lemma state_other x : x ≠ a → state_of w' x = state_of w x.
Proof. intros. simpl. by rewrite decide_False. Qed.
Lemma promised_mono x : promised (state_of w x) ≤ promised (state_of w' x).
Proof. destruct (decide (x = a)) as [->|?]; [rewrite state_same; apply L|by rewrite state_other]. Qed.
Lemma sent_after x m : sent (past w') x m ↔ (x = a ∧ sends outs m) ∨ sent (past w) x m.
Proof. apply sent_cons. Qed.
Lemma proposed_after b i v : proposed (past w) b i v → proposed (past w') b i v.
Proof. apply proposed_mono. Qed.

(* A ballot that a replica has promised more than gets no more votes from it. *)
Lemma voted_after x b i : voted (past w') x b i → voted (past w) x b i ∨
  x = a ∧ sends outs (Message_Accept b i) ∧ promised (state_of w a) ≤ b.
Proof.
  intros [[-> H]|H]%sent_after; [right|by left]. destruct (l_vote _ _ _ _ _ L _ _ H) as (-> & _).
  split_and!; [done..|apply L].
Qed.
Lemma blocked_after b i : blocked c w b i → blocked c w' b i.
Proof.
  intros (Q & HQ & H). exists Q. split; [done|]. intros x Hx. destruct (H x Hx) as [H1 H2].
  split; [|pose proof (promised_mono x); lia]. intros [Hv|(-> & _ & Hle)]%voted_after; [done|lia].
Qed.
Lemma safe_after b i v : safe_at c w b i v → safe_at c w' b i v.
Proof. intros H b' Hlt. destruct (H b' Hlt); [left; by apply proposed_after|right; by apply blocked_after]. Qed.

Lemma vote_after x b i : voted (past w') x b i →
  b ≤ promised (state_of w' x) ∧ (∃ v, proposed (past w') b i v) ∧
  (i < low (state_of w' x) ∨ ∃ e, im_get i (log (state_of w' x)) = Some e ∧ b ≤ entry_ballot e).
Proof.
  intros [Hv|(-> & He & _)]%voted_after.
  - destruct (i_vote _ _ I _ _ _ Hv) as (H1 & (v & H2) & H3). split_and!.
    + pose proof (promised_mono x). lia.
    + exists v. by apply proposed_after.
    + destruct (decide (x = a)) as [->|?]; [|by rewrite state_other]. rewrite state_same.
      pose proof (l_low _ _ _ _ _ L). destruct H3 as [H3|(e1 & He & Hle)]; [left; lia|].
      destruct (l_log _ _ _ _ _ L _ _ He) as [?|(e' & ? & ?)]; [by left|right].
      exists e'. split; [done|lia].
  - destruct (l_vote _ _ _ _ _ L _ _ He) as (-> & (v & Hp) & e1 & Hl & Hb). rewrite state_same. split_and!; [lia| |].
    + exists v. by apply proposed_after.
    + right. exists e1. split; [done|lia].
Qed.

Lemma promise_after x b k votes : sent (past w') x (Message_Promise b k votes) →
  b ≤ promised (state_of w' x) ∧
  (∀ u, u ∈ votes → vote_ballot u < b ∧ proposed (past w') (vote_ballot u) (vote_instance u) (vote_value u)) ∧
  ∀ i b', k ≤ i → voted (past w') x b' i → b' < b → ∃ u, u ∈ votes ∧ vote_instance u = i ∧ b' ≤ vote_ballot u.
Proof.
  intros [[-> He]|H]%sent_after.
  - destruct (l_promise _ _ _ _ _ L _ _ _ He) as (Hlt & -> & Hk & -> & Hno). rewrite state_same. split_and!; [lia| |].
    + intros u (e1 & He1 & -> & ->)%votes_from_sound.
      destruct (ri_log _ _ _ _ (i_replica _ _ I a) _ _ He1) as (? & _ & ? & _). split; [lia|by apply proposed_after].
    + intros i b' Hi [Hv|(_ & Hc & _)]%voted_after Hb'; [|by destruct (Hno _ _ Hc)].
      destruct (i_vote _ _ I _ _ _ Hv) as (_ & _ & [?|(e1 & He1 & Hle)]); [lia|].
      destruct (ri_log _ _ _ _ (i_replica _ _ I a) _ _ He1) as (_ & ? & _).
      destruct (votes_from_complete k (state_of w a) i e1) as (u & ? & ? & Hub); [done..|].
      exists u. rewrite Hub. done.
  - destruct (i_promise _ _ I _ _ _ _ H) as (H1 & H2 & H3). split_and!.
    + pose proof (promised_mono x). lia.
    + intros u Hu. destruct (H2 u Hu). split; [done|by apply proposed_after].
    + intros i b' Hi [Hv|(-> & He & Hle)]%voted_after Hb'; [by apply H3|lia].
Qed.

Lemma propose_after p b i v : sent (past w') p (Message_Propose b i v) →
  owner n b = p ∧ b ≤ promised (state_of w' p) ∧
  (b = promised (state_of w' p) → role_now (state_of w' p) = Leading ∧ i < next (state_of w' p)).
Proof.
  intros [[-> He]|H]%sent_after.
  - destruct (l_propose _ _ _ _ _ L _ _ _ He) as (-> & ? & ? & ? & ? & _). rewrite state_same. split_and!; [done|lia|done].
  - destruct (i_propose _ _ I _ _ _ _ H) as (H1 & H2 & H3). pose proof (promised_mono p). split_and!; [done|lia|].
    destruct (decide (p = a)) as [->|?]; [|by rewrite state_other]. rewrite state_same. intros ->.
    pose proof (l_promised _ _ _ _ _ L). assert (E : promised s = promised (state_of w a)) by lia.
    destruct (H3 E) as [Hlead Hused]. destruct (l_leading _ _ _ _ _ L E Hlead). split; [done|lia].
Qed.

(* An instance once proposed is not proposed anew: a leader uses those from next on. *)
Lemma propose_fresh b i v v' : sends outs (Message_Propose b i v) → sent (past w) a (Message_Propose b i v') → False.
Proof.
  intros He Hs. destruct (l_propose _ _ _ _ _ L _ _ _ He) as (-> & E & _ & _ & _ & _ & Hl).
  destruct (i_propose _ _ I _ _ _ _ Hs) as (_ & _ & H3). destruct (H3 E) as [Hlead Hused]. specialize (Hl Hlead). lia.
Qed.
Lemma unique_after p b i v v' :
  sent (past w') p (Message_Propose b i v) → sent (past w') p (Message_Propose b i v') → v = v'.
Proof.
  intros [[-> He]|H]%sent_after [[E He']|H']%sent_after; try subst p.
  - eapply (l_unique _ _ _ _ _ L); eauto.
  - destruct (propose_fresh _ _ _ _ He H').
  - destruct (propose_fresh _ _ _ _ He' H).
  - eapply (i_unique _ _ I); eauto.
Qed.

Theorem inv_act : inv c w'.
Proof.
  split.
  - intros x. destruct (decide (x = a)) as [->|?]; [rewrite state_same; apply L|].
    rewrite state_other by done. apply replica_mono, I.
  - apply vote_after.
  - apply promise_after.
  - apply propose_after.
  - apply unique_after.
  - intros b i v [p [[-> He]|H]%sent_after]; apply safe_after;
      [eapply (l_propose _ _ _ _ _ L); eauto|apply (i_safe _ _ I); by exists p].
  - intros x b i [[-> He]|H]%sent_after; apply ratified_mono; [eapply (l_commit _ _ _ _ _ L)|eapply (i_commit _ _ I)]; eauto.
  - intros x ds d [[-> He]|H]%sent_after Hd; apply chosen_mono;
      [eapply (l_learned _ _ _ _ _ L)|eapply (i_learned _ _ I)]; eauto.
  - intros x i v [[-> He]|H]%emitted_cons; apply chosen_mono;
      [eapply (l_delivered _ _ _ _ _ L)|eapply (i_delivered _ _ I)]; eauto.
  - intros x v [[-> He]|H]%sent_after; [by apply (l_forward _ _ _ _ _ L)|by eapply requested_mono, (i_forward _ _ I)].
  - intros b i v [p [[-> He]|H]%sent_after]; [by eapply (l_legitimate _ _ _ _ _ L)|].
    apply legitimate_mono, (i_legitimate _ _ I b i). by exists p.
Qed.
End preserve.
End step.
