(* What else may happen to a replica that keeps a journal preserves the invariant too: that more becomes durable, upon which
   outputs leave that waited for it, and that the replica crashes. *)
From stdpp Require Import gmap list numbers sets.
Require Import Prim Model Network SafetyChosen SafetyStep.
Local Open Scope N_scope.

(* What a message that had to wait rests on: a replica that will remember s may send it. *)
Definition secured (h : history) (s : state) (m : message) : Prop :=
  match m with
  | Message_Accept b i => vote_kept h s b i
  | Message_Promise b _ _ | Message_Prepare b _ => b ≤ promised s
  | _ => True
  end.

Lemma secured_mono x h s m : secured h s m → secured (x :: h) s m.
Proof. destruct m; simpl; auto using vote_kept_mono. Qed.
Lemma secured_extends h s s' m : extends s s' → secured h s m → secured h s' m.
Proof. intros E. pose proof (ex_promised _ _ E). destruct m; simpl; try lia. by apply vote_kept_extends. Qed.

Section crash.
Context (c : config) (v v' : view) (a : replica) (I : inv c v).
Notation n := (config_replicas c).

(* --- More becomes durable: a will remember r, and puts out now, which it held back. ----------------------------- *)

Record syncs (r : state) (now : list output) : Prop := Syncs {
  y_said : said v' = Action a Synced now :: said v;
  y_current : ∀ x, current v' x = current v x;
  y_remembered : ∀ x, remembered v' x = if decide (x = a) then r else remembered v x;
  y_held : ∀ x, held v' x ⊆ held v x;
  y_extends : extends (remembered v a) r;
  y_ahead : promised r ≤ promised (current v a);
  y_now : now ⊆ held v a;
  y_secured : ∀ m, sends now m → secured (said v) r m }.

Section sync.
Context (r : state) (now : list output) (Y : syncs r now).

Lemma y_remembered_extends x : extends (remembered v x) (remembered v' x).
Proof.
  rewrite (y_remembered _ _ Y). case_decide; [subst; apply Y|]. split; [done..|]. intros i e He. right. by exists e.
Qed.
Lemma y_used b : used c v b → used c v' b.
Proof. unfold used. pose proof (ex_promised _ _ (y_remembered_extends (owner n b))). lia. Qed.
Lemma y_now_waits m : sends now m → waits m = true.
Proof.
  assert (H : ∀ o, o ∈ now → ∃ m, waits m = true ∧ (o = Output_Broadcast m ∨ ∃ dst, o = Output_Send dst m)).
  { intros o Ho. by apply (i_held _ _ I a), (y_now _ _ Y). }
  intros [Hm|[d Hm]]; destruct (H _ Hm) as (m' & ? & [E|[? E]]); congruence.
Qed.
Lemma y_sent x m : sent (said v') x m → sent (said v) x m ∨ x = a ∧ sends now m ∧ sends (held v a) m.
Proof.
  rewrite (y_said _ _ Y), sent_cons. intros [[-> H]|?]; [right|by left]. split_and!; [done..|].
  by apply (sends_sub now); [apply Y|].
Qed.
(* Only messages that wait are new. *)
Lemma y_sent_old x m : waits m = false → sent (said v') x m → sent (said v) x m.
Proof. intros Hw [?|(_ & H%y_now_waits & _)]%y_sent; congruence. Qed.
Lemma y_cast x b i : cast v' x b i → cast v x b i.
Proof.
  intros [[H|(-> & _ & H)]%y_sent|H]; [by left|by right|right]. eapply sends_sub; [apply (y_held _ _ Y)|done].
Qed.
Lemma y_proposed b i x : proposed (said v) b i x → proposed (said v') b i x.
Proof. rewrite (y_said _ _ Y). apply proposed_mono. Qed.
Lemma y_proposed_old b i x : proposed (said v') b i x → proposed (said v) b i x.
Proof. intros [p H]. exists p. by apply y_sent_old in H. Qed.
Lemma y_vote_kept s b i : vote_kept (said v) s b i → vote_kept (said v') s b i.
Proof. rewrite (y_said _ _ Y). apply vote_kept_mono. Qed.
Lemma y_sound x b k votes : promise_sound v x b k votes → promise_sound v' x b k votes.
Proof.
  intros [H1 H2]. split.
  - intros u Hu. destruct (H1 u Hu). split; [done|by apply y_proposed].
  - intros i b' Hi Hc%y_cast. by apply H2.
Qed.
Lemma y_safe b i x : safe_at c v b i x → safe_at c v' b i x.
Proof.
  intros H b' Hlt. destruct (H b' Hlt) as [?|(Q & HQ & Hb)]; [left; by apply y_proposed|right].
  exists Q. split; [done|]. intros y Hy. destruct (Hb y Hy). split; [by intros ?%y_cast|].
  pose proof (ex_promised _ _ (y_remembered_extends y)). lia.
Qed.

Theorem inv_sync : inv c v'.
Proof.
  pose proof (y_said _ _ Y) as Hsaid. assert (Hr : remembered v' a = r) by (by rewrite (y_remembered _ _ Y), decide_True).
  split.
  - intros x. rewrite Hsaid, (y_current _ _ Y). apply replica_mono, I.
  - intros x. rewrite (y_current _ _ Y), (y_remembered _ _ Y). case_decide; [subst; apply Y|apply I].
  - intros x o Ho. apply (i_held _ _ I x). by apply (y_held _ _ Y).
  - intros x b i [H|(-> & H & _)]%y_sent; apply y_vote_kept.
    + eapply vote_kept_extends; [apply y_remembered_extends|by apply (i_vote _ _ I)].
    + rewrite Hr. exact (y_secured _ _ Y _ H).
  - intros x b i H%y_cast. rewrite (y_current _ _ Y). by apply y_vote_kept, (i_cast _ _ I).
  - intros x b k votes [H|(-> & H & Hh)]%y_sent.
    + destruct (i_promise _ _ I _ _ _ _ H) as (?&?&?). pose proof (ex_promised _ _ (y_remembered_extends x)).
      split_and!; [lia|by apply y_used|by apply y_sound].
    + destruct (i_held_promise _ _ I _ _ _ _ Hh) as (_ & Hu & ?). pose proof (y_secured _ _ Y _ H) as Hb. simpl in Hb.
      rewrite Hr. split_and!; [done| |by apply y_sound]. destruct Hu as [Ho|?]; [|by apply y_used].
      unfold used. by rewrite Ho, Hr.
  - intros x b k votes H. apply (sends_sub _ _ _ (y_held _ _ Y x)) in H.
    destruct (i_held_promise _ _ I _ _ _ _ H) as (?&Hu&?). rewrite (y_current _ _ Y).
    split_and!; [done|destruct Hu; [by left|right; by apply y_used]|by apply y_sound].
  - intros x b k [H|(-> & H & Hh)]%y_sent.
    + destruct (i_prepare _ _ I _ _ _ H). split; [done|by apply y_used].
    + pose proof (i_held_prepare _ _ I _ _ _ Hh) as Ho. split; [done|]. unfold used. rewrite Ho, Hr.
      exact (y_secured _ _ Y _ H).
  - intros x b k H. apply (sends_sub _ _ _ (y_held _ _ Y x)) in H. by eapply (i_held_prepare _ _ I).
  - intros p b i x H%y_sent_old; [|done]. rewrite (y_current _ _ Y).
    destruct (i_propose _ _ I _ _ _ _ H) as (?&?&?). split_and!; [done|by apply y_used|done].
  - intros p b i x y ?%y_sent_old ?%y_sent_old; [|done..]. by eapply (i_unique _ _ I).
  - intros b i x ?%y_proposed_old. by apply y_safe, (i_safe _ _ I).
  - intros x b i ?%y_sent_old; [|done]. rewrite Hsaid. by eapply ratified_mono, (i_commit _ _ I).
  - intros x ds d ?%y_sent_old Hd; [|done]. rewrite Hsaid. by eapply chosen_mono, (i_learned _ _ I).
  - intros x i y. rewrite Hsaid. intros [[-> H]|H]%emitted_cons.
    + apply (y_now _ _ Y) in H. destruct (i_held _ _ I _ _ H) as (m & _ & [?|[??]]); discriminate.
    + by eapply chosen_mono, (i_delivered _ _ I).
  - intros x y ?%y_sent_old; [|done]. rewrite Hsaid. by eapply requested_mono, (i_forward _ _ I).
  - intros b i x ?%y_proposed_old. rewrite Hsaid. by eapply legitimate_mono, (i_legitimate _ _ I).
Qed.
End sync.

(* --- A crash: a is what it remembered, and what it held back will never leave. ---------------------------------- *)

(* Its service is set to a snapshot. *)
Record crashes (k : instance) (y : image) : Prop := Crashes {
  z_said : said v' = Action a Crashed [Output_Install k y] :: said v;
  z_current : ∀ x, current v' x = if decide (x = a) then remembered v a else current v x;
  z_remembered : ∀ x, remembered v' x = remembered v x;
  z_held : ∀ x, held v' x = if decide (x = a) then [] else held v x;
  z_replica : replica_inv c (said v) a (remembered v a);
  z_follows : role_now (remembered v a) = Follower }.

Section restart.
Context (k : instance) (y : image) (Z : crashes k y).

Lemma z_current_same : current v' a = remembered v a.
Proof. by rewrite (z_current _ _ Z), decide_True. Qed.
Lemma z_current_other x : x ≠ a → current v' x = current v x.
Proof. intros. by rewrite (z_current _ _ Z), decide_False. Qed.
Lemma z_sent x m : sent (said v') x m → sent (said v) x m.
Proof. rewrite (z_said _ _ Z), sent_cons. intros [[_ H]|?]; [outs|done]. Qed.
Lemma z_held_old x m : sends (held v' x) m → x ≠ a ∧ sends (held v x) m.
Proof. rewrite (z_held _ _ Z). case_decide; [by intros ?%sends_nil|done]. Qed.
Lemma z_cast x b i : cast v' x b i → cast v x b i ∧ (x = a → voted (said v) a b i).
Proof. intros [H%z_sent|[? H]%z_held_old]; [|by split; [right|]]. split; [by left|by intros ->]. Qed.
Lemma z_proposed b i x : proposed (said v) b i x → proposed (said v') b i x.
Proof. rewrite (z_said _ _ Z). apply proposed_mono. Qed.
Lemma z_proposed_old b i x : proposed (said v') b i x → proposed (said v) b i x.
Proof. intros [p H]. exists p. by apply z_sent. Qed.
Lemma z_vote_kept s b i : vote_kept (said v) s b i → vote_kept (said v') s b i.
Proof. rewrite (z_said _ _ Z). apply vote_kept_mono. Qed.
Lemma z_used b : used c v b → used c v' b.
Proof. unfold used. by rewrite (z_remembered _ _ Z). Qed.
Lemma z_sound x b j votes : promise_sound v x b j votes → promise_sound v' x b j votes.
Proof.
  intros [H1 H2]. split.
  - intros u Hu. destruct (H1 u Hu). split; [done|by apply z_proposed].
  - intros i b' Hi [Hc _]%z_cast. by apply H2.
Qed.
Lemma z_safe b i x : safe_at c v b i x → safe_at c v' b i x.
Proof.
  intros H b' Hlt. destruct (H b' Hlt) as [?|(Q & HQ & Hb)]; [left; by apply z_proposed|right].
  exists Q. split; [done|]. intros z Hz. destruct (Hb z Hz). rewrite (z_remembered _ _ Z). split; [by intros [? _]%z_cast|done].
Qed.

Theorem inv_crash : inv c v'.
Proof.
  pose proof (z_said _ _ Z) as Hsaid. split.
  - intros x. rewrite Hsaid. apply replica_mono.
    destruct (decide (x = a)) as [->|?]; [rewrite z_current_same; apply Z|rewrite z_current_other by done; apply I].
  - intros x. rewrite (z_remembered _ _ Z).
    destruct (decide (x = a)) as [->|?]; [by rewrite z_current_same|rewrite z_current_other by done; apply I].
  - intros x o. rewrite (z_held _ _ Z). case_decide; [by intros ?%elem_of_nil|apply I].
  - intros x b i H%z_sent. rewrite (z_remembered _ _ Z). by apply z_vote_kept, (i_vote _ _ I).
  - intros x b i [Hc Hv]%z_cast. apply z_vote_kept. destruct (decide (x = a)) as [->|?].
    + rewrite z_current_same. apply (i_vote _ _ I). auto.
    + rewrite z_current_other by done. by apply (i_cast _ _ I).
  - intros x b j votes H%z_sent. rewrite (z_remembered _ _ Z). destruct (i_promise _ _ I _ _ _ _ H) as (?&?&?).
    split_and!; [done|by apply z_used|by apply z_sound].
  - intros x b j votes [Hx H]%z_held_old. rewrite z_current_other by done.
    destruct (i_held_promise _ _ I _ _ _ _ H) as (?&Hu&?).
    split_and!; [done|destruct Hu; [by left|right; by apply z_used]|by apply z_sound].
  - intros x b j H%z_sent. destruct (i_prepare _ _ I _ _ _ H). split; [done|by apply z_used].
  - intros x b j [_ H]%z_held_old. by eapply (i_held_prepare _ _ I).
  - intros p b i x H%z_sent. destruct (i_propose _ _ I _ _ _ _ H) as (?&?&Hl). split_and!; [done|by apply z_used|].
    destruct (decide (p = a)) as [->|?]; [|by rewrite z_current_other]. intros _. left. rewrite z_current_same. apply Z.
  - intros p b i x u ?%z_sent ?%z_sent. by eapply (i_unique _ _ I).
  - intros b i x ?%z_proposed_old. by apply z_safe, (i_safe _ _ I).
  - intros x b i ?%z_sent. rewrite Hsaid. by eapply ratified_mono, (i_commit _ _ I).
  - intros x ds d ?%z_sent Hd. rewrite Hsaid. by eapply chosen_mono, (i_learned _ _ I).
  - intros x i u. rewrite Hsaid. intros [[_ ?]|H]%emitted_cons; [outs|by eapply chosen_mono, (i_delivered _ _ I)].
  - intros x u ?%z_sent. rewrite Hsaid. by eapply requested_mono, (i_forward _ _ I).
  - intros b i x ?%z_proposed_old. rewrite Hsaid. by eapply legitimate_mono, (i_legitimate _ _ I).
Qed.
End restart.
End crash.
