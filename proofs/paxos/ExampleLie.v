(* Why the disk must speak the truth: if it reports records that are not durable, two replicas deliver two values as instance 0.

   Here clusters come about as in Crash.v, but for reports of anything that was put out. Computed with the functions that run: 0 leads,
   its and 1's votes for v count, and 0 delivers v. Of neither vote was a record durable; 1 crashes, comes back without any, and
   leads 1 and 2 to u. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network Release Crash Example.
Local Open Scope N_scope.

(* The disk of a says that all is durable. *)
Inductive trusting := Honestly (x : happening) | Lies (a : replica).

Inductive occurs_trusting (c : config) : cluster → Prop :=
| trusting_nothing : occurs_trusting c new_cluster
| trusting_event w a e s outs :
    occurs_trusting c w → possible (story w) e → step c a e (live (machine_of w a)) = (s, outs) → let m := machine_of w a in
    occurs_trusting c (acts w a (Took e) (advance s outs m) (performed outs m))
| trusting_report w a k :
    occurs_trusting c w → let m := machine_of w a in occurs_trusting c (acts w a Synced (informed k m) (let_go k m))
| trusting_crash w a :
    occurs_trusting c w → let m := crash c (machine_of w a) in occurs_trusting c (acts w a Crashed m (reset m)).

Definition happen_trusting (c : config) (w : cluster) (x : trusting) : cluster :=
  match x with
  | Honestly (Keeps _ _) => w
  | Honestly x => happen c w x
  | Lies a => let m := machine_of w a in let k := numbered (released m) in acts w a Synced (informed k m) (let_go k m)
  end.

Lemma take_event_trusting c w a e : occurs_trusting c w → possible (story w) e → occurs_trusting c (take_event c w a e).
Proof. intros Hw Hp. unfold take_event. destruct (step _ _ _ _) as [s outs] eqn:E. by apply trusting_event. Qed.
Lemma all_occur_trusting c xs : occurs_trusting c (foldl (happen_trusting c) new_cluster xs).
Proof.
  induction xs as [|x xs IH] using rev_ind; [constructor|]. rewrite foldl_app. cbn [foldl].
  destruct x as [[a src j|a e|a k|a]|a]; cbn [happen_trusting happen]; [| |done| |].
  - destruct (messages_of src _ !! j) as [m|] eqn:E; [|done].
    apply take_event_trusting; [done|]. by eapply message_sent, elem_of_list_lookup_2.
  - destruct e; try done; by apply take_event_trusting.
  - by apply trusting_crash.
  - by apply trusting_report.
Qed.

Definition lying_run (u v : value) : list trusting :=
  [Honestly (Takes 0 Event_Suspect); Lies 0; Honestly (Gets 1 0 0); Lies 1;         (* 0 prepares ballot 3, 1 promises *)
   Honestly (Gets 0 0 1); Honestly (Gets 0 1 0);                                    (* 0 leads *)
   Honestly (Takes 0 (Event_Request v)); Honestly (Gets 0 0 2); Lies 0; Honestly (Gets 1 0 2); Lies 1; (* both vote for v *)
   Honestly (Gets 0 0 3); Honestly (Gets 0 1 1); Honestly (Takes 0 Event_Execute);  (* 0 delivers v *)
   Honestly (Crashes 1); Honestly (Takes 1 Event_Suspect); Lies 1;                  (* 1 remembers nothing, and prepares ballot 4 *)
   Honestly (Gets 2 1 2); Lies 2; Honestly (Gets 1 1 3); Honestly (Gets 1 2 0);     (* 2 promises, and 1 leads *)
   Honestly (Takes 1 (Event_Request u)); Honestly (Gets 1 1 4); Lies 1; Honestly (Gets 2 1 4); Lies 2; (* both vote for u *)
   Honestly (Gets 1 1 5); Honestly (Gets 1 2 1); Honestly (Takes 1 Event_Execute)]. (* 1 delivers u *)

Theorem a_lie_divides u v :
  ∃ w, occurs_trusting three w ∧ delivered (story w) 0 0 v ∧ delivered (story w) 1 0 u.
Proof.
  exists (foldl (happen_trusting three) new_cluster (lying_run u v)). split; [apply all_occur_trusting|].
  split; apply emitted_outputs; vm_compute; repeat (first [apply elem_of_list_here|apply elem_of_list_further]).
Qed.
