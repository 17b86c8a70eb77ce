(* Agreement and integrity of the order: what is proved of [step], the function of Model.v that is printed as Rust and run.

   The system (Network.v) in words:

   - [reach c w]: the world w can come about. In the beginning every replica is in state [init] and nothing was sent. Then,
     any number of times, any replica a (any number: the voters 0 .. config_replicas c - 1, and learners beyond) takes any
     event e, becomes what [step c a e] makes of it, and its outputs are recorded for good:

         reach c w → possible (past w) e → step c a e (state_of w a) = (s, outs) → reach c (act w a e s outs)

   - [possible h e]: e is no packet, or it is a packet that its sender put out at some time, to whomever. This is all that is
     assumed of the network. So packets may be lost, doubled, delayed, reordered and overheard; clients may ask for anything at
     any replica; everyone may suspect everyone at any time; snapshots and truncations come when they like.
   - [delivered h a i v]: replica a has put out [Output_Deliver i v]: its service executes v as instance i of the log.
   - [requested h v]: some replica was given [Event_Request v].
   - [decisions (state_of w a)]: what replica a holds to be chosen, which it delivers and tells those who catch up.

   A replica that stops for good is one to which nothing happens any more. Replicas that crash and restart are in
   StatementsCrash.v, what a snapshot contains is in StatementsCrashLog.v. Nothing is said about progress. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network Run SafetyChosen Safety Local.
Local Open Scope N_scope.

Section statements.
Context (c : config) (w : world) (reached : reach c w).

(* Agreement: what is delivered as instance i, by whomever and whenever, is the same. *)
Theorem delivery_agreement a1 a2 i v1 v2 : delivered (past w) a1 i v1 → delivered (past w) a2 i v2 → v1 = v2.
Proof. exact (paxos_delivery c w a1 a2 i v1 v2 reached). Qed.

(* Integrity: nothing is delivered but requests and the filler. *)
Theorem delivery_integrity a i v : delivered (past w) a i v → v = noop ∨ requested (past w) v.
Proof. exact (paxos_integrity c w a i v reached). Qed.

(* What replicas believe to be chosen never differs, be it delivered yet or not; nor does it from what others delivered. *)
Theorem decision_agreement a1 a2 i v1 v2 :
  im_get i (decisions (state_of w a1)) = Some v1 → im_get i (decisions (state_of w a2)) = Some v2 → v1 = v2.
Proof. exact (paxos_decision c w a1 a2 i v1 v2 reached). Qed.
Theorem decision_delivery_agreement a1 a2 i v1 v2 :
  im_get i (decisions (state_of w a1)) = Some v1 → delivered (past w) a2 i v2 → v1 = v2.
Proof. exact (paxos_decision_delivery c w a1 a2 i v1 v2 reached). Qed.

(* The same in Paxos's own terms. [chosen c h i v]: more than half of the voters have sent an Accept for i at one ballot b,
   and v was proposed for i at b. At most one value is chosen, and only chosen ones are delivered. *)
Theorem one_value_chosen i v1 v2 : chosen c (past w) i v1 → chosen c (past w) i v2 → v1 = v2.
Proof. exact (chosen_agreement c w i v1 v2 reached). Qed.
Theorem only_chosen_delivered a i v : delivered (past w) a i v → chosen c (past w) i v.
Proof. exact (delivered_chosen c w a i v reached). Qed.

(* What the theorems about one replica alone (StatementsBounds.v and others) say holds of each replica of each world: it is
   where its own inputs took it, and has put out what they made it put out. *)
Theorem each_replica_runs a :
  state_of w a = state_after c a (inputs_of a (past w)) ∧ outputs_of a (past w) = outputs_after c a (inputs_of a (past w)).
Proof. exact (replica_runs c w a reached). Qed.
End statements.

Print Assumptions delivery_agreement.
Print Assumptions delivery_integrity.
Print Assumptions decision_agreement.
Print Assumptions decision_delivery_agreement.
Print Assumptions one_value_chosen.
Print Assumptions only_chosen_delivered.
Print Assumptions each_replica_runs.
