(* Not about nothing, second part: the theorems of snapshots suppose that services give true ones ([honest]). Here is a run in which
   they do: a snapshot is taken, what it holds is forgotten, and a replica that was away installs it. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network Crash SafetyChosen Service Example.
Local Open Scope N_scope.

(* After the run of Example.v: 1 takes a snapshot and forgets what it holds; 2 asks for what it has missed, and gets it. *)
Definition run_on (v : value) : list happening :=
  run v ++ [Takes 1 (Event_Snapshot 1 blank); Takes 1 (Event_Truncate 1); Takes 2 (Event_CatchUp 1 1); Gets 1 2 0; Gets 2 1 2].

Lemma was_in_all apply h a k x : served apply (outputs_of a h) = (k, x) → was_in apply h a k x.
Proof. intros H. exists (outputs_of a h). by split. Qed.

(* The service of which the state never changes, so that the blank image is a true snapshot of it. *)
Theorem a_snapshot_travels (v : value) :
  ∃ w, occurs three w ∧ honest (λ x _, x) (story w) ∧
    outputs_of 2 (story w) = [Output_Send 1 (Message_Query 0 1); Output_Journal (Record_Install 1 blank); Output_Install 1 blank].
Proof.
  exists (foldl (happen three) new_cluster (run_on v)). split; [apply all_occur|]. split; [|by vm_compute].
  set (h := story _). vm_compute in h. subst h.
  repeat lazymatch goal with
  | |- honest _ (_ :: _) => split
  | |- honest _ [] => exact I
  | |- match _ with _ => _ end => cbn; first [exact I|apply was_in_all; by vm_compute]
  end.
Qed.
