(* Every state that a service is in, and every snapshot that is kept, sent or installed, is what a beginning of the log makes
   of the first state: although replicas crash, and if services give their replicas true snapshots. *)
From stdpp Require Import gmap list numbers sets.
Require Import Prim PrimFacts Model Network Release ReleaseProof Replay SafetyChosen SafetyStep SafetyAcceptor SafetyProposer SafetyCrash
  Crash CrashJournal CrashSafety Service.
Local Open Scope N_scope.

(* --- One step, as the service and the snapshot see it. ---------------------------------------------------------- *)

(* Nothing for the service. *)
Definition idle (outs : list output) : Prop :=
  ∀ o, o ∈ outs → match o with Output_Deliver _ _ | Output_Install _ _ => False | _ => True end.

Inductive hands (e : event) (s s' : state) (outs : list output) : Prop :=
| hands_nothing : idle outs → executed s' = executed s → hands e s s' outs
| hands_next v : outs = [Output_Deliver (executed s) v] → executed s' = executed s + 1 → hands e s s' outs
| hands_image src k x : e = Event_Receive src (Message_Snapshot k x) →
    outs = [Output_Journal (Record_Install k x); Output_Install k x] → executed s' = k → hands e s s' outs.

(* The snapshot that s' keeps is that of s, or new. *)
Definition keeps_snapshot (e : event) (s s' : state) : Prop :=
  (snapshot_at s' = snapshot_at s ∧ snapshot s' = snapshot s) ∨
  e = Event_Snapshot (snapshot_at s') (snapshot s') ∨
  ∃ src, e = Event_Receive src (Message_Snapshot (snapshot_at s') (snapshot s')).
(* And it sends no other than that of s. *)
Definition sends_own (s : state) (outs : list output) : Prop :=
  ∀ k x, sends outs (Message_Snapshot k x) → k = snapshot_at s ∧ x = snapshot s.

Ltac idle := intros ? ?; outs; by subst.
Ltac own := intros ? ? ?; outs.
(* The tail of a handler that keeps executed and snapshot, and whose outputs are listed. *)
Ltac easy := split_and!; [apply hands_nothing; [idle|done]|by left|own].

Lemma on_learned_keeps c ds s : executed (fold_left (learn c) ds s) = executed s ∧
  snapshot_at (fold_left (learn c) ds s) = snapshot_at s ∧ snapshot (fold_left (learn c) ds s) = snapshot s.
Proof. by destruct (learn_all c ds s) as (d & -> & _). Qed.

Lemma step_service c a e s s' outs : step c a e s = (s', outs) →
  hands e s s' outs ∧ keeps_snapshot e s s' ∧ sends_own s outs.
Proof.
  destruct e as [src m|v| | | |dst hi|k x|k]; simpl.
  - destruct m as [b k|b k votes|b i v|b i|b i|b|b i|lo hi|ds|k x|k|v]; simpl.
    + unfold on_prepare. repeat case_match; intros [= <- <-]; easy.
    + unfold on_promise. repeat case_match; intros [= <- <-]; try easy. split_and!; [apply hands_nothing|by left|].
      * by intros o (i & _ & _ & ->)%in_reproposals.
      * done.
      * by intros k0 x (i & _ & _ & ?)%sends_reproposals.
    + unfold on_propose, accept. repeat case_match; intros [= <- <-]; easy.
    + unfold on_accept. repeat case_match; intros [= <- <-]; easy.
    + unfold on_commit. repeat case_match; intros [= <- <-]; easy.
    + unfold on_ballot. repeat case_match; intros [= <- <-]; easy.
    + unfold on_ballot. repeat case_match; intros [= <- <-]; easy.
    + unfold on_query. case_match; intros [= <- <-]; [|easy]. split_and!; [apply hands_nothing; [idle|done]|by left|].
      intros k x Hm. outs. by injection Hm.
    + intros [= <- <-]. destruct (on_learned_keeps c ds s) as (? & ? & ?).
      split_and!; [apply hands_nothing; [idle|done]|by left|own].
    + unfold on_snapshot. case_match; intros [= <- <-]; [|easy].
      split_and!; [by eapply hands_image|right; right; by exists src|own].
    + intros [= <- <-]. easy.
    + unfold on_forward, propose. repeat case_match; intros [= <- <-]; easy.
  - unfold on_request, propose. repeat case_match; intros [= <- <-]; easy.
  - unfold on_suspect. repeat case_match; intros [= <- <-]; easy.
  - intros [= <- <-]. easy.
  - unfold on_execute. case_match; intros [= <- <-]; [|easy]. split_and!; [by eapply hands_next|by left|own].
  - unfold on_catch_up. repeat case_match; intros [= <- <-]; easy.
  - unfold on_taken. repeat case_match; intros [= <- <-]; try easy.
    split_and!; [apply hands_nothing; [idle|done]|right; by left|own].
  - unfold on_truncate. repeat case_match; intros [= <- <-]; easy.
Qed.

(* --- Beginnings of the log. ------------------------------------------------------------------------------------- *)

Section images.
Context (c : config) (apply : image → value → image).
Notation folds h p := (folds apply c h p.1 p.2).
Notation serve := (serve apply).
Notation served := (served apply).

Lemma log_prefix_mono x h vs : log_prefix c h vs → log_prefix c (x :: h) vs.
Proof. intros H i v Hv. by apply chosen_mono, H. Qed.
Lemma folds_mono x h p : folds h p → folds (x :: h) p.
Proof. intros (vs & ? & ?). exists vs. split; [by apply log_prefix_mono|done]. Qed.
Lemma folds_start h : folds h (0, blank).
Proof. exists []. split_and!; [|done..]. by intros i v ?. Qed.
Lemma folds_next h p v : folds h p → chosen c h p.1 v → folds h (serve p (Output_Deliver p.1 v)).
Proof.
  intros (vs & Hvs & Hlen & Hp) Hv. exists (vs ++ [v]). split_and!.
  - intros i u [Hu|[? Hu]]%lookup_app_Some; [by apply Hvs|].
    apply list_lookup_singleton_Some in Hu as [Hi ->]. by replace (N.of_nat i) with p.1 by lia.
  - rewrite app_length. simpl. lia.
  - unfold replays. rewrite foldl_app. simpl. by rewrite Hp.
Qed.

(* --- What an action hands to the service. ----------------------------------------------------------------------- *)

Lemma idle_serve p outs : idle outs → foldl serve p outs = p.
Proof.
  revert p. induction outs as [|o l IH]; intros p H; [done|]. simpl.
  assert (serve p o = p) as -> by (specialize (H o (elem_of_list_here _ _)); by destruct o).
  apply IH. intros o' ?. apply H. by right.
Qed.
Lemma idle_sub outs outs' : outs' ⊆ outs → idle outs → idle outs'.
Proof. intros Hs H o Ho. by apply H, Hs. Qed.
Lemma idle_waits outs : (∀ o, o ∈ outs → must_wait o = true) → idle outs.
Proof. intros H o Ho. specialize (H o Ho). by destruct o. Qed.

Lemma prefix_app_or {A} (l l1 l2 : list A) : l `prefix_of` l1 ++ l2 → l `prefix_of` l1 ∨ ∃ t, l = l1 ++ t ∧ t `prefix_of` l2.
Proof.
  intros [k Hk]. apply app_eq_inv in Hk as [(t & -> & ->)|(t & -> & ->)]; [left; by exists t|right].
  exists t. split; [done|by exists k].
Qed.

(* The service was in good states, and goes on through good ones. *)
Definition good (h : history) (a : replica) : Prop := ∀ outs, outs `prefix_of` outputs_of a h → folds h (served outs).

Lemma good_action h a x r outs : good h a →
  (x = a → ∀ t, t `prefix_of` outs → folds (Action x r outs :: h) (foldl serve (served (outputs_of a h)) t)) →
  good (Action x r outs :: h) a.
Proof.
  intros Hg Ho l. rewrite outputs_of_cons. simpl. case_decide as E.
  - intros [Hl|(t & -> & Ht)]%prefix_app_or; [by apply folds_mono, Hg|].
    unfold served. rewrite foldl_app. by apply Ho.
  - rewrite app_nil_r. intros. by apply folds_mono, Hg.
Qed.
Lemma good_here h a : good h a → folds h (served (outputs_of a h)).
Proof. intros H. by apply H. Qed.

(* --- The invariant. --------------------------------------------------------------------------------------------- *)

Record image_inv (w : cluster) : Prop := ImageInv {
  s_served : ∀ a, good (story w) a;
  s_position : ∀ a, (served (outputs_of a (story w))).1 = executed (live (machine_of w a));
  s_memory : ∀ a k, (durable (machine_of w a) ≤ k)%nat →
    let s := memory c (machine_of w a) k in folds (story w) (snapshot_at s, snapshot s);
  s_sent : ∀ a k x, sent (story w) a (Message_Snapshot k x) → folds (story w) (k, x) }.

Lemma s_live w a : occurs c w → image_inv w → let s := live (machine_of w a) in folds (story w) (snapshot_at s, snapshot s).
Proof.
  intros Ho S. pose proof (ci_machine _ _ (occurs_inv _ _ Ho) a) as M.
  pose proof (s_memory _ S a (length (recorded (machine_of w a))) (mi_durable _ _ _ _ M)) as H.
  rewrite memory_all, (mi_live _ _ _ _ M) in H by done. exact H.
Qed.

(* An action of a, given what it does to a itself. *)
Lemma image_action w a r m outs : image_inv w → let w' := acts w a r m outs in
  (∀ t, t `prefix_of` outs → folds (story w') (foldl serve (served (outputs_of a (story w))) t)) →
  (foldl serve (served (outputs_of a (story w))) outs).1 = executed (live m) →
  (∀ k, (durable m ≤ k)%nat → folds (story w') (snapshot_at (memory c m k), snapshot (memory c m k))) →
  (∀ k x, sends outs (Message_Snapshot k x) → folds (story w') (k, x)) →
  image_inv w'.
Proof.
  intros [S1 S2 S3 S4] w' H1 H2 H3 H4. split; simpl.
  - intros x. apply good_action; [apply S1|]. by intros <-.
  - intros x. rewrite outputs_of_cons. simpl. unfold served. rewrite foldl_app.
    destruct (decide (a = x)) as [->|Hx]; [by rewrite !decide_True by done|]. rewrite !decide_False by congruence. apply S2.
  - intros x k. case_decide as E; [subst; apply H3|]. intros. by apply (folds_mono _ _ (_, _)), S3.
  - intros x k y [[-> ?]|?]%sent_cons; [by apply H4|]. by eapply (folds_mono _ _ (_, _)), S4.
Qed.

Section actions.
Context (w : cluster) (a : replica) (occurred : occurs c w) (S : image_inv w).
Notation m := (machine_of w a).
Let M := ci_machine _ _ (occurs_inv _ _ occurred) a.
Let here := good_here _ _ (s_served _ S a).

Lemma idle_prefix h outs : idle outs → folds h (served (outputs_of a (story w))) →
  ∀ t, t `prefix_of` outs → folds h (foldl serve (served (outputs_of a (story w))) t).
Proof.
  intros Hi Hh t [k ->]. rewrite idle_serve; [done|]. eapply idle_sub, Hi. intros o Ho. apply elem_of_app. by left.
Qed.

Lemma image_event e s outs : possible (story w) e →
  match e with Event_Snapshot k y => was_in apply (story w) a k y | _ => True end →
  step c a e (live m) = (s, outs) →
  image_inv (acts w a (Took e) (advance s outs m) (performed outs m)).
Proof.
  intros Hp Hhon Hs. pose proof (occurs_event c w a e s outs occurred Hp Hs) as Ho'.
  destruct (step_service c a e (live m) s outs Hs) as (Hh & Hk & Hown).
  set (w' := acts w a (Took e) (advance s outs m) (performed outs m)) in *.
  assert (Hmono : ∀ p, folds (story w) p → folds (story w') p) by (intros; by apply folds_mono).
  assert (Hrecv : ∀ src k x, e = Event_Receive src (Message_Snapshot k x) → folds (story w) (k, x)).
  { intros src k x ->. by apply (s_sent _ S src). }
  assert (Hsnap : folds (story w) (snapshot_at s, snapshot s)).
  { destruct Hk as [[-> ->]|[E|[src E]]]; [by apply s_live| |by apply (Hrecv src)].
    rewrite E in Hhon. destruct Hhon as (outs0 & H0 & E0). pose proof (s_served _ S a _ H0) as H. by rewrite E0 in H. }
  pose proof (s_position _ S a) as Hpos.
  assert (Hsub : performed outs m ⊆ outs).
  { destruct (pass_step outs (released m)) as (later & _ & Hnow & _); [|pose proof (mi_synced _ _ _ _ M); lia|done].
    replace outs with (step c a e (live m)).2 by (by rewrite Hs). apply record_leads. }
  apply image_action; [done|..]; simpl.
  - destruct Hh as [Hi _|v -> _|src k x -> -> _].
    + apply idle_prefix; [by eapply idle_sub|by apply Hmono].
    + intros t [k Ht]. destruct t as [|o [|]]; simpl in Ht; [by apply Hmono| |done]. injection Ht as <- _.
      pose proof (folds_next (story w') (served (outputs_of a (story w))) v (Hmono _ here)) as Hn. rewrite Hpos in Hn.
      apply Hn, (crash_delivered_chosen c w' Ho' a), emitted_cons. left. split; [done|]. by left.
    + intros t [t' Ht]. destruct t as [|o [|o' [|]]]; simpl in Ht; [by apply Hmono|..|done].
      * injection Ht as <- _. by apply Hmono.
      * injection Ht as <- <- _. by apply Hmono, (Hrecv src).
  - destruct Hh as [Hi ->|v -> ->|src k x -> -> ->]; [|done..].
    by rewrite idle_serve by (by eapply idle_sub).
  - intros k Hd. apply (Hmono (_, _)). rewrite (memory_advance c a (cluster_view c w) m e s outs M Hs
      (i_replica _ _ (ci_view _ _ (occurs_inv _ _ occurred)) a)). case_decide; [by apply (s_memory _ S a)|exact Hsnap].
  - intros k x Hx. apply (Hmono (_, _)). apply (sends_sub _ outs) in Hx; [|done]. destruct (Hown k x Hx) as [-> ->].
    by apply s_live.
Qed.

Lemma image_sync k : (durable m ≤ k ≤ length (recorded m))%nat → image_inv (acts w a Synced (sync k m) []).
Proof.
  intros Hk. apply image_action; [done|..]; simpl.
  - intros t ->%prefix_nil_inv. by apply folds_mono.
  - apply S.
  - intros j Hj. apply (folds_mono _ _ (_, _)), (s_memory _ S a). lia.
  - by intros j x ?%sends_nil.
Qed.
Lemma image_report k : true_report k m → image_inv (acts w a Synced (informed k m) (let_go k m)).
Proof.
  intros Ht. destruct (report_true c a _ m k M Ht) as (_ & _ & Hgone).
  assert (Hw : ∀ o, o ∈ let_go k m → must_wait o = true).
  { intros o (d & Hd & <- & _)%Hgone. by destruct (mi_waiting _ _ _ _ M d Hd) as (_ & ? & _). }
  apply image_action; [done|..]; simpl.
  - apply idle_prefix; [by apply idle_waits|by apply folds_mono].
  - rewrite idle_serve by (by apply idle_waits). apply S.
  - intros j Hj. by apply (folds_mono _ _ (_, _)), (s_memory _ S a).
  - intros j x [H%Hw|[d H%Hw]]; done.
Qed.
Lemma image_shorten : image_inv (acts w a Synced (shorten c m) []).
Proof.
  apply image_action; [done|..].
  - intros t ->%prefix_nil_inv. by apply folds_mono.
  - apply S.
  - intros k Hk. rewrite (memory_shorten c a _ m k M Hk). apply (folds_mono _ _ (_, _)), (s_memory _ S a). lia.
  - by intros k x ?%sends_nil.
Qed.
Lemma image_crash : image_inv (acts w a Crashed (crash c m) (reset (crash c m))).
Proof.
  destruct (mi_memory _ _ _ _ M (durable m)) as (_ & _ & Hr); [done|].
  pose proof (s_memory _ S a (durable m) ltac:(done)) as Hm.
  apply image_action; [done|..].
  - intros t [t' Ht]. destruct t as [|o [|]]; simpl in Ht; [by apply folds_mono| |done]. injection Ht as <- _.
    by apply folds_mono.
  - change (snapshot_at (memory c m (durable m)) = executed (memory c m (durable m))). by rewrite <- Hr.
  - intros k. rewrite durable_crash by apply M. intros Hk. rewrite memory_crash by done. by apply folds_mono.
  - intros k x Hx. unfold reset in Hx. outs.
Qed.
End actions.

Theorem occurs_images w : occurs c w → honest apply (story w) → image_inv w.
Proof.
  induction 1 as [|w a e s outs Ho IH Hp Hs|w a k Ho IH Hk|w a k Ho IH Hk|w a Ho IH|w a Ho IH]; intros [Hh Hr] || intros _.
  - split.
    + intros a l ->%prefix_nil_inv. apply folds_start.
    + done.
    + intros a [|k] _; apply folds_start.
    + by intros a k x ?%sent_nil.
  - by apply image_event; auto.
  - by apply image_sync; auto.
  - by apply image_report; auto.
  - by apply image_shorten; auto.
  - by apply image_crash; auto.
Qed.
End images.
