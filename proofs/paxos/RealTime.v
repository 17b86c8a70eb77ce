(* The log respects real time, in crashes too. The theorem is stated in StatementsRealTime.v. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network SafetyChosen Crash CrashSafety Service SnapshotSafety CrashLog.
Local Open Scope N_scope.

Section time.
Context (c : config) (apply : image → value → image) (before after : cluster) (between : history).
Context (occurred_before : occurs c before) (occurred_after : occurs c after).
Context (later : story after = between ++ story before) (true_snapshots : honest apply (story before)).

Lemma chosen_app t h i v : chosen c h i v → chosen c (t ++ h) i v.
Proof. intros H. induction t as [|x t IH]; [exact H|]. simpl. by apply chosen_mono. Qed.
Lemma chosen_later i v : chosen c (story before) i v → chosen c (story after) i v.
Proof. rewrite later. apply chosen_app. Qed.

Theorem respects_time a k x b j v :
  was_in apply (story before) a k x → delivered (story after) b j v → v ≠ noop → ¬ requested (story before) v → k ≤ j.
Proof.
  intros Hin Hd Hn Hr. destruct (decide (j < k)) as [Hj|]; [exfalso|lia].
  destruct (was_in_folds c apply before occurred_before true_snapshots a k x Hin) as (vs & Hvs & Hlen & _).
  destruct (lookup_lt_is_Some_2 vs (N.to_nat j)) as [u Hu]; [lia|].
  pose proof (Hvs _ _ Hu) as Hc. rewrite N2Nat.id in Hc.
  assert (u = v) as ->.
  { eapply (crash_chosen_agreement c after occurred_after j); [by apply chosen_later|by eapply crash_delivered_chosen]. }
  destruct (chosen_legitimate c (cluster_view c before) j v (ci_view _ _ (occurs_inv c before occurred_before)) Hc); done.
Qed.

(* The log only grows: a first part of it stays one, and all states that come are what a longer one makes. *)
Lemma log_prefix_later vs : log_prefix c (story before) vs → log_prefix c (story after) vs.
Proof. intros H i v Hv. by apply chosen_later, H. Qed.

Theorem log_grows vs : honest apply (story after) → log_prefix c (story before) vs →
  ∃ more, log_prefix c (story after) (vs ++ more) ∧
  ∀ a k x, was_in apply (story after) a k x →
    k ≤ N.of_nat (length (vs ++ more)) ∧ x = replays apply (take (N.to_nat k) (vs ++ more)).
Proof.
  intros Htrue Hvs%log_prefix_later. destruct (one_log c apply after occurred_after Htrue) as (vs' & Hvs' & Hall).
  destruct (decide (length vs ≤ length vs')%nat) as [Hle|Hle].
  - pose proof (log_prefix_agree c after occurred_after vs vs' Hvs Hvs' Hle) as E.
    exists (drop (length vs) vs'). rewrite E, take_length_le, take_drop by done. done.
  - pose proof (log_prefix_agree c after occurred_after vs' vs Hvs' Hvs ltac:(lia)) as E.
    exists []. rewrite app_nil_r. split; [done|]. intros a k x Hin. destruct (Hall a k x Hin) as [Hk ->].
    split; [lia|]. rewrite E at 1. rewrite take_take. do 2 f_equal. lia.
Qed.
End time.
