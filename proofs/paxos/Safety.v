(* Agreement and integrity in every world that can be reached. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network SafetyChosen SafetyStep SafetyAcceptor SafetyProposer.
Local Open Scope N_scope.

(* In the beginning nothing was sent, and all maps are empty. *)
Lemma inv_start c : inv c start.
Proof.
  split; simpl; [by split|..]; intros; repeat match goal with
    | H : proposed [] _ _ _ |- _ => destruct H as [? H]
    | H : voted [] _ _ _ |- _ => unfold voted in H
    | H : sent [] _ _ |- _ => by apply sent_nil in H
    | H : delivered [] _ _ _ |- _ => by apply emitted_nil in H end.
Qed.

Theorem reach_inv c w : reach c w → inv c w.
Proof.
  induction 1 as [|w a e s outs H IH Hp Hs]; [apply inv_start|].
  apply inv_act; [done|]. by apply step_lstep.
Qed.

(* Everything that any replica believes to be chosen, or delivers, or tells, is chosen. *)
Lemma decided_chosen c w a i v : reach c w → im_get i (decisions (state_of w a)) = Some v → chosen c (past w) i v.
Proof. intros H. apply (ri_decisions _ _ _ _ (i_replica _ _ (reach_inv _ _ H) a)). Qed.
Lemma delivered_chosen c w a i v : reach c w → delivered (past w) a i v → chosen c (past w) i v.
Proof. intros H. apply (i_delivered _ _ (reach_inv _ _ H)). Qed.
Lemma told_chosen c w a ds d : reach c w → sent (past w) a (Message_Learned ds) → d ∈ ds →
  chosen c (past w) (decision_instance d) (decision_value d).
Proof. intros H. apply (i_learned _ _ (reach_inv _ _ H)). Qed.

Theorem chosen_agreement c w i v1 v2 : reach c w → chosen c (past w) i v1 → chosen c (past w) i v2 → v1 = v2.
Proof. intros H. apply chosen_unique, reach_inv, H. Qed.
Theorem chosen_integrity c w i v : reach c w → chosen c (past w) i v → legitimate (past w) v.
Proof. intros H. apply chosen_legitimate, reach_inv, H. Qed.

Theorem paxos_delivery c w a1 a2 i v1 v2 : reach c w →
  delivered (past w) a1 i v1 → delivered (past w) a2 i v2 → v1 = v2.
Proof. intros H ? ?. eapply (chosen_agreement c w i); eauto using delivered_chosen. Qed.
Theorem paxos_decision c w a1 a2 i v1 v2 : reach c w →
  im_get i (decisions (state_of w a1)) = Some v1 → im_get i (decisions (state_of w a2)) = Some v2 → v1 = v2.
Proof. intros H ? ?. eapply (chosen_agreement c w i); eauto using decided_chosen. Qed.
Theorem paxos_integrity c w a i v : reach c w → delivered (past w) a i v → v = noop ∨ requested (past w) v.
Proof. intros H Hd. eapply chosen_integrity, delivered_chosen; eauto. Qed.
Theorem paxos_decision_delivery c w a1 a2 i v1 v2 : reach c w →
  im_get i (decisions (state_of w a1)) = Some v1 → delivered (past w) a2 i v2 → v1 = v2.
Proof. intros H ? ?. eapply (chosen_agreement c w i); eauto using decided_chosen, delivered_chosen. Qed.
