(* The service that a replica keeps: what it is handed makes its state.

   A service is any function [apply]: from a state and a value that is delivered to it, the next state. It begins with
   [blank]; an installed snapshot is its state from then on. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network SafetyChosen.
Local Open Scope N_scope.

Section service.
Context (apply : image → value → image).

(* Where a service stands (it has executed everything below that), and its state; and how an output changes them. *)
Definition serve (p : instance * image) (o : output) : instance * image :=
  match o with
  | Output_Deliver i v => (i + 1, apply p.2 v)
  | Output_Install k x => (k, x)
  | _ => p
  end.
Definition served (outs : list output) : instance * image := foldl serve (0, blank) outs.

(* At some time, replica a's service had executed everything below k, and its state was x. *)
Definition was_in (h : history) (a : replica) (k : instance) (x : image) : Prop :=
  ∃ outs, outs `prefix_of` outputs_of a h ∧ served outs = (k, x).

(* What a replica is given as its service's snapshot is a state that its service really was in before. *)
Fixpoint honest (h : history) : Prop :=
  match h with
  | [] => True
  | x :: h => honest h ∧ match reason x with Took (Event_Snapshot k y) => was_in h (actor x) k y | _ => True end
  end.

(* [vs] is the beginning of the log: a value that was chosen for each instance below its length. *)
Definition log_prefix (c : config) (h : history) (vs : list value) : Prop :=
  ∀ i v, vs !! i = Some v → chosen c h (N.of_nat i) v.
(* The state x is what the chosen values below k make of the first state. *)
Definition replays (vs : list value) : image := foldl apply blank vs.
Definition folds (c : config) (h : history) (k : instance) (x : image) : Prop :=
  ∃ vs, log_prefix c h vs ∧ N.of_nat (length vs) = k ∧ x = replays vs.
End service.
