(* Agreement and integrity in every world that can be reached. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network SafetyChosen SafetyStep SafetyAcceptor SafetyProposer.
Local Open Scope N_scope.

(* Where nobody crashes, everyone remembers all, and nothing is held back. *)
Definition view_of (w : world) : view :=
  {| said := past w; current := state_of w; remembered := state_of w; held := λ _, [] |}.

(* In the beginning nothing was sent, and all maps are empty. *)
Lemma inv_start c v : said v = [] → (∀ a, current v a = init) → (∀ a, remembered v a = init) → (∀ a, held v a = []) →
  inv c v.
Proof.
  intros Hsaid Hc Hr Hh. assert (Hcast : ∀ a b i, ¬ cast v a b i).
  { intros a b i [H|H]; [unfold voted in H; rewrite Hsaid in H; by apply sent_nil in H|].
    rewrite Hh in H. by apply sends_nil in H. }
  split; rewrite ?Hsaid.
  - intros a. by rewrite Hc.
  - intros a. by rewrite Hc, Hr.
  - intros a o. by rewrite Hh, elem_of_nil.
  - intros a b i H. destruct (Hcast a b i). left. by rewrite Hsaid.
  - intros a b i H. by destruct (Hcast a b i).
  - by intros a b k votes ?%sent_nil.
  - intros a b k votes. rewrite Hh. by intros ?%sends_nil.
  - by intros a b k ?%sent_nil.
  - intros a b k. rewrite Hh. by intros ?%sends_nil.
  - by intros p b i x ?%sent_nil.
  - by intros p b i x y ?%sent_nil.
  - by intros b i x [p ?%sent_nil].
  - by intros a b i ?%sent_nil.
  - by intros a ds d ?%sent_nil.
  - by intros a i x ?%emitted_nil.
  - by intros a x ?%sent_nil.
  - by intros b i x [p ?%sent_nil].
Qed.

Theorem reach_inv c w : reach c w → inv c (view_of w).
Proof.
  induction 1 as [|w a e s outs H IH Hp Hs]; [by apply inv_start|].
  apply inv_step with (view_of w) a e s s outs [] outs; [done|by apply step_lstep| |done|set_solver].
  split; try done; simpl.
  - intros x. by case_decide.
  - by intros o ?%elem_of_nil.
  - left. apply bound_as_refl.
Qed.

(* Everything that any replica holds to be chosen, or delivers, is chosen. *)
Lemma decided_chosen c w a i x : reach c w → im_get i (decisions (state_of w a)) = Some x → chosen c (past w) i x.
Proof. intros H. apply (ri_decisions _ _ _ _ (i_replica _ _ (reach_inv _ _ H) a)). Qed.
Lemma delivered_chosen c w a i x : reach c w → delivered (past w) a i x → chosen c (past w) i x.
Proof. intros H. apply (i_delivered _ _ (reach_inv _ _ H)). Qed.

Theorem chosen_agreement c w i x y : reach c w → chosen c (past w) i x → chosen c (past w) i y → x = y.
Proof. intros H. apply (chosen_unique c (view_of w)), reach_inv, H. Qed.
Theorem chosen_integrity c w i x : reach c w → chosen c (past w) i x → legitimate (past w) x.
Proof. intros H. apply (chosen_legitimate c (view_of w)), reach_inv, H. Qed.

Theorem paxos_delivery c w a1 a2 i x y : reach c w →
  delivered (past w) a1 i x → delivered (past w) a2 i y → x = y.
Proof. intros H ? ?. eapply (chosen_agreement c w i); eauto using delivered_chosen. Qed.
Theorem paxos_decision c w a1 a2 i x y : reach c w →
  im_get i (decisions (state_of w a1)) = Some x → im_get i (decisions (state_of w a2)) = Some y → x = y.
Proof. intros H ? ?. eapply (chosen_agreement c w i); eauto using decided_chosen. Qed.
Theorem paxos_decision_delivery c w a1 a2 i x y : reach c w →
  im_get i (decisions (state_of w a1)) = Some x → delivered (past w) a2 i y → x = y.
Proof. intros H ? ?. eapply (chosen_agreement c w i); eauto using decided_chosen, delivered_chosen. Qed.
Theorem paxos_integrity c w a i x : reach c w → delivered (past w) a i x → x = noop ∨ requested (past w) x.
Proof. intros H Hd. eapply chosen_integrity, delivered_chosen; eauto. Qed.
