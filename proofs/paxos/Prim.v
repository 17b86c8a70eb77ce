(* The primitives: the only functions of the model whose Rust and OCaml realisations are trusted instead of printed.
   Each has a definition here, and the realisations are tested against the code that is extracted from these definitions. *)
From stdpp Require Import gmap list numbers.
Local Open Scope N_scope.

(* What replicas agree on: a batch of requests, opaque. [noop] fills an instance for which nobody has a value. *)
Parameter value : Type.
Parameter noop : value.
(* The service's state after a prefix of the log, opaque; [blank] is its state before the first instance. *)
Parameter image : Type.
Parameter blank : image.

(* lo, lo + 1, ..., hi - 1. *)
Definition n_range (lo hi : N) : list N := N.of_nat <$> seq (N.to_nat lo) (N.to_nat (hi - lo)).

(* Maps from instances. A realisation may be dense: the model keeps the keys within a span (see [Bounded]). *)
Definition imap (V : Type) := gmap N V.
Definition im_empty {V} : imap V := ∅.
Definition im_get {V} (i : N) (m : imap V) : option V := m !! i.
Definition im_has {V} (i : N) (m : imap V) : bool := bool_decide (is_Some (m !! i)).
Definition im_set {V} (i : N) (v : V) (m : imap V) : imap V := <[i := v]> m.
Definition im_drop_below {V} (k : N) (m : imap V) : imap V := filter (λ p, k ≤ p.1) m.
(* The entries with lo <= key < hi, in ascending order of keys. *)
Definition im_range {V} (lo hi : N) (m : imap V) : list (N * V) :=
  omap (λ i, pair i <$> m !! i) (n_range lo hi).

(* Sets of replicas. *)
Definition nset := gset N.
Definition ns_empty : nset := ∅.
Definition ns_add (a : N) (s : nset) : nset := {[a]} ∪ s.
Definition ns_mem (a : N) (s : nset) : bool := bool_decide (a ∈ s).
Definition ns_size (s : nset) : N := N.of_nat (size s).

(* Maps from sessions: unordered and sparse. *)
Definition smap (V : Type) := gmap N V.
Definition sm_empty {V} : smap V := ∅.
Definition sm_get {V} (i : N) (m : smap V) : option V := m !! i.
Definition sm_set {V} (i : N) (v : V) (m : smap V) : smap V := <[i := v]> m.
Definition sm_remove {V} (i : N) (m : smap V) : smap V := delete i m.
