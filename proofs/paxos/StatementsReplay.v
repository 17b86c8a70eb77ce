(* What a replica finds when it restarts: all that it must remember, and nothing that it has not written.

   Of one replica, whatever it is told: [es] is any list of events. [journal_after c self es] are the records among the outputs
   of that run, [recover c rs] is what a replica makes of the records rs when it starts (Model.v).
   That all replicas together agree across crashes is not said here; these are the parts that one replica has in it. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model PrimFacts Network Run Replay Kept Restart.
Local Open Scope N_scope.

Section replay.
Context (c : config) (self : replica) (es : list event).
Let live := state_after c self es.
Let found := recover c (journal_after c self es).

(* The state found is a function of the state that was lost: what [restarted] leaves of it, *)
Theorem found_is_restarted : found = restarted live.
Proof. exact (recover_run c self es). Qed.

(* that is: the promise, the marks, the snapshot, the decisions, and every vote with its ballot and value; *)
Theorem found_remembers :
  promised found = promised live ∧ low found = low live ∧ decisions found = decisions live ∧
  snapshot_at found = snapshot_at live ∧ snapshot found = snapshot live.
Proof. exact (found_durable c self es). Qed.
Theorem found_votes i :
  im_get i (log found) =
  match im_get i (log live) with
  | Some e => Some {| entry_ballot := entry_ballot e; entry_value := entry_value e; entry_acks := ns_empty |}
  | None => None
  end.
Proof. exact (found_log c self es i). Qed.
(* it follows, and delivers again from the snapshot on, which is nowhere beyond where it stood. *)
Theorem found_follows : role_now found = Follower ∧ executed found = snapshot_at live ∧ snapshot_at live ≤ executed live.
Proof. exact (found_position c self es). Qed.

(* If only the beginning of the journal is left, the state found is that of an earlier time: one step writes one record at most,
   so no step is half remembered. *)
Theorem beginning_is_a_time rs :
  rs `prefix_of` journal_after c self es →
  ∃ es', es' `prefix_of` es ∧ journal_after c self es' = rs ∧ recover c rs = restarted (state_after c self es').
Proof. exact (recover_prefix c self es rs). Qed.

(* A step that writes a record puts it out before all else. So whoever takes the outputs one by one, and lets a message wait for
   the records that came before it, lets it wait for the record of its own step, too. *)
Theorem record_first e outs r outs' : step_outputs c self es e = outs ++ Output_Journal r :: outs' → outs = [].
Proof. exact (record_first c self e live outs r outs'). Qed.

(* The duty that [waits] expresses. A step puts out a prepare, a promise or an accept. Then any journal that has the records of
   that step, and whatever came later, gives a state that keeps the word: *)
Theorem prepare_kept e es' o b k :
  o ∈ step_outputs c self es e → message_of o = Some (Message_Prepare b k) →
  b ≤ promised (recover c (journal_after c self (es ++ [e] ++ es'))).
Proof. exact (said_kept c self es e es' o (Message_Prepare b k)). Qed.
Theorem promise_kept e es' o b k votes :
  o ∈ step_outputs c self es e → message_of o = Some (Message_Promise b k votes) →
  b ≤ promised (recover c (journal_after c self (es ++ [e] ++ es'))).
Proof. exact (said_kept c self es e es' o (Message_Promise b k votes)). Qed.
(* it has the vote, or one at a later ballot, or has forgotten the instance and will neither vote nor promise there. *)
Theorem accept_kept e es' o b i (s := recover c (journal_after c self (es ++ [e] ++ es'))) :
  o ∈ step_outputs c self es e → message_of o = Some (Message_Accept b i) →
  b ≤ promised s ∧ (i < low s ∨ ∃ x, im_get i (log s) = Some x ∧ b ≤ entry_ballot x).
Proof. exact (said_kept c self es e es' o (Message_Accept b i)). Qed.

(* The short journal is as good as the long one. *)
Theorem checkpoint_is_restarted : recover c (checkpoint c live) = restarted live.
Proof. exact (recover_checkpoint c live (sound_run c self es)). Qed.
(* Also with any further records behind it. *)
Theorem checkpoint_continues rs : recover c (checkpoint c live ++ rs) = recover c (journal_after c self es ++ rs).
Proof. exact (recover_continues c self es rs). Qed.
End replay.

(* The same with any number of crashes and replacements of the journal among the steps ([life], Restart.v). At any time, the
   journal gives what a restart would leave of the state, which keeps all that was said, and the bounds hold. *)
Section life.
Context (c : config) (self : replica) (base : list record) (ms : list moment) (old : list message) (s : state).
Context (alive : life c self base ms old s).
Let found := recover c (base ++ (ms ≫= wrote)).

Theorem life_is_restarted : found = restarted s.
Proof. exact (life_recover c self base ms old s alive). Qed.
Theorem life_keeps m : m ∈ old ++ (ms ≫= said) → kept m found.
Proof. exact (life_kept c self base ms old s m alive). Qed.
Theorem life_in_span :
  low s ≤ snapshot_at s ∧ snapshot_at s ≤ executed s ∧ executed s ≤ low s + config_span c ∧
  (∀ i e, im_get i (log s) = Some e → low s ≤ i < low s + config_span c) ∧
  (∀ i v, im_get i (decisions s) = Some v → low s ≤ i < low s + config_span c).
Proof. exact (life_marks c self base ms old s alive). Qed.
End life.

Print Assumptions found_is_restarted.
Print Assumptions found_remembers.
Print Assumptions found_votes.
Print Assumptions found_follows.
Print Assumptions beginning_is_a_time.
Print Assumptions record_first.
Print Assumptions prepare_kept.
Print Assumptions promise_kept.
Print Assumptions accept_kept.
Print Assumptions checkpoint_is_restarted.
Print Assumptions checkpoint_continues.
Print Assumptions life_is_restarted.
Print Assumptions life_keeps.
Print Assumptions life_in_span.
