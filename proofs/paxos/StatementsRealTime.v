(* The order extends real time: what is asked for after something was executed comes after it in the log.

   The system is that of StatementsCrash.v, looked at twice: first it is as in [before]; then anything happens ([between]), and it
   is as in [after]. [was_in], [honest] and [apply] are those of StatementsCrashLog.v:

   - [was_in apply h a k x]: at some time of the history h, replica a's service had executed everything below k, and was in x.
     Whoever was answered by replica a for a request in instance i was answered at such a time, with k = i + 1.
   - [requested h v]: in h some replica was given the batch v to propose. Whoever asks after h is in a batch that was not:
     requests are gathered into new batches, and a request that is in none yet cannot be in one of h.

   So of two requests, the second of which was handed in after the first was answered, the first is in an earlier instance. What
   clients see of that is said in StatementsLinearizable.v. Reads that go through the log are requests like others. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network Crash Service RealTime.
Local Open Scope N_scope.

Section statements.
Context (c : config) (apply : image → value → image) (before after : cluster) (between : history).
Context (occurred_before : occurs c before) (occurred_after : occurs c after).
Context (later : story after = between ++ story before) (true_snapshots : honest apply (story before)).

(* If a service had executed all below k, and nobody had been given v yet, then v is delivered as k or later, by whomever. *)
Theorem respects_time a k x b j v :
  was_in apply (story before) a k x → delivered (story after) b j v → v ≠ noop → ¬ requested (story before) v → k ≤ j.
Proof. exact (respects_time c apply before after between occurred_before occurred_after later true_snapshots a k x b j v). Qed.
End statements.

Print Assumptions respects_time.
