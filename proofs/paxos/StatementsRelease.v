(* What leaves a replica, and when: of the function that is printed as Rust and runs between [step] and the world (Release.v).

   It is used as follows: the outputs of every step are handed to [pass] one by one, and what comes back is performed; whatever the
   disk reports to be durable is handed to [report], and what comes back is performed. Here a [use] is one of both, [use_all us
   no_release] is what is left after the uses us, and everything that came back, in order of time; [that_wait] are, of some outputs,
   the messages that [waits] of Model.v is true of, and [that_go] all others.

   The theorems of StatementsCrash.v, StatementsCrashLog.v and StatementsRealTime.v speak of clusters that use it ([occurs],
   Crash.v). So what the runtime owes is that it performs outputs in the order in which they come back, and that it reports nothing
   durable that is not ([true_report]). That the latter cannot be left out is shown in ExampleLie.v. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network Release ReleaseProof Crash CrashSafety.
Local Open Scope N_scope.

Section uses.
Context (us : list use).
Let left := (use_all us no_release).1.
Let out := (use_all us no_release).2.

(* Messages that must wait are performed in the order in which they were put out, none twice and none left out, but for the last
   ones, which wait; *)
Theorem waiting_in_order : that_wait (omap passed us) = that_wait out ++ (delayed_output <$> waiting left).
Proof. exact (proj1 (all_kept us no_release orderly_start)). Qed.

(* and all else at once: nothing of it waits. *)
Theorem others_in_order : that_go (omap passed us) = that_go out.
Proof. exact (proj2 (all_kept us no_release orderly_start)). Qed.
Theorem others_at_once o r : must_wait o = false → (pass o r).2 = Some o.
Proof. exact (pass_others o r). Qed.
End uses.

(* In a cluster with crashes, what has ever left a replica is on its disk: if it comes back now, [recover] of that gives a state
   that keeps its word. *)
Section cluster.
Context (c : config) (w : cluster) (occurred : occurs c w) (a : replica).
Let found := recover c (on_disk (machine_of w a)).

Theorem prepare_on_disk b k : sent (story w) a (Message_Prepare b k) → b ≤ promised found.
Proof. exact (crash_prepare_on_disk c w occurred a b k). Qed.
Theorem promise_on_disk b k votes : sent (story w) a (Message_Promise b k votes) → b ≤ promised found.
Proof. exact (crash_promise_on_disk c w occurred a b k votes). Qed.
(* It has the vote, or one at a later ballot, or has forgotten the instance and will neither vote nor promise there. *)
Theorem vote_on_disk b i : sent (story w) a (Message_Accept b i) →
  b ≤ promised found ∧ (i < low found ∨ ∃ e, im_get i (log found) = Some e ∧ b ≤ entry_ballot e).
Proof. exact (crash_vote_on_disk c w occurred a b i). Qed.
End cluster.

Print Assumptions waiting_in_order.
Print Assumptions others_in_order.
Print Assumptions others_at_once.
Print Assumptions prepare_on_disk.
Print Assumptions promise_on_disk.
Print Assumptions vote_on_disk.
