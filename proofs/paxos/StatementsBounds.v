(* Whatever a replica is told, by whomever and in whatever order, what it keeps and what it answers stays bounded.

   [es] below is any list of events: messages that nobody ever sent, timers at any time, snapshots of any position. So no
   message with an instance number far away makes a replica keep more or say more than the configuration allows. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model PrimFacts Run Bounded Numbers.
Local Open Scope N_scope.

Section bounds.
Context (c : config) (self : replica) (es : list event).
Let s := state_after c self es.

(* The marks are in their order, and a replica never runs further than the span ahead of what it has forgotten. *)
Theorem marks_ordered : low s ≤ snapshot_at s ∧ snapshot_at s ≤ executed s ∧ executed s ≤ low s + config_span c.
Proof. exact (b_marks _ _ (bounded_run c self es)). Qed.

(* Votes and decisions are kept within the span only: a map over it may be an array. *)
Theorem log_in_span i e : im_get i (log s) = Some e → low s ≤ i < low s + config_span c.
Proof. exact (b_log _ _ (bounded_run c self es) i e). Qed.
Theorem decisions_in_span i v : im_get i (decisions s) = Some v → low s ≤ i < low s + config_span c.
Proof. exact (b_decisions _ _ (bounded_run c self es) i v). Qed.
Theorem candidates_in_span i x : im_get i (candidates s) = Some x → first s ≤ i < first s + config_span c.
Proof. exact (b_candidates _ _ (bounded_run c self es) i x). Qed.

(* A leader proposes nothing at or beyond [next], and that is never far. *)
Theorem next_in_span : next s ≤ N.max (low s) (first s) + config_span c ∧ first s ≤ low s + config_span c.
Proof. exact (conj (b_next _ _ (bounded_run c self es)) (b_first _ _ (bounded_run c self es))). Qed.

(* How much that is: at most [config_span] entries in each map, at most [config_replicas] members in each set. *)
Theorem state_small :
  im_size (log s) ≤ config_span c ∧ im_size (decisions s) ≤ config_span c ∧ im_size (candidates s) ≤ config_span c ∧
  ns_size (promises s) ≤ config_replicas c ∧
  ∀ i e, im_get i (log s) = Some e → ns_size (entry_acks e) ≤ config_replicas c.
Proof. exact (small_state c s (bounded_run c self es)). Qed.

(* One step puts out at most three things, or, as a new leader, a proposal for each instance of the span. *)
Theorem outputs_bounded e : N.of_nat (length (step_outputs c self es e)) ≤ N.max 3 (config_span c).
Proof. exact (outputs_few c self e s (bounded_run c self es)). Qed.

(* A promise reports at most [config_span] votes, an answer to a query at most [config_chunk] decisions. *)
Theorem messages_bounded e o m :
  o ∈ step_outputs c self es e → message_of o = Some m →
  votes_in m ≤ config_span c ∧ decisions_in m ≤ config_chunk c.
Proof. exact (messages_short c self e s o m). Qed.

(* Numbers do not run away: in so many steps, none of which is told of a ballot or a snapshot above B ([told], Numbers.v), they
   come to B and a little for each step. If B is below 2^62, as the runtime sees to, no run is long enough to leave 64 bits. *)
Theorem numbers_bounded B (steps := N.of_nat (length es)) :
  Forall (λ e, told e ≤ B) es →
  promised s ≤ B + 2 * config_replicas c * steps ∧ low s ≤ B + steps ∧ executed s ≤ B + steps ∧
  first s ≤ B + steps + config_span c ∧ next s ≤ B + steps + 2 * config_span c.
Proof. exact (numbers_small c self B es). Qed.

(* A replica that only learns has no vote, follows, and never says what only voters say. *)
Theorem learner_idle :
  config_replicas c ≤ self → role_now s = Follower ∧ log s = im_empty ∧ candidates s = im_empty ∧ promises s = ns_empty.
Proof. exact (idle_state c self es). Qed.
Theorem learner_silent e o m :
  config_replicas c ≤ self → o ∈ step_outputs c self es e → message_of o = Some m → voters_word m = false.
Proof. exact (λ H, idle_says c self e s o m H (idle_run c self es H)). Qed.
End bounds.

Print Assumptions marks_ordered.
Print Assumptions log_in_span.
Print Assumptions decisions_in_span.
Print Assumptions candidates_in_span.
Print Assumptions next_in_span.
Print Assumptions state_small.
Print Assumptions outputs_bounded.
Print Assumptions messages_bounded.
Print Assumptions numbers_bounded.
Print Assumptions learner_idle.
Print Assumptions learner_silent.
