(* All replicas execute the same requests in the same order: each has executed a beginning of one list of requests, in which none
   comes twice.

   Said here of replicas that never crashed and never installed a snapshot ([installed_none]); for them nothing is assumed of
   the service. The same of all replicas, in crashes too, is in StatementsCrashLog.v. [reach] is explained in Statements.v,
   [executed_requests] in StatementsSessions.v. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network Sessions SessionsProof Requests OneLog.
Local Open Scope N_scope.

Section log.
Context (c : config) (w : world) (reached : reach c w).

(* One log of batches: what is delivered to a replica, in order of time, is a beginning of it. *)
Theorem batches_of_one_log :
  ∃ log : list value, ∀ a, installed_none a (past w) → batches a (past w) `prefix_of` log.
Proof. exact (one_log c w reached). Qed.

(* One log of requests, whatever requests are, however a batch holds them, and whichever sessions are forgotten when. No request
   is in it twice, nor is a number of a session; and each replica has executed a beginning of it. *)
Theorem requests_of_one_log {request : Type} (demand_of : request → demand) (requests : instance → value → list request)
    (forgets : list request → request → list session) (refuses : list request → request → bool)
    (executed := executed_requests demand_of requests forgets refuses) :
  ∃ log : list request,
    NoDup log ∧ NoDup (omap (call_of demand_of) log) ∧
    ∀ a, installed_none a (past w) → executed (batches a (past w)) `prefix_of` log.
Proof. exact (one_request_log c w reached demand_of requests forgets refuses). Qed.
End log.

Print Assumptions batches_of_one_log.
Print Assumptions requests_of_one_log.
