(* The executor of [linearizable] is not about nothing: a session is opened, its first call is executed and comes again, another
   comes too early and then in its turn, and one comes for a session that nobody has opened. Computed. The service counts what it has
   executed and answers with the count; [answer_at] says the same of the two calls that were executed. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Sessions SessionsProof Requests Executor.
Local Open Scope N_scope.

Definition counter (s : N) (_ : demand) : N * N := (s + 1, s).
Definition count_up : executor → executor * list (demand * option N) :=
  process_all id (λ _ _, []) (λ _ _, false) (λ _ _, true) counter
    [Opens; Calls 1 1; Calls 1 1; Calls 1 3; Calls 1 2; Calls 7 1].

Theorem answers_are_given_again :
  (count_up (new_executor 0)).2 =
    [(Opens, None); (Calls 1 1, Some 0); (Calls 1 1, Some 0); (Calls 1 3, None); (Calls 1 2, Some 1); (Calls 7 1, None)].
Proof. by vm_compute. Qed.

Theorem as_the_service_alone :
  answer_at 0 counter [Calls 1 1; Calls 1 2] 0 = Some 0 ∧ answer_at 0 counter [Calls 1 1; Calls 1 2] 1 = Some 1.
Proof. by vm_compute. Qed.
