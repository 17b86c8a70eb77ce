(* What the proofs use of the primitives; nothing else here unfolds them. *)
From stdpp Require Import gmap list numbers fin_sets.
Require Import Prim.
Local Open Scope N_scope.

(* --- Maps from instances. -------------------------------------------------------------------------------------------- *)

Section maps.
Context {V : Type}.
Implicit Types (m : imap V) (i k : N).

Lemma im_get_empty i : im_get i (im_empty : imap V) = None.
Proof. apply (lookup_empty (M := gmap N)). Qed.

Lemma im_get_set i j (x : V) m : im_get j (im_set i x m) = if decide (j = i) then Some x else im_get j m.
Proof.
  unfold im_get, im_set. case_decide as H.
  - subst. apply (lookup_insert (M := gmap N)).
  - by apply (lookup_insert_ne (M := gmap N)).
Qed.

Lemma im_get_set_Some i j (x y : V) m :
  im_get j (im_set i x m) = Some y ↔ (j = i ∧ y = x) ∨ (j ≠ i ∧ im_get j m = Some y).
Proof. rewrite im_get_set. case_decide; naive_solver. Qed.

Lemma im_get_drop i k m : im_get i (im_drop_below k m) = if decide (k ≤ i) then im_get i m else None.
Proof.
  assert (∀ m : gmap N V, filter (λ p, k ≤ p.1) m !! i = if decide (k ≤ i) then m !! i else None) as H; [|apply H].
  clear m. intros m. case_decide as H.
  - destruct (m !! i) as [x|] eqn:E; rewrite ?map_filter_lookup_Some, ?map_filter_lookup_None; auto.
  - rewrite map_filter_lookup_None. right. cbn. auto.
Qed.

Lemma im_get_drop_Some i k (x : V) m : im_get i (im_drop_below k m) = Some x ↔ k ≤ i ∧ im_get i m = Some x.
Proof. rewrite im_get_drop. case_decide; naive_solver. Qed.

Lemma im_has_true i m : im_has i m = true ↔ is_Some (im_get i m).
Proof. apply bool_decide_eq_true. Qed.

Lemma im_has_false i m : im_has i m = false ↔ im_get i m = None.
Proof. unfold im_has. rewrite bool_decide_eq_false, eq_None_not_Some. done. Qed.

Lemma im_ext m m' : (∀ i, im_get i m = im_get i m') → m = m'.
Proof. apply (map_eq (M := gmap N)). Qed.
End maps.

(* --- Ranges. --------------------------------------------------------------------------------------------------------- *)

Lemma n_range_elem lo hi i : i ∈ n_range lo hi ↔ lo ≤ i < hi.
Proof.
  unfold n_range. rewrite elem_of_list_fmap. setoid_rewrite elem_of_seq. split.
  - intros (k & -> & ?). lia.
  - intros ?. exists (N.to_nat i). lia.
Qed.

Lemma n_range_length lo hi : N.of_nat (length (n_range lo hi)) = hi - lo.
Proof. unfold n_range. rewrite fmap_length, seq_length. lia. Qed.

Lemma n_range_snoc lo hi : lo ≤ hi → n_range lo (hi + 1) = n_range lo hi ++ [hi].
Proof.
  intros H. unfold n_range. replace (N.to_nat (hi + 1 - lo)) with (S (N.to_nat (hi - lo))) by lia.
  rewrite seq_S, fmap_app. cbn. repeat f_equal. lia.
Qed.

Lemma n_range_cons lo hi : lo < hi → n_range lo hi = lo :: n_range (lo + 1) hi.
Proof.
  intros H. unfold n_range. replace (N.to_nat (hi - lo)) with (S (N.to_nat (hi - (lo + 1)))) by lia.
  cbn. rewrite N2Nat.id. repeat f_equal. lia.
Qed.

Lemma n_range_empty lo : n_range lo lo = [].
Proof. unfold n_range. by rewrite N.sub_diag. Qed.

Lemma n_range_nodup lo hi : NoDup (n_range lo hi).
Proof. apply NoDup_fmap_2; [|apply NoDup_seq]. intros a b ?. lia. Qed.

Lemma im_range_elem {V} lo hi (m : imap V) i x :
  (i, x) ∈ im_range lo hi m ↔ lo ≤ i < hi ∧ im_get i m = Some x.
Proof.
  unfold im_range. rewrite elem_of_list_omap. setoid_rewrite n_range_elem. unfold im_get. split.
  - intros (j & Hj & H). destruct (_ !! j) eqn:E; cbn in H; naive_solver.
  - intros [Hi H]. exists i. by rewrite H.
Qed.

Lemma im_range_length {V} lo hi (m : imap V) : N.of_nat (length (im_range lo hi m)) ≤ hi - lo.
Proof.
  unfold im_range. rewrite <- n_range_length. induction (n_range lo hi) as [|i l IH]; cbn; [lia|].
  destruct (_ !! i); cbn; lia.
Qed.

(* --- Sets of replicas. ----------------------------------------------------------------------------------------------- *)

Lemma ns_elem_add a x s : x ∈ ns_add a s ↔ x = a ∨ x ∈ s.
Proof. unfold ns_add, nset in *. set_solver. Qed.

Lemma ns_not_elem_empty x : x ∉ ns_empty.
Proof. unfold ns_empty, nset. set_solver. Qed.

Lemma ns_mem_true a s : ns_mem a s = true ↔ a ∈ s.
Proof. apply bool_decide_eq_true. Qed.

Lemma set_size_le (lo hi : N) (X : gset N) : (∀ x, x ∈ X → lo ≤ x < hi) → N.of_nat (size X) ≤ hi - lo.
Proof.
  intros H. rewrite <- n_range_length.
  assert (size X ≤ size (list_to_set (n_range lo hi) : gset N))%nat as HX.
  { apply subseteq_size. intros x Hx. by apply elem_of_list_to_set, n_range_elem, H. }
  rewrite size_list_to_set in HX by apply n_range_nodup. lia.
Qed.

Lemma ns_size_le n s : (∀ x, x ∈ s → x < n) → ns_size s ≤ n.
Proof.
  intros H. transitivity (n - 0); [|lia]. apply set_size_le. intros x Hx. specialize (H x Hx). lia.
Qed.

(* How many keys a map has. *)
Definition im_size {V} (m : imap V) : N := N.of_nat (size (m : gmap N V)).

Lemma im_size_le {V} lo hi (m : imap V) : (∀ i x, im_get i m = Some x → lo ≤ i < hi) → im_size m ≤ hi - lo.
Proof.
  intros H. unfold im_size. rewrite <- (size_dom (D := gset N)). apply set_size_le.
  intros i [x Hx]%elem_of_dom. by apply H in Hx.
Qed.

(* --- Maps from sessions. --------------------------------------------------------------------------------------------- *)

Lemma sm_get_empty {V} i : sm_get i (sm_empty : smap V) = None.
Proof. apply (lookup_empty (M := gmap N)). Qed.

Lemma sm_get_set {V} i j (x : V) m : sm_get j (sm_set i x m) = if decide (j = i) then Some x else sm_get j m.
Proof.
  unfold sm_get, sm_set. case_decide as H.
  - subst. apply (lookup_insert (M := gmap N)).
  - by apply (lookup_insert_ne (M := gmap N)).
Qed.

Lemma sm_get_remove {V} i j (m : smap V) : sm_get j (sm_remove i m) = if decide (j = i) then None else sm_get j m.
Proof.
  unfold sm_get, sm_remove. case_decide as H.
  - subst. apply (lookup_delete (M := gmap N)).
  - by apply (lookup_delete_ne (M := gmap N)).
Qed.
