(* A replica hands its service the instances in their order, without a hole and none twice, whatever it is told. *)
From stdpp Require Import gmap list numbers sorting.
Require Import Prim Model PrimFacts Run Order.
Local Open Scope N_scope.

Section order.
Context (c : config) (self : replica) (es : list event).
(* What the service is handed in the run of these events, and where it stands in the end. *)
Let hs := omap handed_by (outputs_after c self es).
Let position := executed (state_after c self es).

(* From 0 on: each time the next instance, or a state that is further on (see [in_order]). *)
Theorem delivered_in_order : in_order 0 hs position.
Proof. exact (run_in_order c self init es). Qed.

(* So no instance is delivered twice, and their numbers rise. *)
Theorem delivered_rising : StronglySorted N.lt (omap instance_of hs).
Proof. exact (proj1 (in_order_sorted _ _ _ delivered_in_order)). Qed.
Theorem delivered_once : NoDup (omap instance_of hs).
Proof. exact (in_order_once _ _ _ delivered_in_order). Qed.

(* Nothing is left out: what was not delivered is in a state that was installed. *)
Theorem delivered_complete i : i < position → (∃ v, Handed i v ∈ hs) ∨ (∃ k s, Replaced k s ∈ hs ∧ i < k).
Proof. exact (λ H, in_order_complete _ _ _ i delivered_in_order (conj (N.le_0_l i) H)). Qed.

(* A replica that installed none delivered 0, 1, 2, ... up to where it stands. *)
Theorem delivered_all : Forall (λ h, is_jump h = false) hs → omap instance_of hs = n_range 0 position.
Proof. exact (in_order_all _ _ _ delivered_in_order). Qed.
End order.

(* The same from any other state on, for instance after a restart: the first that comes is [executed s]. *)
Theorem delivered_in_order_from c self s es :
  in_order (executed s) (omap handed_by (run c self s es).2) (executed (run c self s es).1).
Proof. exact (run_in_order c self s es). Qed.

Print Assumptions delivered_in_order.
Print Assumptions delivered_rising.
Print Assumptions delivered_once.
Print Assumptions delivered_complete.
Print Assumptions delivered_all.
Print Assumptions delivered_in_order_from.
