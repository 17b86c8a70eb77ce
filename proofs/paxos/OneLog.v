(* There is one log: replicas that have installed no snapshot have been delivered a beginning of it, and have executed a beginning
   of its requests. The theorems are stated in StatementsLog.v. *)
From stdpp Require Import gmap list numbers.
Require Import Prim PrimFacts Model Network Run Order Local Safety Sessions SessionsProof Requests.
Local Open Scope N_scope.

(* What replica a has handed to its service; the batches among it; was no snapshot among it? *)
Definition handed_to (a : replica) (h : history) : list handed := omap handed_by (outputs_of a h).
Definition batches (a : replica) (h : history) : list value := snd <$> deliveries a h.
Definition installed_none (a : replica) (h : history) : Prop := Forall (λ x, is_jump x = false) (handed_to a h).

(* --- Lists that say at each position what others say there. ------------------------------------------------------------- *)

Definition numbered (l : list (instance * value)) : Prop := ∃ n, fst <$> l = n_range 0 n.

Lemma n_range_lookup n j i : n_range 0 n !! j = Some i → i = N.of_nat j.
Proof.
  unfold n_range. rewrite list_lookup_fmap. intros (k & Hk & ->)%fmap_Some. by apply lookup_seq in Hk as [-> _].
Qed.

Lemma numbered_lookup l j p : numbered l → l !! j = Some p → p.1 = N.of_nat j.
Proof.
  intros [n Hn] Hj. apply (n_range_lookup n). rewrite <- Hn, list_lookup_fmap. exact (f_equal (fmap fst) Hj).
Qed.

Lemma numbered_prefix l l' :
  numbered l → numbered l' → (∀ i v v', (i, v) ∈ l → (i, v') ∈ l' → v = v') → (length l ≤ length l')%nat → l `prefix_of` l'.
Proof.
  intros Hl Hl' Ha Hn. exists (drop (length l) l'). rewrite <- (take_drop (length l) l') at 1. f_equal.
  apply list_eq_same_length with (length l); [done|rewrite take_length; lia|].
  intros j [i' v'] [i v] Hj Hx Hy. rewrite lookup_take in Hx by lia.
  pose proof (numbered_lookup _ _ _ Hl Hy). pose proof (numbered_lookup _ _ _ Hl' Hx). cbn in *. subst.
  f_equal. symmetry. eapply Ha; by eapply elem_of_list_lookup_2.
Qed.

Lemma numbered_compare l l' :
  numbered l → numbered l' → (∀ i v v', (i, v) ∈ l → (i, v') ∈ l' → v = v') → l `prefix_of` l' ∨ l' `prefix_of` l.
Proof.
  intros Hl Hl' Ha. destruct (decide (length l ≤ length l')%nat); [left|right].
  - by apply numbered_prefix.
  - apply numbered_prefix; [done..| |lia]. intros i v v' ? ?. symmetry. eauto.
Qed.

(* Who never acted has put out nothing. *)
Lemma idle_outputs a h : a ∉ actor <$> h → outputs_of a h = [].
Proof.
  induction h as [|x h IH]; [done|]. rewrite fmap_cons, not_elem_of_cons. intros [? ?].
  rewrite outputs_of_cons, decide_False, app_nil_r by congruence. auto.
Qed.

(* --- Worlds that can come about. ------------------------------------------------------------------------------------------ *)

Section world.
Context (c : config) (w : world) (reached : reach c w).
Notation h := (past w).

Lemma handed_deliveries (outs : list output) : fst <$> omap delivery outs = omap instance_of (omap handed_by outs).
Proof. induction outs as [|[] outs IH]; cbn; by rewrite ?IH. Qed.

Lemma deliveries_numbered a : installed_none a h → numbered (deliveries a h).
Proof.
  intros Ha. unfold installed_none, handed_to in Ha. unfold deliveries, numbered.
  destruct (replica_runs c w a reached) as [_ Ho]. rewrite Ho in *. exists (executed (state_after c a (inputs_of a h))).
  rewrite handed_deliveries. apply in_order_all; [|done]. apply (run_in_order c a init).
Qed.

Lemma deliveries_delivered a i v : (i, v) ∈ deliveries a h → delivered h a i v.
Proof.
  intros (o & Ho & Hd)%elem_of_list_omap. apply emitted_outputs. by destruct o; simplify_eq/=.
Qed.

Lemma deliveries_agree a b i v v' : (i, v) ∈ deliveries a h → (i, v') ∈ deliveries b h → v = v'.
Proof. intros ?%deliveries_delivered ?%deliveries_delivered. by eapply (paxos_delivery c w a b). Qed.

(* Of some replicas, one has been delivered most. *)
Lemma longest (l : list replica) :
  ∃ log, (log = [] ∨ ∃ a, installed_none a h ∧ log = deliveries a h) ∧
    ∀ a, a ∈ l → installed_none a h → deliveries a h `prefix_of` log.
Proof.
  induction l as [|a l (log & Hlog & Hl)].
  { exists []. split; [by left|]. by intros a ?%elem_of_nil. }
  destruct (decide (installed_none a h)) as [Ha|Ha].
  2: { exists log. split; [done|]. intros b [->|?]%elem_of_cons; [done|auto]. }
  assert (deliveries a h `prefix_of` log ∨ log `prefix_of` deliveries a h) as [Hp|Hp].
  { destruct Hlog as [->|(b & Hb & ->)]; [right; apply prefix_nil|].
    apply numbered_compare; auto using deliveries_numbered. intros i v v'. apply deliveries_agree. }
  - exists log. split; [done|]. intros b [->|?]%elem_of_cons; auto.
  - exists (deliveries a h). split; [eauto|]. intros b [->|?]%elem_of_cons ?; [done|]. transitivity log; auto.
Qed.

Theorem one_log : ∃ log, ∀ a, installed_none a h → batches a h `prefix_of` log.
Proof.
  destruct (longest (actor <$> h)) as (log & _ & Hlog). exists (snd <$> log). intros a Ha. unfold batches.
  destruct (decide (a ∈ actor <$> h)) as [Hin|Hin]; [|unfold deliveries; rewrite idle_outputs by done; apply prefix_nil].
  destruct (Hlog a Hin Ha) as [k ->]. rewrite fmap_app. by eexists.
Qed.

Theorem one_request_log {request : Type} (demand_of : request → demand) (requests : instance → value → list request)
    (forgets : list request → request → list session) (refuses : list request → request → bool)
    (executed := executed_requests demand_of requests forgets refuses) :
  ∃ log : list request, NoDup log ∧ NoDup (omap (call_of demand_of) log) ∧
    ∀ a, installed_none a h → executed (batches a h) `prefix_of` log.
Proof.
  destruct one_log as [log Hlog]. exists (executed log). split_and!.
  - apply executed_distinct.
  - apply executed_once.
  - intros a ?%Hlog. by apply executed_prefix.
Qed.
End world.
