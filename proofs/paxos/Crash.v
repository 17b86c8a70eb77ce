(* The distributed system whose replicas also crash, and then know only what is in their journals.

   A replica's records go to its journal in the order in which it puts them out. The journal is written behind: of it, some
   first part is durable. Outputs leave at once, except the messages that must wait ([waits] of Model.v): each of them
   leaves when all records that its replica had put out by then, in the same step too, are durable. A crash takes the
   state, the journal beyond its durable part and the messages that still waited. The replica then is in the state
   [recover] of the journal that is left, and acts on; it has forgotten that it ever led, whom it heard from, and what it
   delivered since its snapshot, which it may deliver again. Its service is set to that snapshot.

   A long journal is made short: the records that are durable are replaced by [checkpoint] of the state that they give.
   (That is the [checkpoint] of the live state of the time when they were all that was written: [checkpoint_restarted],
   CrashJournal.v. When exactly they are replaced makes no difference to what is recovered.)

   The disk is assumed to keep what it has said to be durable, in its order. That it keeps more than that, up to the
   crash, is also possible here: then it became durable just before. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network.
Local Open Scope N_scope.

(* [live]: the state. [recorded]: the journal. [durable]: how many of its records are. [waiting]: messages, each with the
   number of records that it waits for. *)
Record machine := Machine { live : state; recorded : list record; durable : nat; waiting : list (nat * output) }.
Record cluster := Cluster { machine_of : replica → machine; story : history }.

Definition must_wait (o : output) : bool :=
  match o with Output_Send _ m | Output_Broadcast m => waits m | _ => false end.
Definition at_once (outs : list output) : list output := filter (λ o, must_wait o = false) outs.
Definition put_off (outs : list output) : list output := filter (λ o, must_wait o = true) outs.

(* An event takes the replica to s and makes it put out outs. *)
Definition advance (s : state) (outs : list output) (m : machine) : machine :=
  let rs := recorded m ++ omap entry_of_journal outs in
  {| live := s; recorded := rs; durable := durable m; waiting := waiting m ++ (pair (length rs) <$> put_off outs) |}.

(* The first k records are durable now. *)
Definition sync (k : nat) (m : machine) : machine :=
  {| live := live m; recorded := recorded m; durable := k; waiting := filter (λ p, (k < p.1)%nat) (waiting m) |}.
Definition ready (k : nat) (m : machine) : list output := (filter (λ p, (p.1 ≤ k)%nat) (waiting m)).*2.

Definition on_disk (m : machine) : list record := take (durable m) (recorded m).
Definition crash (c : config) (m : machine) : machine :=
  {| live := recover c (on_disk m); recorded := on_disk m; durable := durable m; waiting := [] |}.

(* What is durable is written anew, in short; all else counts from its end. *)
Definition shorten (c : config) (m : machine) : machine :=
  let short := checkpoint c (recover c (on_disk m)) in
  let moved k := (length short + (k - durable m))%nat in
  {| live := live m; recorded := short ++ drop (durable m) (recorded m); durable := length short;
     waiting := (λ p, (moved p.1, p.2)) <$> waiting m |}.

Definition reset (m : machine) : list output := [Output_Install (snapshot_at (live m)) (snapshot (live m))].

Definition new_machine : machine := {| live := init; recorded := []; durable := 0; waiting := [] |}.
Definition new_cluster : cluster := {| machine_of := λ _, new_machine; story := [] |}.

(* Replica a acts for the reason r, becomes m and puts out outs. *)
Definition acts (w : cluster) (a : replica) (r : cause) (m : machine) (outs : list output) : cluster :=
  {| machine_of := λ x, if decide (x = a) then m else machine_of w x; story := Action a r outs :: story w |}.

Inductive occurs (c : config) : cluster → Prop :=
| occurs_nothing : occurs c new_cluster
| occurs_event w a e s outs :
    occurs c w → possible (story w) e → step c a e (live (machine_of w a)) = (s, outs) →
    occurs c (acts w a (Took e) (advance s outs (machine_of w a)) (at_once outs))
| occurs_sync w a k :
    occurs c w → (durable (machine_of w a) ≤ k ≤ length (recorded (machine_of w a)))%nat →
    occurs c (acts w a Synced (sync k (machine_of w a)) (ready k (machine_of w a)))
| occurs_shorten w a :
    occurs c w → occurs c (acts w a Synced (shorten c (machine_of w a)) [])
| occurs_crash w a :
    occurs c w → let m := crash c (machine_of w a) in occurs c (acts w a Crashed m (reset m)).
