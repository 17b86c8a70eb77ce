(* When outputs may be performed: the messages that must wait for the journal ([waits] of Model.v) wait here.

   This runs: it is printed as Rust, between [step] and the world. The runtime hands in the outputs of each step, one after the
   other, and performs at once what [pass] gives back. When the disk says that records are durable, it says so to [report], and
   performs what that gives back. It counts the records that it was handed since it started; earlier ones are durable, since they
   were read back. What the runtime owes this is in Crash.v: order, and a disk that speaks the truth. *)
Require Import Prim Model.
From Coq Require Import NArith List.
Import ListNotations.
Local Open Scope N_scope.
Local Open Scope list_scope.
Local Open Scope bool_scope.

(* A message, and how many records must be durable first. *)
Record delayed := Delayed { delayed_until : N; delayed_output : output }.

(* [numbered]: records put out since the start. [synced]: how many of them are known to be durable. [waiting]: what waits, in the
   order in which it came. *)
Record release := Release { numbered : N; synced : N; waiting : list delayed }.
Definition no_release : release := {| numbered := 0; synced := 0; waiting := [] |}.

(* The core puts out o: what is performed now? A message goes unless it must wait and a record is not known to be durable. *)
Definition pass_message (must : bool) (o : output) (r : release) : release * option output :=
  if must && (synced r <? numbered r) then
    let k := numbered r in
    ({| numbered := k; synced := synced r; waiting := waiting r ++ [{| delayed_until := k; delayed_output := o |}] |}, None)
  else (r, Some o).
Definition pass (o : output) (r : release) : release * option output :=
  match o with
  | Output_Journal x =>
    ({| numbered := numbered r + 1; synced := synced r; waiting := waiting r |}, Some (Output_Journal x))
  | Output_Send dst m => let must := waits m in pass_message must (Output_Send dst m) r
  | Output_Broadcast m => let must := waits m in pass_message must (Output_Broadcast m) r
  | Output_Deliver i v => (r, Some (Output_Deliver i v))
  | Output_Install k x => (r, Some (Output_Install k x))
  | Output_Return v => (r, Some (Output_Return v))
  end.

(* What has waited long enough, and what has not. *)
Record parted := Parted { ready : list output; rest : list delayed }.
Definition part (k : N) (p : parted) (d : delayed) : parted :=
  if delayed_until d <=? k then {| ready := ready p ++ [delayed_output d]; rest := rest p |}
  else {| ready := ready p; rest := rest p ++ [d] |}.

(* The first k records since the start are durable: what is performed now? *)
Definition report (k : N) (r : release) : release * list output :=
  let known := N.max (synced r) (N.min k (numbered r)) in
  let p := fold_left (part known) (waiting r) {| ready := []; rest := [] |} in
  ({| numbered := numbered r; synced := known; waiting := rest p |}, ready p).
