(* Sessions: each request takes effect at most once, and those of one session in the order in which it numbered them.

   Part of the replicated state: every replica steps it with the requests that it delivers, in their order, so that all
   replicas refuse the same ones. A session numbers its requests 1, 2, 3, ...; a request is executed if it is the next one.
   A request that came twice (a client tried again, a batch was proposed by two leaders) is a repetition; one that comes before
   its predecessor (which was lost with a leader, say) is a gap, and its session must send from the predecessor on again.
   Sessions are numbered by the log itself and never again, so that a forgotten session's requests are refused, not executed anew. *)
Require Import Prim.
From Coq Require Import NArith List.
Import ListNotations.
Local Open Scope N_scope.
Local Open Scope list_scope.

Definition session := N.
Definition sequence := N.

Inductive verdict :=
| Fresh       (* execute it *)
| Repeated    (* it was executed already *)
| Early       (* an earlier request of its session is missing *)
| Unknown.    (* never opened, or forgotten *)

(* [opened]: how many sessions were opened so far; [last]: the last request executed of those that are open. *)
Record sessions := Sessions { opened : session; last : smap sequence }.
Definition no_sessions : sessions := {| opened := 0; last := sm_empty |}.

Definition open_session (s : sessions) : sessions * session :=
  let id := opened s + 1 in
  ({| opened := id; last := sm_set id 0 (last s) |}, id).

Definition forget_session (id : session) (s : sessions) : sessions :=
  {| opened := opened s; last := sm_remove id (last s) |}.

Definition admit (id : session) (q : sequence) (s : sessions) : sessions * verdict :=
  match sm_get id (last s) with
  | Some l => if q =? l + 1 then ({| opened := opened s; last := sm_set id q (last s) |}, Fresh)
              else if q <=? l then (s, Repeated)
              else (s, Early)
  | None => (s, Unknown)
  end.

(* --- What becomes of a request. ------------------------------------------------------------------------------------- *)

(* What it asks of the sessions: a new one, or to be executed as number q of session id. *)
Inductive demand := Opens | Calls (id : session) (q : sequence).

Inductive turn :=
| Turn_Opened (id : session)  (* a new session, for its client *)
| Turn_Run                    (* hand it to the service, and keep the answer *)
| Turn_Again                  (* give the answer that was kept, if it still is *)
| Turn_Early                  (* refuse it: an earlier one is missing *)
| Turn_Unknown                (* refuse it: its session is not there *)
| Turn_Foreign.               (* refuse it: it does not come from whoever opened the session *)

(* [owned]: does it come from whoever opened its session, as far as is known? *)
Definition take_turn (owned : bool) (d : demand) (s : sessions) : sessions * turn :=
  match d with
  | Opens => let p := open_session s in let id := snd p in (fst p, Turn_Opened id)
  | Calls id q =>
    if owned then
      let p := admit id q s in
      match snd p with
      | Fresh => (fst p, Turn_Run)
      | Repeated => (fst p, Turn_Again)
      | Early => (fst p, Turn_Early)
      | Unknown => (fst p, Turn_Unknown)
      end
    else (s, Turn_Foreign)
  end.
