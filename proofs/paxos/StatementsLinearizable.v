(* Clients see one service that executes one request after the other, none twice, each between its call and its answer.

   The cluster is that of StatementsCrash.v, looked at whenever anybody likes ([before]), and in the end ([after]). Requests, batches
   and sessions are those of StatementsSessions.v. In addition (Executor.v):

   - [serve] is any service by itself: from a state and a request its next state and an answer; it begins in [begin].
     [answer_at rs p] is its answer to the p-th of the requests rs, if it executes rs from the beginning, one after the other.
   - [answered h a k r y]: in the history h, replica a answered y to r, when instance k was delivered to it. An answer may be the
     one that it kept of an earlier try; refusals and errors are not answers.
   - [asked h call]: in h some replica was given a batch in which a request is for this call (session and number). A client that
     calls after h is not in it: requests are put into new batches.
   - [executes], the duty of a replica around its service: it executes batches as [deliver] of Executor.v does, and installs and
     gives snapshots from which it goes on in the same way. [honest]: what it gives are its own ([StatementsCrashLog.v]).
   - [no_requests]: the filler has no requests. [retains], [forgets], [refuses]: which answers are kept, which sessions are
     forgotten and which requests are turned away, any functions of the requests before.

   The theorem: there is one sequence rs of requests, in which no call stands twice and those of one session stand as 1, 2, 3, ...
   Every answer that any replica ever gave to a call is that of the service alone to that call, at its place in rs. And if some
   call was answered before another one was asked for, it stands before it. That is linearizability, crashes, snapshots and
   repeated requests included, for calls that go through the log; a state that is read past it may be old (ExampleStaleRead.v). *)
From stdpp Require Import gmap list numbers.
Require Import Prim PrimFacts Model Network Crash Service Sessions SessionsProof Requests Executor Linearizable.
Local Open Scope N_scope.

Section statements.
Context {request answer state : Type} (demand_of : request → demand) (requests : instance → value → list request).
Context (forgets : list request → request → list session) (refuses : list request → request → bool).
Context (retains : list request → session * sequence → bool) (begin : state) (serve : state → request → state * answer).
Context (c : config) (apply : image → value → image) (answers : image → value → list (request * option answer)).
Context (executor_runs : executes demand_of requests forgets refuses retains begin serve apply answers).
Context (no_requests : ∀ i, requests i noop = []).
Let call_of := call_of demand_of.

Theorem linearizable after : occurs c after → honest apply (story after) →
  ∃ rs, NoDup (omap call_of rs) ∧
  (∀ id, ∃ k, fresh_of id (omap call_of rs) = n_range 1 (k + 1)) ∧
  (∀ a k r y, answered apply answers (story after) a k r y →
    ∃ p r', rs !! p = Some r' ∧ is_Some (call_of r) ∧ call_of r' = call_of r ∧ answer_at begin serve rs p = Some y) ∧
  ∀ before between, occurs c before → story after = between ++ story before →
    ∀ a k r y p r' q r2, answered apply answers (story before) a k r y → rs !! p = Some r' → call_of r' = call_of r →
    rs !! q = Some r2 → ¬ asked demand_of requests (story before) (call_of r2) → (p < q)%nat.
Proof.
  exact (linearizable demand_of requests forgets refuses retains begin serve c apply answers executor_runs no_requests after).
Qed.
End statements.

Print Assumptions linearizable.
