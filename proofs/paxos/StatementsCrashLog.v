(* One log, of which every service has executed a first part, in crashes too; and snapshots are what they should be.

   The system is that of StatementsCrash.v. In addition (Service.v):

   - [apply] is any service: from a state and a value that is delivered, its next state. It begins with [blank]; an
     [Output_Install k x] sets it to x, as if it had executed what is below k; a replica that restarts installs the
     snapshot that it has recovered.
   - [was_in apply h a k x]: at some time, before or after crashes, replica a's service had executed all below k, and its
     state was x.
   - [honest apply h], which is assumed: whenever a replica was given [Event_Snapshot k x], its service had been in x at k.
   - [log_prefix c h vs]: for each i, the i-th of vs is the value chosen as instance i. [replays apply vs]: the state that
     the values vs make, one after the other, of [blank]. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network SafetyChosen Crash Service Sessions SessionsProof Requests CrashLog.
Local Open Scope N_scope.

Section statements.
Context (c : config) (apply : image → value → image) (w : cluster).
Context (occurred : occurs c w) (true_snapshots : honest apply (story w)).

(* There is one sequence of values such that every state in which any service ever was is what the first k of them make. *)
Theorem one_log : ∃ vs, log_prefix c (story w) vs ∧
  ∀ a k x, was_in apply (story w) a k x → k ≤ N.of_nat (length vs) ∧ x = replays apply (take (N.to_nat k) vs).
Proof. exact (one_log c apply w occurred true_snapshots). Qed.

(* The same with sessions, whatever requests are, however a batch holds them, and whichever sessions are forgotten when
   ([executed_requests], StatementsSessions.v). The requests executed of those values are a list in which no request comes
   twice, nor a number of a session; and every state in which any service ever was comes of batches whose executed requests
   are a first part of that list. *)
Theorem refines_log {request : Type} (demand_of : request → demand) (requests : instance → value → list request)
    (forgets : list request → request → list session) (refuses : list request → request → bool)
    (executed := executed_requests demand_of requests forgets refuses) :
  ∃ vs, log_prefix c (story w) vs ∧ NoDup (executed vs) ∧ NoDup (omap (call_of demand_of) (executed vs)) ∧
  ∀ a k x, was_in apply (story w) a k x → ∃ batches, batches `prefix_of` vs ∧ N.of_nat (length batches) = k ∧
    x = replays apply batches ∧ executed batches `prefix_of` executed vs.
Proof. exact (one_request_log c apply w occurred true_snapshots demand_of requests forgets refuses). Qed.

(* A snapshot that a replica installs, sends or keeps is what the first k values chosen make. *)
Theorem snapshot_installed a k x : emitted (story w) a (Output_Install k x) →
  ∃ vs, log_prefix c (story w) vs ∧ N.of_nat (length vs) = k ∧ x = replays apply vs.
Proof. exact (installed_folds c apply w occurred true_snapshots a k x). Qed.
Theorem snapshot_sent a k x : sent (story w) a (Message_Snapshot k x) →
  ∃ vs, log_prefix c (story w) vs ∧ N.of_nat (length vs) = k ∧ x = replays apply vs.
Proof. exact (sent_folds c apply w occurred true_snapshots a k x). Qed.
Theorem snapshot_kept a : let s := live (machine_of w a) in
  ∃ vs, log_prefix c (story w) vs ∧ N.of_nat (length vs) = snapshot_at s ∧ snapshot s = replays apply vs.
Proof. exact (kept_folds c apply w occurred true_snapshots a). Qed.
End statements.

Print Assumptions one_log.
Print Assumptions refines_log.
Print Assumptions snapshot_installed.
Print Assumptions snapshot_sent.
Print Assumptions snapshot_kept.
