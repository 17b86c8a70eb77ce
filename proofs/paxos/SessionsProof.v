(* Sessions execute each request at most once and in order. The theorems are stated in StatementsSessions.v. *)
From stdpp Require Import gmap list numbers.
Require Import Prim PrimFacts Sessions.
Local Open Scope N_scope.

(* --- Any operations in any order. ------------------------------------------------------------------------------------------ *)

Inductive operation := Open | Forget (id : session) | Admit (id : session) (q : sequence).
Inductive answer := Opened (id : session) | Forgotten | Judged (v : verdict).

Definition perform (op : operation) (s : sessions) : sessions * answer :=
  match op with
  | Open => let '(s1, id) := open_session s in (s1, Opened id)
  | Forget id => (forget_session id s, Forgotten)
  | Admit id q => let '(s1, v) := admit id q s in (s1, Judged v)
  end.

Fixpoint perform_all (ops : list operation) (s : sessions) : sessions * list (operation * answer) :=
  match ops with
  | [] => (s, [])
  | op :: ops =>
    let '(s1, x) := perform op s in
    let '(s2, xs) := perform_all ops s1 in
    (s2, (op, x) :: xs)
  end.

(* The requests that were found fresh, of all sessions or of one, and the sessions that were opened. *)
Definition fresh_call (x : operation * answer) : option (session * sequence) :=
  match x with (Admit id q, Judged Fresh) => Some (id, q) | _ => None end.
Definition opened_id (x : operation * answer) : option session := match x with (_, Opened id) => Some id | _ => None end.
Definition fresh (xs : list (operation * answer)) : list (session * sequence) := omap fresh_call xs.
Definition fresh_of (id : session) (l : list (session * sequence)) : list sequence :=
  snd <$> filter (λ p, p.1 = id) l.

(* What came so far explains the state. *)
Record explains (xs : list (operation * answer)) (s : sessions) : Prop := Explains {
  ex_opened : omap opened_id xs = n_range 1 (opened s + 1);
  ex_fresh : ∀ id, ∃ k, fresh_of id (fresh xs) = n_range 1 (k + 1) ∧ (sm_get id (last s) = Some k ∨ sm_get id (last s) = None);
  ex_known : ∀ id k, sm_get id (last s) = Some k → id ≤ opened s;
  ex_unknown : ∀ id, opened s < id → fresh_of id (fresh xs) = [];
  ex_once : NoDup (fresh xs) }.

Lemma fresh_of_snoc id l p : fresh_of id (l ++ [p]) = fresh_of id l ++ (if decide (p.1 = id) then [p.2] else []).
Proof. unfold fresh_of. rewrite list.filter_app, fmap_app, filter_cons, filter_nil. by case_decide. Qed.

Lemma fresh_of_elem id q l : (id, q) ∈ l → q ∈ fresh_of id l.
Proof. intros H. apply elem_of_list_fmap. exists (id, q). split; [done|]. by apply elem_of_list_filter. Qed.

Lemma explains_start : explains [] no_sessions.
Proof.
  split.
  - symmetry. apply n_range_empty.
  - intros id. exists 0. split; [symmetry; apply n_range_empty|]. right. apply sm_get_empty.
  - intros id k. cbn. by rewrite sm_get_empty.
  - done.
  - constructor.
Qed.

(* Nothing fresh and nothing opened, and sessions only become fewer. *)
Lemma explains_quiet xs s s' x :
  fresh_call x = None → opened_id x = None → opened s' = opened s →
  (∀ id, sm_get id (last s') = sm_get id (last s) ∨ sm_get id (last s') = None) →
  explains xs s → explains (xs ++ [x]) s'.
Proof.
  intros Hf Ho He Hl [H1 H2 H3 H4 H5].
  assert (fresh (xs ++ [x]) = fresh xs) as Hx by (unfold fresh; rewrite omap_app; cbn; by rewrite Hf, app_nil_r).
  split; rewrite ?Hx, ?He; try done.
  - rewrite omap_app; cbn. by rewrite Ho, app_nil_r.
  - intros id. destruct (H2 id) as (k & ? & Hk). exists k. split; [done|]. destruct (Hl id) as [->| ->]; auto.
  - intros id k Hk. destruct (Hl id) as [E|E]; rewrite E in Hk; [eauto|done].
Qed.

Lemma explains_open xs s : explains xs s → explains (xs ++ [(Open, Opened (opened s + 1))]) (open_session s).1.
Proof.
  intros [H1 H2 H3 H4 H5].
  assert (fresh (xs ++ [(Open, Opened (opened s + 1))]) = fresh xs) as Hx
    by (unfold fresh; rewrite omap_app; cbn; by rewrite app_nil_r).
  split; rewrite ?Hx; cbn; try done.
  - rewrite omap_app, H1, (n_range_snoc 1 (opened s + 1)) by lia. done.
  - intros id. rewrite sm_get_set. case_decide as E; [|auto].
    exists 0. split; [|by left]. rewrite H4 by lia. symmetry. apply n_range_empty.
  - intros id k. rewrite sm_get_set. case_decide; [intros; lia|]. intros ?%H3. lia.
  - intros id ?. apply H4. lia.
Qed.

Lemma explains_fresh xs s id l :
  sm_get id (last s) = Some l →
  explains xs s → explains (xs ++ [(Admit id (l + 1), Judged Fresh)]) {| opened := opened s; last := sm_set id (l + 1) (last s) |}.
Proof.
  intros Hl [H1 H2 H3 H4 H5].
  assert (fresh (xs ++ [(Admit id (l + 1), Judged Fresh)]) = fresh xs ++ [(id, l + 1)]) as Hx
    by (unfold fresh; by rewrite omap_app).
  assert (fresh_of id (fresh xs) = n_range 1 (l + 1)) as Hid.
  { destruct (H2 id) as (k & ? & [?|?]); congruence. }
  split; rewrite ?Hx; cbn.
  - by rewrite omap_app, H1; cbn; rewrite app_nil_r.
  - intros j. rewrite fresh_of_snoc, sm_get_set; cbn. destruct (decide (id = j)) as [<-|].
    + exists (l + 1). rewrite !decide_True by done. split; [|by left]. rewrite Hid. symmetry. apply n_range_snoc. lia.
    + rewrite !decide_False, app_nil_r by congruence. auto.
  - intros j k. rewrite sm_get_set. case_decide; [subst; intros _; eauto|eauto].
  - intros j Hj. rewrite fresh_of_snoc; cbn. apply H3 in Hl. rewrite decide_False by lia. rewrite app_nil_r. auto.
  - apply NoDup_app. split; [done|]. split; [|apply NoDup_singleton].
    intros p Hp ->%elem_of_list_singleton. apply fresh_of_elem in Hp. rewrite Hid in Hp. apply n_range_elem in Hp. lia.
Qed.

Lemma explains_perform xs s op :
  explains xs s → explains (xs ++ [(op, (perform op s).2)]) (perform op s).1.
Proof.
  intros H. destruct op as [|id|id q]; cbn.
  - by apply explains_open.
  - apply (explains_quiet xs s); try done. intros j. cbn. rewrite sm_get_remove. case_decide; auto.
  - unfold admit. destruct (sm_get id (last s)) as [l|] eqn:E; cbn; [|by apply (explains_quiet xs s); auto].
    destruct (q =? l + 1) eqn:E1; cbn; [apply N.eqb_eq in E1 as ->; by apply explains_fresh|].
    destruct (q <=? l); cbn; by apply (explains_quiet xs s); auto.
Qed.

Lemma explains_all xs s ops :
  explains xs s → explains (xs ++ (perform_all ops s).2) (perform_all ops s).1.
Proof.
  revert xs s. induction ops as [|op ops IH]; intros xs s H; cbn; [by rewrite app_nil_r|].
  apply (explains_perform _ _ op) in H. destruct (perform op s) as [s1 x]; cbn in H.
  apply IH in H. destruct (perform_all ops s1) as [s2 xs2]; cbn in *. by rewrite <- assoc_L in H by apply _.
Qed.

Theorem explains_run ops : explains (perform_all ops no_sessions).2 (perform_all ops no_sessions).1.
Proof. apply (explains_all [] no_sessions), explains_start. Qed.

Lemma fresh_range ops id : ∃ k, fresh_of id (fresh (perform_all ops no_sessions).2) = n_range 1 (k + 1).
Proof. destruct (ex_fresh _ _ (explains_run ops) id) as (k & ? & _). eauto. Qed.

Lemma opened_nodup ops : NoDup (omap opened_id (perform_all ops no_sessions).2).
Proof. rewrite (ex_opened _ _ (explains_run ops)). apply n_range_nodup. Qed.
