(* A replica's numbers grow slowly: by what it is told, and by a little in each step. So 64 bits suffice. The theorem is stated
   in StatementsBounds.v. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model PrimFacts Run Bounded Order.
Local Open Scope N_scope.

(* The numbers that an event may raise the replica's own to: its ballot, or the position of a snapshot. *)
Definition told (e : event) : N :=
  match e with
  | Event_Receive _ (Message_Prepare b _) => b
  | Event_Receive _ (Message_Propose b _ _) => b
  | Event_Receive _ (Message_Reject b) => b
  | Event_Receive _ (Message_Alive b _) => b
  | Event_Receive _ (Message_Snapshot k _) => k
  | _ => 0
  end.

Section numbers.
Context (c : config) (self : replica).

Lemma next_ballot_near n b : self < n → next_ballot n self b ≤ b + 2 * n.
Proof.
  intros H. unfold next_ballot. pose proof (N.mul_div_le b n). nia.
Qed.

Lemma promised_learned ds s : promised (fold_left (learn c) ds s) = promised s.
Proof. revert s. induction ds as [|d ds IH]; intros s; cbn; [done|]. rewrite IH. unfold learn. by case_match. Qed.

Lemma accept_same src b i v s : promised (accept src b i v s).1 = promised s ∧ executed (accept src b i v s).1 = executed s.
Proof. unfold accept. by repeat case_match. Qed.

Lemma numbers_step e s (s' := (step c self e s).1) :
  promised s' ≤ N.max (promised s) (told e) + 2 * config_replicas c ∧ executed s' ≤ N.max (executed s) (told e) + 1.
Proof.
  subst s'. pose proof (λ b, next_ballot_near (config_replicas c) b) as Hnext.
  generalize dependent (2 * config_replicas c). intros more Hnext.
  destruct e as [src m| | | | | | |]; [destruct m| | | | | | |]; cbn.
  all: unfold on_prepare, on_promise, on_propose, on_accept, on_commit, on_ballot, on_query, on_learned, on_snapshot, on_forward,
    on_request, propose, on_suspect, on_heartbeat, on_execute, on_catch_up, on_taken, on_truncate.
  all: repeat case_match; cbn; guards; rewrite ?promised_learned, ?executed_learned;
    rewrite ?(proj1 (accept_same _ _ _ _ _)), ?(proj2 (accept_same _ _ _ _ _)); cbn; try lia.
  specialize (Hnext (promised s)). lia.
Qed.

Lemma numbers_run B es (s := state_after c self es) :
  Forall (λ e, told e ≤ B) es →
  promised s ≤ B + 2 * config_replicas c * N.of_nat (length es) ∧ executed s ≤ B + N.of_nat (length es).
Proof.
  subst s. induction es as [|e es IH] using rev_ind; intros HF; [split; apply N.le_0_l|].
  apply Forall_app in HF as [HF He]. inversion_clear He. destruct (IH HF) as [H1 H2].
  destruct (numbers_step e (state_after c self es)) as [H3 H4]. rewrite state_after_snoc, app_length; cbn [length].
  generalize dependent (2 * config_replicas c). intros more; intros.
  rewrite Nat2N.inj_add. split; nia.
Qed.

Lemma numbers_small B es (s := state_after c self es) :
  Forall (λ e, told e ≤ B) es →
  promised s ≤ B + 2 * config_replicas c * N.of_nat (length es) ∧
  low s ≤ B + N.of_nat (length es) ∧ executed s ≤ B + N.of_nat (length es) ∧
  first s ≤ B + N.of_nat (length es) + config_span c ∧ next s ≤ B + N.of_nat (length es) + 2 * config_span c.
Proof.
  intros [H1 H2]%numbers_run. fold s in H1, H2. destruct (bounded_run c self es) as [(M1 & M2 & _) _ _ _ _ _ F X _].
  fold s in M1, M2, F, X. split; [done|]. lia.
Qed.
End numbers.
