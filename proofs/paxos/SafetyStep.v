(* What a replica may do as it takes an event, and that whatever does no more preserves the invariant. *)
From stdpp Require Import gmap list numbers sets.
Require Import Prim PrimFacts Model Network SafetyChosen.
Local Open Scope N_scope.

(* --- What some outputs send. ------------------------------------------------------------------------------------ *)

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
Lemma sends_app l l' m : sends (l ++ l') m ↔ sends l m ∨ sends l' m.
Proof. unfold sends. setoid_rewrite elem_of_app. naive_solver. Qed.
Lemma sends_sub (l l' : list output) m : l ⊆ l' → sends l m → sends l' m.
Proof. intros H [?|[d ?]]; [left|right; exists d]; by apply H. Qed.
(* Take apart hypotheses about a literal list of outputs. *)
Ltac outs := repeat match goal with
  | H : sends [] _ |- _ => by apply sends_nil in H
  | H : sends (_ :: _) _ |- _ => apply sends_cons in H as [H|H]; try discriminate H; try contradiction H
  | H : _ ∈ [] |- _ => by apply elem_of_nil in H
  | H : _ ∈ _ :: _ |- _ => apply elem_of_cons in H as [H|H]; try discriminate H
  end.

(* s' has broken no promise of s, and kept its votes but those it has forgotten. *)
Record extends (s s' : state) : Prop := Extends {
  ex_promised : promised s ≤ promised s';
  ex_low : low s ≤ low s';
  ex_log : ∀ i e, im_get i (log s) = Some e →
    i < low s' ∨ ∃ e', im_get i (log s') = Some e' ∧ entry_ballot e ≤ entry_ballot e' }.

Lemma vote_kept_extends h s s' b i : extends s s' → vote_kept h s b i → vote_kept h s' b i.
Proof.
  intros [E1 E2 E3] (? & ? & H). split_and!; [lia|done|]. destruct H as [?|(e & He & ?)]; [left; lia|].
  destruct (E3 i e He) as [?|(e' & ? & ?)]; [by left|right]. exists e'. split; [done|lia].
Qed.

(* Who is in r is bound by as much as who is in s: the promise, and all votes. *)
Definition bound_as (s r : state) : Prop :=
  promised r = promised s ∧ ∀ h b i, vote_kept h s b i → vote_kept h r b i.
Lemma bound_as_refl s : bound_as s s.
Proof. by split. Qed.

Section step.
Context (c : config).
Notation n := (config_replicas c).

(* --- What one replica may do. ----------------------------------------------------------------------------------- *)

(* In the view v replica a takes e, becomes s and puts out outs. *)
Record lstep (v : view) (a : replica) (e : event) (s : state) (outs : list output) : Prop := LStep {
  l_extends : extends (current v a) s;
  (* It votes for proposals, at the ballot promised, and notes the vote. *)
  l_vote : ∀ b i, sends outs (Message_Accept b i) →
    b = promised s ∧ (∃ x, proposed (said v) b i x) ∧ ∃ e, im_get i (log s) = Some e ∧ entry_ballot e = b;
  (* It prepares own ballots. *)
  l_prepare : ∀ b k, sends outs (Message_Prepare b k) → owner n b = a ∧ b = promised s;
  (* It promises only more than before, only where it has forgotten nothing, and only to a ballot's owner. *)
  l_promise : ∀ b k votes, sends outs (Message_Promise b k votes) →
    promised (current v a) < b ∧ b = promised s ∧ low (current v a) ≤ k ∧ votes = votes_from c k (current v a) ∧
    (owner n b = a ∨ used c v b) ∧ ∀ b i, ¬ sends outs (Message_Accept b i);
  (* It proposes only at an own ballot that it had before, what is safe, at instances that it has not used. *)
  l_propose : ∀ b i x, sends outs (Message_Propose b i x) →
    b = promised s ∧ promised s = promised (current v a) ∧ owner n b = a ∧ used c v b ∧
    role_now s = Leading ∧ i < next s ∧ safe_at c v b i x ∧
    (role_now (current v a) = Leading → next (current v a) ≤ i);
  l_unique : ∀ b i x y, sends outs (Message_Propose b i x) → sends outs (Message_Propose b i y) → x = y;
  (* At one ballot a follower stays one, and a leader leads on. *)
  l_role : promised s = promised (current v a) →
    (role_now (current v a) = Follower → role_now s = Follower) ∧
    (role_now (current v a) = Leading → role_now s = Leading ∧ next (current v a) ≤ next s);
  (* What it says to be chosen is chosen. *)
  l_commit : ∀ b i, sends outs (Message_Commit b i) → ratified c (said v) b i;
  l_learned : ∀ ds d, sends outs (Message_Learned ds) → d ∈ ds →
    chosen c (said v) (decision_instance d) (decision_value d);
  l_delivered : ∀ i x, Output_Deliver i x ∈ outs → chosen c (said v) i x;
  (* It makes up no value. *)
  l_forward : ∀ x, sends outs (Message_Forward x) → requested (said v) x ∨ e = Event_Request x;
  l_legitimate : ∀ b i x, sends outs (Message_Propose b i x) → legitimate (said v) x ∨ e = Event_Request x;
  l_replica : replica_inv c (said v) a s }.

(* --- Votes reported. -------------------------------------------------------------------------------------------- *)

Lemma votes_from_complete k s i e : im_get i (log s) = Some e → k ≤ i → i < low s + config_span c →
  ∃ u, u ∈ votes_from c k s ∧ vote_instance u = i ∧ vote_ballot u = entry_ballot e.
Proof.
  intros H Hk Hi. exists (vote_of (i, e)). split_and!; [|done..].
  apply elem_of_list_fmap. exists (i, e). split; [done|]. by apply im_range_elem.
Qed.
Lemma votes_from_sound k s u : u ∈ votes_from c k s →
  ∃ e, im_get (vote_instance u) (log s) = Some e ∧ vote_ballot u = entry_ballot e ∧ vote_value u = entry_value e.
Proof. intros ([i e] & -> & H)%elem_of_list_fmap. apply im_range_elem in H as [_ H]. by exists e. Qed.

(* --- It preserves the invariant. -------------------------------------------------------------------------------- *)

(* v' is v after a has become s, remembers r, has put out now, and holds back later. *)
Record moves (v v' : view) (a : replica) (e : event) (s r : state) (now later : list output) : Prop := Moves {
  m_said : said v' = Action a (Took e) now :: said v;
  m_current : ∀ x, current v' x = if decide (x = a) then s else current v x;
  m_remembered : ∀ x, remembered v' x = if decide (x = a) then r else remembered v x;
  m_held : ∀ x, held v' x = if decide (x = a) then held v a ++ later else held v x;
  (* Held back is only what must wait. *)
  m_later : ∀ o, o ∈ later → ∃ m, waits m = true ∧ (o = Output_Broadcast m ∨ ∃ dst, o = Output_Send dst m);
  (* Either nothing that binds can be lost, or a remembers as before, and all that must wait waits. *)
  m_durable : bound_as s r ∨ r = remembered v a ∧ ∀ m, sends now m → waits m = false }.

Section preserve.
Context (v v' : view) (a : replica) (e : event) (s r : state) (now later outs : list output).
Context (I : inv c v) (L : lstep v a e s outs) (M : moves v v' a e s r now later).
Context (now_sub : now ⊆ outs) (later_sub : later ⊆ outs).

Lemma current_same : current v' a = s.
Proof. by rewrite (m_current _ _ _ _ _ _ _ _ M), decide_True. Qed.
Lemma current_other x : x ≠ a → current v' x = current v x.
Proof. intros. by rewrite (m_current _ _ _ _ _ _ _ _ M), decide_False. Qed.
Lemma remembered_same : remembered v' a = r.
Proof. by rewrite (m_remembered _ _ _ _ _ _ _ _ M), decide_True. Qed.
Lemma remembered_other x : x ≠ a → remembered v' x = remembered v x.
Proof. intros. by rewrite (m_remembered _ _ _ _ _ _ _ _ M), decide_False. Qed.

Lemma current_extends x : promised (current v x) ≤ promised (current v' x).
Proof. destruct (decide (x = a)) as [->|?]; [rewrite current_same; apply L|by rewrite current_other]. Qed.
Lemma r_ahead : promised (remembered v a) ≤ promised r ∧ promised r ≤ promised s.
Proof.
  pose proof (i_ahead _ _ I a). pose proof (ex_promised _ _ (l_extends _ _ _ _ _ L)).
  destruct (m_durable _ _ _ _ _ _ _ _ M) as [[-> _]|[-> _]]; lia.
Qed.
Lemma remembered_grows x : promised (remembered v x) ≤ promised (remembered v' x).
Proof. destruct (decide (x = a)) as [->|?]; [rewrite remembered_same; apply r_ahead|by rewrite remembered_other]. Qed.
Lemma used_after b : used c v b → used c v' b.
Proof. unfold used. pose proof (remembered_grows (owner n b)). lia. Qed.

Lemma sent_after x m : sent (said v') x m → (x = a ∧ sends now m ∧ sends outs m) ∨ sent (said v) x m.
Proof. rewrite (m_said _ _ _ _ _ _ _ _ M), sent_cons. intros [[-> H]|?]; [left|by right]. eauto using sends_sub. Qed.
Lemma held_after x m : sends (held v' x) m → (x = a ∧ sends outs m) ∨ sends (held v x) m.
Proof.
  rewrite (m_held _ _ _ _ _ _ _ _ M). case_decide; [subst|by right].
  rewrite sends_app. intros [?|?]; [by right|left]. eauto using sends_sub.
Qed.
(* What goes out at once although it must wait rests on what is remembered. *)
Lemma now_durable m : sends now m → waits m = true → promised r = promised s.
Proof. intros Hm Hw. destruct (m_durable _ _ _ _ _ _ _ _ M) as [[? _]|[_ H]]; [done|]. specialize (H m Hm). congruence. Qed.
Lemma proposed_after b i x : proposed (said v) b i x → proposed (said v') b i x.
Proof. rewrite (m_said _ _ _ _ _ _ _ _ M). apply proposed_mono. Qed.
Lemma vote_kept_after g b i : vote_kept (said v) g b i → vote_kept (said v') g b i.
Proof. rewrite (m_said _ _ _ _ _ _ _ _ M). apply vote_kept_mono. Qed.

(* A ballot that a replica has promised more than gets no more votes from it. *)
Lemma cast_after x b i : cast v' x b i →
  cast v x b i ∨ x = a ∧ sends outs (Message_Accept b i) ∧ promised (current v a) ≤ b.
Proof.
  assert (Hle : sends outs (Message_Accept b i) → promised (current v a) ≤ b).
  { intros H. destruct (l_vote _ _ _ _ _ L _ _ H) as (-> & _). apply L. }
  intros [[(-> & _ & H)|H]%sent_after|[[-> H]|H]%held_after]; [right; auto|left; by left|right; auto|left; by right].
Qed.
Lemma blocked_after b i : blocked c v b i → blocked c v' b i.
Proof.
  intros (Q & HQ & H). exists Q. split; [done|]. intros x Hx. destruct (H x Hx) as [H1 H2].
  split; [|pose proof (remembered_grows x); lia]. intros [Hv|(-> & _ & Hle)]%cast_after; [done|].
  pose proof (i_ahead _ _ I a). lia.
Qed.
Lemma safe_after b i x : safe_at c v b i x → safe_at c v' b i x.
Proof. intros H b' Hlt. destruct (H b' Hlt); [left; by apply proposed_after|right; by apply blocked_after]. Qed.

Lemma new_vote_kept b i : sends outs (Message_Accept b i) → vote_kept (said v') s b i.
Proof.
  intros He. destruct (l_vote _ _ _ _ _ L _ _ He) as (-> & (x & Hp) & e1 & Hl & Hb). split_and!; [lia| |].
  - exists x. by apply proposed_after.
  - right. exists e1. split; [done|lia].
Qed.
Lemma cast_kept x b i : cast v' x b i → vote_kept (said v') (current v' x) b i.
Proof.
  intros [Hv|(-> & He & _)]%cast_after; [|rewrite current_same; by apply new_vote_kept].
  pose proof (i_cast _ _ I _ _ _ Hv) as Hk. apply vote_kept_after.
  destruct (decide (x = a)) as [->|?]; [|by rewrite current_other]. rewrite current_same.
  eapply vote_kept_extends; [apply L|done].
Qed.
Lemma vote_remembered x b i : voted (said v') x b i → vote_kept (said v') (remembered v' x) b i.
Proof.
  intros Hv. destruct (decide (x = a)) as [->|Hx].
  - rewrite remembered_same. destruct (m_durable _ _ _ _ _ _ _ _ M) as [[_ Hr]|[Er Hw]].
    + apply Hr. rewrite <- current_same. apply cast_kept. by left.
    + rewrite Er. apply sent_after in Hv as [(_ & H & _)|H]; [by specialize (Hw _ H)|]. by apply vote_kept_after, (i_vote _ _ I).
  - rewrite remembered_other by done. apply sent_after in Hv as [(-> & _)|H]; [done|].
    by apply vote_kept_after, (i_vote _ _ I).
Qed.

Lemma sound_after x b k votes : b ≤ promised (current v x) → promise_sound v x b k votes → promise_sound v' x b k votes.
Proof.
  intros Hb [H1 H2]. split.
  - intros u Hu. destruct (H1 u Hu). split; [done|by apply proposed_after].
  - intros i b' Hi [Hv|(-> & _ & Hle)]%cast_after Hb'; [by apply H2|lia].
Qed.
Lemma new_promise_sound b k votes : sends outs (Message_Promise b k votes) → promise_sound v' a b k votes.
Proof.
  intros He. destruct (l_promise _ _ _ _ _ L _ _ _ He) as (Hlt & _ & Hk & -> & _ & Hno). split.
  - intros u (e1 & He1 & -> & ->)%votes_from_sound.
    destruct (ri_log _ _ _ _ (i_replica _ _ I a) _ _ He1) as (? & _ & ? & _). split; [lia|by apply proposed_after].
  - intros i b' Hi [Hv|(_ & Hc & _)]%cast_after Hb'; [|by destruct (Hno _ _ Hc)].
    destruct (i_cast _ _ I _ _ _ Hv) as (_ & _ & [?|(e1 & He1 & Hle)]); [lia|].
    destruct (ri_log _ _ _ _ (i_replica _ _ I a) _ _ He1) as (_ & ? & _).
    destruct (votes_from_complete k (current v a) i e1) as (u & ? & ? & Hub); [done..|].
    exists u. by rewrite Hub.
Qed.
Lemma promise_after x b k votes : sent (said v') x (Message_Promise b k votes) →
  b ≤ promised (remembered v' x) ∧ used c v' b ∧ promise_sound v' x b k votes.
Proof.
  intros [(-> & Hn & He)|H]%sent_after.
  - destruct (l_promise _ _ _ _ _ L _ _ _ He) as (_ & Hb & _ & _ & Hu & _). pose proof (now_durable _ Hn eq_refl) as Er.
    rewrite remembered_same, Er. split_and!; [lia| |by apply new_promise_sound].
    destruct Hu as [Ho|Hu]; [|by apply used_after]. unfold used. rewrite Ho, remembered_same, Er. lia.
  - destruct (i_promise _ _ I _ _ _ _ H) as (H1 & H2 & H3). pose proof (remembered_grows x). pose proof (i_ahead _ _ I x).
    split_and!; [lia|by apply used_after|apply sound_after; [lia|done]].
Qed.
Lemma held_promise_after x b k votes : sends (held v' x) (Message_Promise b k votes) →
  b ≤ promised (current v' x) ∧ (owner n b = x ∨ used c v' b) ∧ promise_sound v' x b k votes.
Proof.
  intros [[-> He]|H]%held_after.
  - destruct (l_promise _ _ _ _ _ L _ _ _ He) as (_ & Hb & _ & _ & Hu & _). rewrite current_same.
    split_and!; [lia| |by apply new_promise_sound]. destruct Hu; [by left|right; by apply used_after].
  - destruct (i_held_promise _ _ I _ _ _ _ H) as (H1 & H2 & H3). pose proof (current_extends x).
    split_and!; [lia| |by apply sound_after]. destruct H2; [by left|right; by apply used_after].
Qed.
Lemma prepare_after x b k : sent (said v') x (Message_Prepare b k) → owner n b = x ∧ used c v' b.
Proof.
  intros [(-> & Hn & He)|H]%sent_after.
  - destruct (l_prepare _ _ _ _ _ L _ _ He) as [Ho ->]. pose proof (now_durable _ Hn eq_refl) as Er.
    split; [done|]. unfold used. by rewrite Ho, remembered_same, Er.
  - destruct (i_prepare _ _ I _ _ _ H). split; [done|by apply used_after].
Qed.

Lemma propose_after p b i x : sent (said v') p (Message_Propose b i x) → owner n b = p ∧ used c v' b ∧
  (b = promised (current v' p) →
   role_now (current v' p) = Follower ∨ role_now (current v' p) = Leading ∧ i < next (current v' p)).
Proof.
  intros [(-> & _ & He)|H]%sent_after.
  - destruct (l_propose _ _ _ _ _ L _ _ _ He) as (-> & ? & ? & ? & ? & ? & _). rewrite current_same.
    split_and!; [done|by apply used_after|by right].
  - destruct (i_propose _ _ I _ _ _ _ H) as (H1 & H2 & H3). split_and!; [done|by apply used_after|].
    destruct (decide (p = a)) as [->|?]; [|by rewrite current_other]. rewrite current_same. intros ->.
    (* The ballot was used, so it is not above what a promised before. *)
    unfold used in H2. rewrite H1 in H2. pose proof (i_ahead _ _ I a). pose proof (ex_promised _ _ (l_extends _ _ _ _ _ L)).
    assert (E : promised s = promised (current v a)) by lia. destruct (l_role _ _ _ _ _ L E) as [L1 L2].
    destruct (H3 E) as [Hr|[Hr Hi]]; [left; auto|right]. destruct (L2 Hr). split; [done|lia].
Qed.
(* An instance once proposed is not proposed anew: a leader uses those from next on. *)
Lemma propose_fresh b i x y : sends outs (Message_Propose b i x) → sent (said v) a (Message_Propose b i y) → False.
Proof.
  intros He Hs. destruct (l_propose _ _ _ _ _ L _ _ _ He) as (-> & E & _ & _ & Hr & _ & _ & Hl).
  destruct (i_propose _ _ I _ _ _ _ Hs) as (_ & _ & H3). destruct (l_role _ _ _ _ _ L E) as [L1 _].
  destruct (H3 E) as [Hf|[Hf Hi]]; [specialize (L1 Hf); congruence|]. specialize (Hl Hf). lia.
Qed.
Lemma unique_after p b i x y :
  sent (said v') p (Message_Propose b i x) → sent (said v') p (Message_Propose b i y) → x = y.
Proof.
  intros [(-> & _ & He)|H]%sent_after [(E & _ & He')|H']%sent_after; try subst p.
  - eapply (l_unique _ _ _ _ _ L); eauto.
  - destruct (propose_fresh _ _ _ _ He H').
  - destruct (propose_fresh _ _ _ _ He' H).
  - eapply (i_unique _ _ I); eauto.
Qed.
Lemma requested_now x : e = Event_Request x → requested (said v') x.
Proof. intros ->. rewrite (m_said _ _ _ _ _ _ _ _ M). exists a. apply given_cons. by left. Qed.

Theorem inv_step : inv c v'.
Proof.
  pose proof (m_said _ _ _ _ _ _ _ _ M) as Hsaid. split.
  - intros x. rewrite Hsaid. apply replica_mono.
    destruct (decide (x = a)) as [->|?]; [rewrite current_same; apply L|rewrite current_other by done; apply I].
  - intros x. destruct (decide (x = a)) as [->|?].
    + rewrite current_same, remembered_same. apply r_ahead.
    + rewrite current_other, remembered_other by done. apply I.
  - intros x o. rewrite (m_held _ _ _ _ _ _ _ _ M). case_decide; [|apply I].
    rewrite elem_of_app. intros [?|?]; [by eapply (i_held _ _ I)|by eapply (m_later _ _ _ _ _ _ _ _ M)].
  - apply vote_remembered.
  - apply cast_kept.
  - apply promise_after.
  - apply held_promise_after.
  - apply prepare_after.
  - intros x b k [[-> He]|H]%held_after; [eapply (l_prepare _ _ _ _ _ L)|eapply (i_held_prepare _ _ I)]; eauto.
  - apply propose_after.
  - apply unique_after.
  - intros b i x [p [(-> & _ & He)|H]%sent_after]; apply safe_after;
      [eapply (l_propose _ _ _ _ _ L); eauto|apply (i_safe _ _ I); by exists p].
  - intros x b i H%sent_after. rewrite Hsaid. apply ratified_mono.
    destruct H as [(-> & _ & He)|H]; [eapply (l_commit _ _ _ _ _ L)|eapply (i_commit _ _ I)]; eauto.
  - intros x ds d H%sent_after Hd. rewrite Hsaid. apply chosen_mono.
    destruct H as [(-> & _ & He)|H]; [eapply (l_learned _ _ _ _ _ L)|eapply (i_learned _ _ I)]; eauto.
  - intros x i y. rewrite Hsaid. intros [[-> He]|H]%emitted_cons; apply chosen_mono;
      [eapply (l_delivered _ _ _ _ _ L)|eapply (i_delivered _ _ I)]; eauto.
  - intros x y [(-> & _ & He)|H]%sent_after; [|rewrite Hsaid; by eapply requested_mono, (i_forward _ _ I)].
    destruct (l_forward _ _ _ _ _ L _ He); [rewrite Hsaid; by apply requested_mono|by apply requested_now].
  - intros b i x [p [(-> & _ & He)|H]%sent_after];
      [|rewrite Hsaid; apply legitimate_mono, (i_legitimate _ _ I b i); by exists p].
    destruct (l_legitimate _ _ _ _ _ L _ _ _ He); [rewrite Hsaid; by apply legitimate_mono|right; by apply requested_now].
Qed.
End preserve.
End step.
