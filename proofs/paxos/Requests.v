(* Which requests a replica executes of those that are delivered to it: the sessions decide. The theorems are stated in
   StatementsSessions.v. *)
From stdpp Require Import gmap list numbers.
Require Import Prim PrimFacts Model Sessions SessionsProof.
Local Open Scope N_scope.

Section requests.
(* What requests are, and which ones a batch holds as instance i, is none of our business: a request may have its instance in
   it, and bytes that are none may be skipped. Before a request is looked at some sessions may be forgotten, and it may be turned
   away as not coming from whoever opened its session; both are any functions of it and of all requests that came before. *)
Context {request : Type} (demand_of : request → demand) (requests : instance → value → list request).
Context (forgets : list request → request → list session) (refuses : list request → request → bool).

(* Some sessions are forgotten, then r takes its turn. Is it executed? *)
Definition forget_all (ids : list session) (s : sessions) : sessions := fold_left (λ s id, forget_session id s) ids s.
Definition turn_of (past : list request) (r : request) (s : sessions) : sessions * turn :=
  take_turn (negb (refuses past r)) (demand_of r) (forget_all (forgets past r) s).
Definition judge (past : list request) (r : request) (s : sessions) : sessions * bool :=
  let '(s1, t) := turn_of past r s in (s1, match t with Turn_Run => true | _ => false end).

(* The requests of rs that are executed, in their order, if [past] came before and left the sessions s. *)
Fixpoint executed_from (s : sessions) (past rs : list request) : list request :=
  match rs with
  | [] => []
  | r :: rs =>
    let '(s1, run) := judge past r s in
    (if run : bool then [r] else []) ++ executed_from s1 (past ++ [r]) rs
  end.

(* The requests in these batches, which are delivered as the instances i, i + 1, ... *)
Fixpoint requests_in (i : instance) (batches : list value) : list request :=
  match batches with [] => [] | v :: batches => requests i v ++ requests_in (i + 1) batches end.

(* The requests that a replica executes if these batches are delivered to it, one after the other from the first instance on. *)
Definition executed_requests (batches : list value) : list request := executed_from no_sessions [] (requests_in 0 batches).

(* As what a request is executed. *)
Definition call_of (r : request) : option (session * sequence) :=
  match demand_of r with Opens => None | Calls id q => Some (id, q) end.

(* --- A prefix of the batches gives a prefix of the requests. --------------------------------------------------------------- *)

Lemma executed_from_app s past rs rs' :
  ∃ s', executed_from s past (rs ++ rs') = executed_from s past rs ++ executed_from s' (past ++ rs) rs'.
Proof.
  revert s past. induction rs as [|r rs IH]; intros s past; cbn.
  - exists s. by rewrite app_nil_r.
  - destruct (judge past r s) as [s1 run]. destruct (IH s1 (past ++ [r])) as (s' & ->). exists s'.
    by rewrite <- !assoc_L by apply _.
Qed.

Lemma requests_in_app i vs vs' :
  requests_in i (vs ++ vs') = requests_in i vs ++ requests_in (i + N.of_nat (length vs)) vs'.
Proof.
  revert i. induction vs as [|v vs IH]; intros i; cbn [app requests_in length].
  - f_equal. lia.
  - rewrite IH, app_assoc. do 2 f_equal. lia.
Qed.

Lemma executed_prefix vs vs' : vs `prefix_of` vs' → executed_requests vs `prefix_of` executed_requests vs'.
Proof.
  intros [k ->]. unfold executed_requests. rewrite requests_in_app.
  destruct (executed_from_app no_sessions [] (requests_in 0 vs) (requests_in (0 + N.of_nat (length vs)) k)) as (s' & ->).
  by eexists.
Qed.

Lemma executed_from_sublist s past rs : executed_from s past rs `sublist_of` rs.
Proof.
  revert s past. induction rs as [|r rs IH]; intros s past; cbn; [done|].
  destruct (judge past r s) as [s1 []]; cbn; by constructor.
Qed.

(* --- What is executed is what the sessions find fresh. ---------------------------------------------------------------------- *)

(* What a request does to the sessions. *)
Definition operations (past : list request) (r : request) : list operation :=
  (Forget <$> forgets past r) ++
  match demand_of r with Opens => [Open] | Calls id q => if refuses past r then [] else [Admit id q] end.

Fixpoint operations_from (past rs : list request) : list operation :=
  match rs with [] => [] | r :: rs => operations past r ++ operations_from (past ++ [r]) rs end.

Lemma perform_app ops ops' s :
  perform_all (ops ++ ops') s =
  ((perform_all ops' (perform_all ops s).1).1, (perform_all ops s).2 ++ (perform_all ops' (perform_all ops s).1).2).
Proof.
  revert s. induction ops as [|op ops IH]; intros s; cbn; [by destruct (perform_all ops' s)|].
  destruct (perform op s) as [s1 x]. rewrite IH. destruct (perform_all ops s1) as [s2 xs]; cbn. by destruct (perform_all _ _).
Qed.

Lemma perform_forgets ids s :
  (perform_all (Forget <$> ids) s).1 = forget_all ids s ∧ fresh (perform_all (Forget <$> ids) s).2 = [].
Proof.
  revert s. induction ids as [|id ids IH]; intros s; cbn; [done|].
  destruct (IH (forget_session id s)) as [H1 H2]. by destruct (perform_all _ _).
Qed.

Lemma judge_fresh past r s :
  (perform_all (operations past r) s).1 = (judge past r s).1 ∧
  fresh (perform_all (operations past r) s).2 = omap call_of (if (judge past r s).2 then [r] else []).
Proof.
  unfold operations, judge, turn_of, take_turn, fresh. rewrite perform_app; cbn.
  destruct (perform_forgets (forgets past r) s) as [-> H]. unfold fresh in H. rewrite omap_app, H.
  destruct (demand_of r) as [|id q] eqn:E; cbn; [done|]. destruct (refuses past r); cbn; [done|].
  destruct (admit id q (forget_all _ s)) as [s2 []]; cbn; rewrite ?E; try done. unfold call_of. by rewrite E.
Qed.

Lemma executed_fresh s past rs :
  fresh (perform_all (operations_from past rs) s).2 = omap call_of (executed_from s past rs).
Proof.
  revert s past. induction rs as [|r rs IH]; intros s past; cbn; [done|].
  rewrite perform_app; cbn. destruct (judge_fresh past r s) as [H1 H2]. unfold fresh in *. rewrite omap_app, H1, H2, IH.
  destruct (judge past r s) as [s1 run]; cbn. by rewrite omap_app.
Qed.

(* Whatever is executed is a call. *)
Lemma judge_call past r s : (judge past r s).2 = true → is_Some (call_of r).
Proof. unfold judge, turn_of, call_of. destruct (demand_of r); cbn; [done|eauto]. Qed.

Lemma executed_calls s past rs : Forall (λ r, is_Some (call_of r)) (executed_from s past rs).
Proof.
  revert s past. induction rs as [|r rs IH]; intros s past; cbn; [done|].
  pose proof (judge_call past r s) as H. destruct (judge past r s) as [s1 []]; cbn in *; [constructor; auto|auto].
Qed.

Lemma executed_once vs : NoDup (omap call_of (executed_requests vs)).
Proof. unfold executed_requests. rewrite <- executed_fresh. apply (ex_once _ _ (explains_run _)). Qed.

Lemma omap_nodup (l : list request) : Forall (λ r, is_Some (call_of r)) l → NoDup (omap call_of l) → NoDup l.
Proof.
  induction l as [|r l IH]; intros HF HN; [constructor|]. inversion_clear HF as [|? ? [p Hp] HF'].
  cbn in HN. rewrite Hp in HN. apply list.NoDup_cons in HN as [HN1 HN2]. constructor; [|auto].
  intros Hr. apply HN1, elem_of_list_omap. eauto.
Qed.

Lemma executed_distinct vs : NoDup (executed_requests vs).
Proof. apply omap_nodup; [apply executed_calls|apply executed_once]. Qed.

Lemma executed_consecutive vs id : ∃ k, fresh_of id (omap call_of (executed_requests vs)) = n_range 1 (k + 1).
Proof. unfold executed_requests. rewrite <- executed_fresh. apply fresh_range. Qed.
End requests.
