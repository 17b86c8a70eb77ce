(* The distributed system whose replicas also crash, and then know only what is in their journals.

   The outputs of a step go through [pass] (Release.v), one after the other, and what it gives back is performed: a record is
   appended to the journal, a message leaves. The journal is written behind: of it, some first part is durable, and the disk may
   report so, or less, at any time; [report] gives back the messages that have waited for it. A crash takes the state, the
   journal beyond its durable part and the messages that still waited. The replica then is in the state [recover] of the journal
   that is left, and acts on; it has forgotten that it ever led, whom it heard from, and what it delivered since its snapshot,
   which it may deliver again. Its service is set to that snapshot.

   A long journal is made short: the records that are durable are replaced by [checkpoint] of the state that they give.
   (That is the [checkpoint] of the live state of the time when they were all that was written: [checkpoint_restarted],
   CrashJournal.v. When exactly they are replaced makes no difference to what is recovered.)

   The disk is assumed to keep what is durable, in its order, and to report no more than that. That it keeps more up to the crash
   is also possible here: then it became durable just before. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network Release.
Local Open Scope N_scope.

(* [live]: the state. [recorded]: the journal. [durable]: how many of its records are. [released]: what waits. *)
Record machine := Machine { live : state; recorded : list record; durable : nat; released : release }.
Record cluster := Cluster { machine_of : replica → machine; story : history }.

(* The outputs of a step, one after the other. *)
Fixpoint pass_all (outs : list output) (r : release) : release * list output :=
  match outs with
  | [] => (r, [])
  | o :: outs =>
    let '(r1, now) := pass o r in
    let '(r2, later) := pass_all outs r1 in
    (r2, match now with Some o => o :: later | None => later end)
  end.
Definition performed (outs : list output) (m : machine) : list output := (pass_all outs (released m)).2.

(* An event takes the replica to s and makes it put out outs. *)
Definition advance (s : state) (outs : list output) (m : machine) : machine :=
  {| live := s; recorded := recorded m ++ omap entry_of_journal (performed outs m); durable := durable m;
     released := (pass_all outs (released m)).1 |}.

(* The first k records are durable now. *)
Definition sync (k : nat) (m : machine) : machine :=
  {| live := live m; recorded := recorded m; durable := k; released := released m |}.
(* The disk says that the first k records since the start are durable. They are: all that were put out, but those that are not. *)
Definition true_report (k : N) (m : machine) : Prop :=
  k + N.of_nat (length (recorded m) - durable m) ≤ numbered (released m).
Definition informed (k : N) (m : machine) : machine :=
  {| live := live m; recorded := recorded m; durable := durable m; released := (report k (released m)).1 |}.
Definition let_go (k : N) (m : machine) : list output := (report k (released m)).2.

Definition on_disk (m : machine) : list record := take (durable m) (recorded m).
Definition crash (c : config) (m : machine) : machine :=
  {| live := recover c (on_disk m); recorded := on_disk m; durable := length (on_disk m); released := no_release |}.

(* What is durable is written anew, in short. *)
Definition shorten (c : config) (m : machine) : machine :=
  let short := checkpoint c (recover c (on_disk m)) in
  {| live := live m; recorded := short ++ drop (durable m) (recorded m); durable := length short; released := released m |}.

Definition reset (m : machine) : list output := [Output_Install (snapshot_at (live m)) (snapshot (live m))].

Definition new_machine : machine := {| live := init; recorded := []; durable := 0; released := no_release |}.
Definition new_cluster : cluster := {| machine_of := λ _, new_machine; story := [] |}.

(* Replica a acts for the reason r, becomes m and puts out outs. *)
Definition acts (w : cluster) (a : replica) (r : cause) (m : machine) (outs : list output) : cluster :=
  {| machine_of := λ x, if decide (x = a) then m else machine_of w x; story := Action a r outs :: story w |}.

Inductive occurs (c : config) : cluster → Prop :=
| occurs_nothing : occurs c new_cluster
| occurs_event w a e s outs :
    occurs c w → possible (story w) e → step c a e (live (machine_of w a)) = (s, outs) → let m := machine_of w a in
    occurs c (acts w a (Took e) (advance s outs m) (performed outs m))
| occurs_sync w a k :
    occurs c w → (durable (machine_of w a) ≤ k ≤ length (recorded (machine_of w a)))%nat →
    occurs c (acts w a Synced (sync k (machine_of w a)) [])
| occurs_report w a k :
    occurs c w → true_report k (machine_of w a) → let m := machine_of w a in
    occurs c (acts w a Synced (informed k m) (let_go k m))
| occurs_shorten w a :
    occurs c w → occurs c (acts w a Synced (shorten c (machine_of w a)) [])
| occurs_crash w a :
    occurs c w → let m := crash c (machine_of w a) in occurs c (acts w a Crashed m (reset m)).
