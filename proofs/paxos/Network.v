(* The distributed system whose replicas run [step]: what can happen at all.

   A run is a sequence of actions. In an action one replica takes one event, and its outputs join the history for good.
   Any replica may act at any time, with any event, except that a packet is received only if its sender really sent it,
   to anybody. So a packet may be received by everyone, any number of times, in any order, or never: loss, duplication,
   reordering, delay and retransmission need no case of their own; nor do the failure detector, the batcher and the
   timers, which are but choices of events. A replica that stops is one that does not act any more. Replicas that
   restart, having lost all but their journal, are in Crash.v, which shares the definitions of this file.

   Every number is a replica: those from [config_replicas] on are learners. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model.
Local Open Scope N_scope.

(* What makes a replica act: an event; or, in Crash.v only, its disk, or that it crashes. *)
Inductive cause := Took (e : event) | Synced | Crashed.

(* Replica [actor] acted for [reason] and put out [outputs], in this order. *)
Record action := Action { actor : replica; reason : cause; outputs : list output }.

(* All actions so far, the newest first. *)
Definition history := list action.

Record world := World { state_of : replica → state; past : history }.

(* Replica a has put out o. *)
Definition emitted (h : history) (a : replica) (o : output) : Prop :=
  ∃ x, x ∈ h ∧ actor x = a ∧ o ∈ outputs x.

(* Replica a has sent m, to whomever. *)
Definition sent (h : history) (a : replica) (m : message) : Prop :=
  emitted h a (Output_Broadcast m) ∨ ∃ dst, emitted h a (Output_Send dst m).

(* Replica a has handed v to its service, as instance i. *)
Definition delivered (h : history) (a : replica) (i : instance) (v : value) : Prop := emitted h a (Output_Deliver i v).

(* Replica a was given e; e.g. a client's request, or a snapshot by its own service. *)
Definition given (h : history) (a : replica) (e : event) : Prop := ∃ x, x ∈ h ∧ actor x = a ∧ reason x = Took e.
Definition requested (h : history) (v : value) : Prop := ∃ a, given h a (Event_Request v).

(* The only limit on what may happen: packets are not invented. *)
Definition possible (h : history) (e : event) : Prop :=
  match e with Event_Receive src m => sent h src m | _ => True end.

Definition act (w : world) (a : replica) (e : event) (s : state) (outs : list output) : world :=
  {| state_of := λ x, if decide (x = a) then s else state_of w x;
     past := Action a (Took e) outs :: past w |}.

Definition start : world := {| state_of := λ _, init; past := [] |}.

Inductive reach (c : config) : world → Prop :=
| reach_start : reach c start
| reach_step w a e s outs :
    reach c w → possible (past w) e → step c a e (state_of w a) = (s, outs) → reach c (act w a e s outs).

(* What replica a has put out, and what it was given, in order of time. *)
Definition own (a : replica) (h : history) : history := filter (λ x, actor x = a) (reverse h).
Definition outputs_of (a : replica) (h : history) : list output := own a h ≫= outputs.
Definition event_of (x : action) : option event := match reason x with Took e => Some e | _ => None end.
Definition inputs_of (a : replica) (h : history) : list event := omap event_of (own a h).

(* What it has handed to its service, and its journal, in order of time. *)
Definition delivery (o : output) : option (instance * value) :=
  match o with Output_Deliver i v => Some (i, v) | _ => None end.
Definition entry_of_journal (o : output) : option record := match o with Output_Journal r => Some r | _ => None end.
Definition deliveries (a : replica) (h : history) : list (instance * value) := omap delivery (outputs_of a h).
Definition journal (a : replica) (h : history) : list record := omap entry_of_journal (outputs_of a h).

(* --- What an action adds. ------------------------------------------------------------------------------------------- *)

(* The messages among some outputs. *)
Definition sends (outs : list output) (m : message) : Prop :=
  Output_Broadcast m ∈ outs ∨ ∃ dst, Output_Send dst m ∈ outs.

Lemma emitted_nil a o : ¬ emitted [] a o.
Proof. intros (x & H & _). by apply elem_of_nil in H. Qed.
Lemma sent_nil a m : ¬ sent [] a m.
Proof. intros [H|[d H]]; by apply emitted_nil in H. Qed.
Lemma requested_nil v : ¬ requested [] v.
Proof. intros (a & x & H & _). by apply elem_of_nil in H. Qed.

Lemma emitted_cons a r outs h x o : emitted (Action a r outs :: h) x o ↔ (x = a ∧ o ∈ outs) ∨ emitted h x o.
Proof.
  split.
  - intros (y & [->|H]%elem_of_cons & <- & Ho); [by left|right; by exists y].
  - intros [[-> H]|(y & H & ? & ?)]; [exists (Action a r outs)|exists y]; split_and!; try done; apply elem_of_cons; auto.
Qed.
Lemma sent_cons a r outs h x m : sent (Action a r outs :: h) x m ↔ (x = a ∧ sends outs m) ∨ sent h x m.
Proof.
  unfold sent, sends. rewrite emitted_cons. split.
  - intros [[[-> H]|H]|[d H]]; eauto. apply emitted_cons in H as [[-> H]|H]; eauto 6.
  - intros [[-> [H|[d H]]]|[H|[d H]]]; eauto; right; exists d; rewrite emitted_cons; eauto.
Qed.
Lemma given_cons a r outs h x e : given (Action a r outs :: h) x e ↔ (x = a ∧ r = Took e) ∨ given h x e.
Proof.
  split.
  - intros (y & [->|H]%elem_of_cons & <- & Hr); [by left|right; by exists y].
  - intros [[-> ->]|(y & H & ? & ?)]; [exists (Action a (Took e) outs)|exists y];
    split_and!; try done; apply elem_of_cons; auto.
Qed.

Lemma emitted_mono x h a o : emitted h a o → emitted (x :: h) a o.
Proof. destruct x. rewrite emitted_cons. by right. Qed.
Lemma sent_mono x h a m : sent h a m → sent (x :: h) a m.
Proof. destruct x. rewrite sent_cons. by right. Qed.
Lemma requested_mono x h v : requested h v → requested (x :: h) v.
Proof. intros [a H]. exists a. destruct x. apply given_cons. by right. Qed.

Lemma own_cons a x h : own a (x :: h) = own a h ++ (if decide (actor x = a) then [x] else []).
Proof. unfold own. by rewrite reverse_cons, list.filter_app, filter_cons, filter_nil. Qed.
Lemma outputs_of_cons a x h :
  outputs_of a (x :: h) = outputs_of a h ++ (if decide (actor x = a) then outputs x else []).
Proof.
  unfold outputs_of. rewrite own_cons, bind_app. f_equal. case_decide; [|done]. simpl. apply app_nil_r.
Qed.
Lemma inputs_of_cons a x r outs h : inputs_of a (Action x r outs :: h) =
  inputs_of a h ++ (if decide (x = a) then match r with Took e => [e] | _ => [] end else []).
Proof.
  unfold inputs_of. rewrite own_cons, omap_app. f_equal. simpl. case_decide; [|done]. unfold event_of. simpl. by destruct r.
Qed.
Lemma emitted_outputs a h o : emitted h a o ↔ o ∈ outputs_of a h.
Proof.
  induction h as [|[x e outs] h IH].
  - split; [by intros ?%emitted_nil|by intros ?%elem_of_nil].
  - rewrite emitted_cons, outputs_of_cons, elem_of_app, IH. simpl. case_decide as E; subst.
    + split; [intros [[_ ?]|?]; auto|intros [?|?]; auto].
    + split; [intros [[? _]|?]; [by subst|auto]|intros [?|?%elem_of_nil]; [auto|done]].
Qed.
