(* The theorems are not about nothing: a run in which three replicas elect a leader, choose a value and deliver it, and in
   which the leader crashes and delivers it again. Computed with the [step] and [recover] of the model. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network Release Crash.
Local Open Scope N_scope.

(* What happens next: a receives the j-th message that src has sent so far; or it takes another event; or k records of its journal
   become durable, and its disk says so; or it crashes. *)
Inductive happening :=
| Gets (a src : replica) (j : nat)
| Takes (a : replica) (e : event)
| Keeps (a : replica) (k : nat)
| Crashes (a : replica).

Definition message_in (o : output) : option message :=
  match o with Output_Send _ m | Output_Broadcast m => Some m | _ => None end.
Definition messages_of (a : replica) (h : history) : list message := omap message_in (outputs_of a h).

Definition take_event (c : config) (w : cluster) (a : replica) (e : event) : cluster :=
  let '(s, outs) := step c a e (live (machine_of w a)) in
  let m := machine_of w a in acts w a (Took e) (advance s outs m) (performed outs m).
(* What cannot happen does not. *)
Definition happen (c : config) (w : cluster) (x : happening) : cluster :=
  match x with
  | Gets a src j =>
    match messages_of src (story w) !! j with Some m => take_event c w a (Event_Receive src m) | None => w end
  | Takes a e => match e with Event_Receive _ _ => w | _ => take_event c w a e end
  | Keeps a k =>
    let m := machine_of w a in
    let durable_now := sync k m in
    let j := numbered (released m) - N.of_nat (length (recorded m) - k) in
    if decide ((durable m ≤ k ≤ length (recorded m))%nat ∧ N.of_nat (length (recorded m) - k) ≤ numbered (released m)) then
      acts (acts w a Synced durable_now []) a Synced (informed j durable_now) (let_go j durable_now)
    else w
  | Crashes a => let m := crash c (machine_of w a) in acts w a Crashed m (reset m)
  end.

Lemma message_sent a h m : m ∈ messages_of a h → sent h a m.
Proof.
  intros (o & Ho & Hm)%elem_of_list_omap. apply emitted_outputs in Ho.
  destruct o; try done; injection Hm as ->; [right; eauto|by left].
Qed.
Lemma take_event_occurs c w a e : occurs c w → possible (story w) e → occurs c (take_event c w a e).
Proof. intros Hw Hp. unfold take_event. destruct (step _ _ _ _) as [s outs] eqn:E. by apply occurs_event. Qed.
Lemma happen_occurs c w x : occurs c w → occurs c (happen c w x).
Proof.
  intros Hw. destruct x as [a src j|a e|a k|a]; simpl.
  - destruct (messages_of src (story w) !! j) as [m|] eqn:E; [|done].
    apply take_event_occurs; [done|]. by eapply message_sent, elem_of_list_lookup_2.
  - destruct e; try done; by apply take_event_occurs.
  - case_decide as Hk; [|done]. destruct Hk as [Hk Hj].
    pose proof (occurs_sync c w a k Hw Hk) as Hs.
    pose proof (occurs_report c _ a (numbered (released (machine_of w a)) - N.of_nat (length (recorded (machine_of w a)) - k)) Hs) as Hr.
    simpl in Hr. rewrite decide_True in Hr by done. apply Hr. unfold true_report. simpl. lia.
  - by apply occurs_crash.
Qed.
Lemma all_occur c xs : occurs c (foldl (happen c) new_cluster xs).
Proof.
  induction xs as [|x xs IH] using rev_ind; [constructor|]. rewrite foldl_app. by apply happen_occurs.
Qed.

Definition three : config :=
  {| config_replicas := 3; config_span := 100; config_window := 10; config_chunk := 10 |}.

Definition run (v : value) : list happening :=
  [Takes 0 Event_Suspect; Keeps 0 1;           (* 0 prepares ballot 3, and may say so when it has noted it *)
   Gets 1 0 0; Keeps 1 1;                      (* 1 promises *)
   Gets 0 0 1; Gets 0 1 0;                     (* 0 hears both promises, its own too, and leads *)
   Takes 0 (Event_Request v);                  (* and proposes *)
   Gets 0 0 2; Keeps 0 2; Gets 1 0 2; Keeps 1 2; (* both vote *)
   Gets 0 0 3; Gets 0 1 1;                     (* 0 counts, and announces *)
   Gets 1 0 4; Takes 1 Event_Execute;          (* 1 delivers *)
   Crashes 0; Gets 0 0 4; Takes 0 Event_Execute]. (* 0 forgets that it is chosen, hears it again, and delivers *)

(* Both deliver v, and 0 has crashed and come back: its service was set to the first snapshot. *)
Theorem something_is_delivered v :
  ∃ w, occurs three w ∧ outputs_of 1 (story w) !! 5%nat = Some (Output_Deliver 0 v) ∧
    drop 8 (outputs_of 0 (story w)) =
      [Output_Install 0 blank; Output_Journal (Record_Decided 3 0); Output_Deliver 0 v].
Proof. exists (foldl (happen three) new_cluster (run v)). split; [apply all_occur|]. by vm_compute. Qed.
