(* The model as OCaml, for the oracle. Nothing of Prim.v is replaced: maps and sets are stdpp's. Coq's numbers become OCaml's
   int, which has 63 bits; the oracle is given nothing that exceeds them. *)
Require Import Prim Model Release Sessions.
Require Extraction.
From Coq Require Import NArith List ExtrOcamlBasic ExtrOcamlZInt ExtrOcamlNatInt.
Extraction Language OCaml.

Extract Constant value => "string".
Extract Constant noop => """""".
Extract Constant image => "string".
Extract Constant blank => """""".

(* Both kinds of numbers are the same int. *)
Extract Constant N.to_nat => "fun (n : int) -> n".
Extract Constant N.of_nat => "fun (n : int) -> n".

(* ExtrOcamlZInt names a module that newer compilers lack, and compares without types. *)
Extract Constant Pos.succ => "(fun (p : int) -> p + 1)".
Extract Constant Pos.pred => "(fun (p : int) -> if p = 1 then 1 else p - 1)".
Extract Constant Pos.compare => "fun (x : int) (y : int) -> if x = y then Eq else if x < y then Lt else Gt".
Extract Constant N.pred => "fun (n : int) -> if n = 0 then 0 else n - 1".
Extract Constant N.sub => "fun (n : int) (m : int) -> if m < n then n - m else 0".
Extract Constant N.compare => "fun (x : int) (y : int) -> if x = y then Eq else if x < y then Lt else Gt".
Extract Constant N.min => "fun (n : int) (m : int) -> if m < n then m else n".
Extract Constant N.max => "fun (n : int) (m : int) -> if n < m then m else n".

Extraction "model.ml" init step waits recover replay checkpoint owner majority has_room
  no_release pass report
  no_sessions open_session forget_session admit take_turn
  N.add N.mul N.div N.modulo N.max N.min N.ltb N.leb N.eqb app n_range
  im_empty im_get im_has im_set im_drop_below im_range ns_empty ns_add ns_mem ns_size sm_empty sm_get sm_set sm_remove.
