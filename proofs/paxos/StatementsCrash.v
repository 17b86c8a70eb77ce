(* Agreement and integrity of the order although replicas crash and recover from their journals.

   The system (Crash.v) in words, for the same [step] as in Statements.v and the [recover] that restarts it:

   - [occurs c w]: the cluster w can come about. In the beginning nothing has happened. Then, any number of times,
     * a replica takes an event, as in Statements.v: its records are appended to its journal, its other outputs leave at
       once, but the messages of which [waits] is true (promises, votes and prepares) are held back by [pass] (Release.v), if
       some record is not known to be durable; or
     * a replica's disk makes more of its journal durable, however much; or
     * the disk reports that, or less: the messages that were held back for no more than that leave; or
     * the durable part of a journal is replaced by the [checkpoint] of the state that it gives; or
     * a replica crashes. Its state becomes [recover] of the durable part of its journal. The rest of the journal, and
       what was held back, is lost.
   - [delivered], [requested] and [chosen] are those of Statements.v; a replica that was restarted may deliver again.

   Any number of replicas may crash, all at once too, and as often as they like. Assumed is that a disk loses nothing that
   it said to be durable, and no record but the last ones: not that anyone's journal is ever durable in time. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network SafetyChosen Crash CrashSafety.
Local Open Scope N_scope.

Section statements.
Context (c : config) (w : cluster) (occurred : occurs c w).

(* What is delivered as instance i, by whomever and whenever, before and after crashes, is the same. *)
Theorem delivery_agreement a1 a2 i v1 v2 : delivered (story w) a1 i v1 → delivered (story w) a2 i v2 → v1 = v2.
Proof. exact (crash_delivery c w occurred a1 a2 i v1 v2). Qed.

(* Nothing is delivered but requests and the filler. *)
Theorem delivery_integrity a i v : delivered (story w) a i v → v = noop ∨ requested (story w) v.
Proof. exact (crash_integrity c w occurred a i v). Qed.

(* What replicas hold to be chosen, as they run or as they come back, never differs. *)
Theorem decision_agreement a1 a2 i v1 v2 :
  im_get i (decisions (live (machine_of w a1))) = Some v1 → im_get i (decisions (live (machine_of w a2))) = Some v2 →
  v1 = v2.
Proof. exact (crash_decision c w occurred a1 a2 i v1 v2). Qed.
Theorem decision_delivery_agreement a1 a2 i v1 v2 :
  im_get i (decisions (live (machine_of w a1))) = Some v1 → delivered (story w) a2 i v2 → v1 = v2.
Proof. exact (crash_decision_delivery c w occurred a1 a2 i v1 v2). Qed.

(* At most one value is chosen, and only chosen ones are delivered. *)
Theorem one_value_chosen i v1 v2 : chosen c (story w) i v1 → chosen c (story w) i v2 → v1 = v2.
Proof. exact (crash_chosen_agreement c w occurred i v1 v2). Qed.
Theorem only_chosen_delivered a i v : delivered (story w) a i v → chosen c (story w) i v.
Proof. exact (crash_delivered_chosen c w occurred a i v). Qed.
End statements.

Print Assumptions delivery_agreement.
Print Assumptions delivery_integrity.
Print Assumptions decision_agreement.
Print Assumptions decision_delivery_agreement.
Print Assumptions one_value_chosen.
Print Assumptions only_chosen_delivered.
