(* The log only grows: what was its beginning once is its beginning ever after.

   The system is that of StatementsCrash.v, looked at twice, as in StatementsRealTime.v: first it is as in [before]; then anything
   happens ([between]), and it is as in [after]. [was_in], [honest], [log_prefix], [replays] and [apply] are those of
   StatementsCrashLog.v.

   [one_log] says of each time that there is one list of values of which all states are made that any service was in by then. Here
   the lists of two times are one: whichever list vs the first time had, that of the second begins with vs. So what a client learnt
   of the order stays true, whoever crashes, and what a replica has written down of it never has to be taken back. Of requests the
   same follows by [executed_grows]: those executed of vs are the first of those executed of the longer list. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network SafetyChosen Crash Service Sessions SessionsProof Requests RealTime.
Local Open Scope N_scope.

Section statements.
Context (c : config) (apply : image → value → image) (before after : cluster) (between : history).
Context (occurred_after : occurs c after) (later : story after = between ++ story before).
Context (true_snapshots : honest apply (story after)).

Theorem log_grows vs : log_prefix c (story before) vs →
  ∃ more, log_prefix c (story after) (vs ++ more) ∧
  ∀ a k x, was_in apply (story after) a k x →
    k ≤ N.of_nat (length (vs ++ more)) ∧ x = replays apply (take (N.to_nat k) (vs ++ more)).
Proof. exact (log_grows c apply before after between occurred_after later vs true_snapshots). Qed.
End statements.

Print Assumptions log_grows.
