(* The model as JSON, for the printer. What the printer treats as a primitive (Prim.v, and Coq's N, booleans and lists) is
   named here; proofs/printer/src/primitives.rs has the same names. The last sentence names what is printed as public. *)
Require Import Prim Model Release Sessions.
Require Extraction.
From Coq Require Import NArith List.
Extraction Language JSON.

Extract Constant value => "value".
Extract Constant noop => "noop".
Extract Constant image => "image".
Extract Constant blank => "blank".
Extract Constant n_range => "n_range".
Extract Constant imap "v" => "imap".
Extract Constant im_empty => "im_empty".
Extract Constant im_get => "im_get".
Extract Constant im_has => "im_has".
Extract Constant im_set => "im_set".
Extract Constant im_drop_below => "im_drop_below".
Extract Constant im_range => "im_range".
Extract Constant nset => "nset".
Extract Constant ns_empty => "ns_empty".
Extract Constant ns_add => "ns_add".
Extract Constant ns_mem => "ns_mem".
Extract Constant ns_size => "ns_size".
Extract Constant smap "v" => "smap".
Extract Constant sm_empty => "sm_empty".
Extract Constant sm_get => "sm_get".
Extract Constant sm_set => "sm_set".
Extract Constant sm_remove => "sm_remove".
Extraction NoInline n_range im_empty im_get im_has im_set im_drop_below im_range.
Extraction NoInline ns_empty ns_add ns_mem ns_size sm_empty sm_get sm_set sm_remove.

Extract Inlined Constant N.add => "n_add".
Extract Inlined Constant N.mul => "n_mul".
Extract Inlined Constant N.div => "n_div".
Extract Inlined Constant N.modulo => "n_mod".
Extract Inlined Constant N.max => "n_max".
Extract Inlined Constant N.min => "n_min".
Extract Inlined Constant N.ltb => "n_ltb".
Extract Inlined Constant N.leb => "n_leb".
Extract Inlined Constant N.eqb => "n_eqb".
Extract Inlined Constant andb => "andb".
Extract Inlined Constant orb => "orb".
Extract Inlined Constant negb => "negb".
Extract Inlined Constant map => "list_map".
Extract Inlined Constant fold_left => "list_fold_left".
Extract Inlined Constant app => "list_append".
Extract Inlined Constant fst => "fst".
Extract Inlined Constant snd => "snd".

(* So that the fields that stay are moved one by one: a call would take the whole state beside the map that it changes. *)
Extraction Inline set_promised set_log set_decisions set_executed set_next set_snapshot drop_below.

(* The usual ones without 8: branches that give back what they were given stay apart, for a pattern of the fragment has a
   constructor. *)
Set Extraction Flag 487.

Extraction "model.json" init step waits recover replay checkpoint owner majority has_room
  no_release pass report
  no_sessions open_session forget_session admit take_turn.
