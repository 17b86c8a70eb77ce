(* What a replica does with the batches that are delivered to it, and what it answers.

   Each request takes its turn ([take_turn], Sessions.v, which runs): it opens a session, or is handed to the service, which answers,
   or gets the answer that was kept of the same call, or is refused. An answer is kept for as long as the replica likes. Refusals
   and what is said of sessions are not answers here: they say nothing about the service.

   [serve] is any service: from a state and a request the next state and an answer. [retains] says which answers are kept on; like
   [forgets] and [refuses] it is any function of the requests that came before. *)
From stdpp Require Import gmap list numbers.
Require Import Prim Model Network Service Sessions SessionsProof Requests.
Local Open Scope N_scope.

Section executor.
Context {request answer state : Type} (demand_of : request → demand) (requests : instance → value → list request).
Context (forgets : list request → request → list session) (refuses : list request → request → bool).
Context (retains : list request → session * sequence → bool).
Context (begin : state) (serve : state → request → state * answer).

(* [position]: the next instance; [heard]: all requests so far; [service]: the state of the service; [kept]: answers by call. *)
Record executor := Executor {
  position : instance; heard : list request; table : sessions; service : state; kept : gmap (session * sequence) answer }.
Definition new_executor : executor :=
  {| position := 0; heard := []; table := no_sessions; service := begin; kept := ∅ |}.

Definition kept_on (past : list request) (m : gmap (session * sequence) answer) : gmap (session * sequence) answer :=
  filter (λ p, retains past p.1 = true) m.
Definition keep (past : list request) (r : request) (y : answer) (m : gmap (session * sequence) answer)
  : gmap (session * sequence) answer :=
  match call_of demand_of r with Some call => kept_on past (<[call := y]> m) | None => kept_on past m end.
Definition again (r : request) (e : executor) : option answer :=
  match call_of demand_of r with Some call => kept e !! call | None => None end.

Definition process (r : request) (e : executor) : executor * option answer :=
  let '(t, turn) := turn_of demand_of forgets refuses (heard e) r (table e) in
  let past := heard e ++ [r] in
  let others :=
    {| position := position e; heard := past; table := t; service := service e; kept := kept_on past (kept e) |} in
  match turn with
  | Turn_Run =>
    let '(s, y) := serve (service e) r in
    ({| position := position e; heard := past; table := t; service := s; kept := keep past r y (kept e) |}, Some y)
  | Turn_Again => (others, again r e)
  | _ => (others, None)
  end.

(* Each request with its answer. *)
Fixpoint process_all (rs : list request) (e : executor) : executor * list (request * option answer) :=
  match rs with
  | [] => (e, [])
  | r :: rs => let '(e1, y) := process r e in let '(e2, l) := process_all rs e1 in (e2, (r, y) :: l)
  end.

(* A batch, as the next instance. *)
Definition moved_on (e : executor) : executor :=
  {| position := position e + 1; heard := heard e; table := table e; service := service e; kept := kept e |}.
Definition deliver (v : value) (e : executor) : executor * list (request * option answer) :=
  let '(e1, l) := process_all (requests (position e) v) e in (moved_on e1, l).
(* After these batches, from the first instance on. *)
Definition after_batches (vs : list value) : executor := foldl (λ e v, (deliver v e).1) new_executor vs.

(* The service by itself: its state after some requests, one after the other, and its answer to the p-th of them. *)
Definition alone (rs : list request) : state := foldl (λ s r, (serve s r).1) begin rs.
Definition answer_at (rs : list request) (p : nat) : option answer := (λ r, (serve (alone (take p rs)) r).2) <$> rs !! p.

(* --- Replicas, which have images instead of such a state. ------------------------------------------------------------ *)

(* [answers x v]: what a replica answers while it executes the batch v in the state x. *)
Context (apply : image → value → image) (answers : image → value → list (request * option answer)).

(* It does so as the executor: if its state was made by the values vs, whether it executed them or installed a snapshot, it
   answers as the executor does that has executed them. *)
Definition executes : Prop := ∀ vs v, answers (replays apply vs) v = (deliver v (after_batches vs)).2.

(* Replica a has answered y to r when it executed the batch that was delivered to it as instance k, the next one of its service. *)
Definition answered (h : history) (a : replica) (k : instance) (r : request) (y : answer) : Prop :=
  ∃ outs v x, outs ++ [Output_Deliver k v] `prefix_of` outputs_of a h ∧ served apply outs = (k, x) ∧ (r, Some y) ∈ answers x v.
(* Some replica was given a batch to propose in which a request is for this call. *)
Definition asked (h : history) (call : option (session * sequence)) : Prop :=
  ∃ v i r, requested h v ∧ r ∈ requests i v ∧ call_of demand_of r = call.
End executor.
