(* Multi-Paxos as one pure function per replica: step config self event state = (state', outputs).

   This is the code that runs: it is printed as Rust (crates/order/paxos/src/core/generated.rs) and the theorems of Statements.v
   speak of it. Everything that needs a clock, a disk, a socket or a guess (failure detector, batching, retransmission,
   whom to ask for what was missed, when to take a snapshot) is outside and can only hand in events; no event that it hands
   in, at any time and in any order, can break agreement.

   A ballot b belongs to replica b mod n. Phase 1 covers all instances from one on; phase 2 is pipelined. Acceptors answer
   the proposer, who announces what is chosen. Values are opaque.

   Bounds: every map is kept within [config_span] of [low], so an instance number far away, however it came, allocates nothing. *)
Require Import Prim.
From Coq Require Import NArith List.
Import ListNotations.
Local Open Scope N_scope.
Local Open Scope list_scope.
Local Open Scope bool_scope.

Definition replica := N.
Definition ballot := N.
Definition instance := N.

(* [config_replicas]: how many vote; they are 0, 1, ... and whoever has a greater number only learns.
   [config_span]: instances that are kept at most. [config_window]: instances that a leader has open at most.
   [config_chunk]: instances in one answer to a query at most. *)
Record config := Config { config_replicas : N; config_span : N; config_window : N; config_chunk : N }.

(* An own vote, and who is known to have voted so too (kept by the proposer). *)
Record entry := Entry { entry_ballot : ballot; entry_value : value; entry_acks : nset }.
(* A vote as a promise reports it. *)
Record vote := Vote { vote_instance : instance; vote_ballot : ballot; vote_value : value }.
(* The newest vote that phase 1 has heard of. *)
Record candidate := Candidate { candidate_ballot : ballot; candidate_value : value }.
Record decision := Decision { decision_instance : instance; decision_value : value }.

Inductive role := Follower | Preparing | Leading.

Inductive message :=
| Message_Prepare (b : ballot) (first : instance)
| Message_Promise (b : ballot) (first : instance) (votes : list vote)
| Message_Propose (b : ballot) (i : instance) (v : value)
| Message_Accept (b : ballot) (i : instance)
| Message_Commit (b : ballot) (i : instance)      (* what was proposed at b for i is chosen *)
| Message_Reject (b : ballot)                     (* I have promised b *)
| Message_Alive (b : ballot) (executed : instance)
| Message_Query (lo hi : instance)                (* what was chosen there? *)
| Message_Learned (ds : list decision)
| Message_Snapshot (k : instance) (s : image)     (* the state after all instances below k *)
| Message_Truncated (k : instance)                (* I have forgotten what is below k *)
| Message_Forward (v : value).

Inductive event :=
| Event_Receive (src : replica) (m : message)
| Event_Request (v : value)                       (* propose this *)
| Event_Suspect                                   (* the leader seems dead: become it *)
| Event_Heartbeat                                 (* say that we live *)
| Event_Execute                                   (* the service has room for the next instance *)
| Event_CatchUp (dst : replica) (hi : instance)   (* ask dst for what was chosen below hi *)
| Event_Snapshot (k : instance) (s : image)       (* the service's state after all instances below k *)
| Event_Truncate (k : instance).                  (* forget what is below k *)

(* What must survive a crash. Replayed in order by [replay]. *)
Inductive record :=
| Record_Ballot (b : ballot)
| Record_Vote (b : ballot) (i : instance) (v : value)
| Record_Decided (b : ballot) (i : instance)      (* the own vote at b for i is chosen *)
| Record_Learned (ds : list decision)
| Record_Snapshot (k : instance) (s : image)
| Record_Install (k : instance) (s : image)
| Record_Truncate (k : instance).

Inductive output :=
| Output_Journal (r : record)
| Output_Send (dst : replica) (m : message)
| Output_Broadcast (m : message)                  (* to every voting replica, the own one too, and to learners *)
| Output_Deliver (i : instance) (v : value)
| Output_Install (k : instance) (s : image)       (* the service's state is s now: instances below k are in it *)
| Output_Return (v : value).                      (* not proposed: no leader, or too many instances open *)

Record state := State {
  promised : ballot;            (* no vote and no promise below it any more *)
  role_now : role;              (* as the owner of [promised] *)
  low : instance;               (* below it everything is forgotten: no vote and no promise there *)
  executed : instance;          (* the next instance to deliver *)
  next : instance;              (* the first that the leader has not used *)
  first : instance;             (* phase 1 covers the instances from it on *)
  promises : nset;              (* who has promised [promised] to us *)
  candidates : imap candidate;  (* what they had voted for *)
  log : imap entry;             (* own votes *)
  decisions : imap value;       (* what is chosen *)
  snapshot_at : instance;       (* [snapshot] is the state after all instances below it *)
  snapshot : image
}.

Definition init : state :=
  {| promised := 0; role_now := Follower; low := 0; executed := 0; next := 0; first := 0; promises := ns_empty;
     candidates := im_empty; log := im_empty; decisions := im_empty; snapshot_at := 0; snapshot := blank |}.

Definition majority (n k : N) : bool := n <? 2 * k.
Definition owner (n : N) (b : ballot) : replica := b mod n.
Definition next_ballot (n : N) (self : replica) (b : ballot) : ballot := (b / n + 1) * n + self.

Definition set_promised (b : ballot) (s : state) : state :=
  {| promised := b; role_now := Follower; low := low s; executed := executed s; next := next s; first := first s;
     promises := promises s; candidates := candidates s; log := log s; decisions := decisions s;
     snapshot_at := snapshot_at s; snapshot := snapshot s |}.
Definition set_log (l : imap entry) (s : state) : state :=
  {| promised := promised s; role_now := role_now s; low := low s; executed := executed s; next := next s; first := first s;
     promises := promises s; candidates := candidates s; log := l; decisions := decisions s;
     snapshot_at := snapshot_at s; snapshot := snapshot s |}.
Definition set_decisions (d : imap value) (s : state) : state :=
  {| promised := promised s; role_now := role_now s; low := low s; executed := executed s; next := next s; first := first s;
     promises := promises s; candidates := candidates s; log := log s; decisions := d;
     snapshot_at := snapshot_at s; snapshot := snapshot s |}.
Definition set_executed (e : instance) (s : state) : state :=
  {| promised := promised s; role_now := role_now s; low := low s; executed := e; next := next s; first := first s;
     promises := promises s; candidates := candidates s; log := log s; decisions := decisions s;
     snapshot_at := snapshot_at s; snapshot := snapshot s |}.
Definition set_next (i : instance) (s : state) : state :=
  {| promised := promised s; role_now := role_now s; low := low s; executed := executed s; next := i; first := first s;
     promises := promises s; candidates := candidates s; log := log s; decisions := decisions s;
     snapshot_at := snapshot_at s; snapshot := snapshot s |}.
Definition set_snapshot (k : instance) (x : image) (s : state) : state :=
  {| promised := promised s; role_now := role_now s; low := low s; executed := executed s; next := next s; first := first s;
     promises := promises s; candidates := candidates s; log := log s; decisions := decisions s;
     snapshot_at := k; snapshot := x |}.
Definition drop_below (k : instance) (s : state) : state :=
  {| promised := promised s; role_now := role_now s; low := k; executed := executed s; next := next s; first := first s;
     promises := promises s; candidates := candidates s; log := im_drop_below k (log s);
     decisions := im_drop_below k (decisions s); snapshot_at := snapshot_at s; snapshot := snapshot s |}.

(* Instances that are kept: low <= i < low + span. *)
Definition in_span (c : config) (i : instance) (s : state) : bool := (low s <=? i) && (i <? low s + config_span c).

(* --- Phase 1. ------------------------------------------------------------------------------------------------------- *)

Definition vote_of (p : N * entry) : vote :=
  {| vote_instance := fst p; vote_ballot := entry_ballot (snd p); vote_value := entry_value (snd p) |}.
Definition votes_from (c : config) (k : instance) (s : state) : list vote :=
  map vote_of (im_range k (low s + config_span c) (log s)).

Definition on_suspect (c : config) (self : replica) (s : state) : state * list output :=
  if self <? config_replicas c then
    let b := next_ballot (config_replicas c) self (promised s) in
    let k := N.max (executed s) (low s) in
    let votes := votes_from c k s in
    ({| promised := b; role_now := Preparing; low := low s; executed := executed s; next := k; first := k;
        promises := ns_empty; candidates := im_empty; log := log s; decisions := decisions s;
        snapshot_at := snapshot_at s; snapshot := snapshot s |},
     [Output_Journal (Record_Ballot b); Output_Broadcast (Message_Prepare b k);
      Output_Send self (Message_Promise b k votes)])
  else (s, []).

Definition on_prepare (c : config) (self src : replica) (b : ballot) (k : instance) (s : state) : state * list output :=
  if self <? config_replicas c then
    if promised s <? b then
      if k <? low s then let l := low s in (s, [Output_Send src (Message_Truncated l)])
      else let votes := votes_from c k s in
           (set_promised b s, [Output_Journal (Record_Ballot b); Output_Send src (Message_Promise b k votes)])
    else if b <? promised s then let b' := promised s in (s, [Output_Send src (Message_Reject b')])
    else (s, [])
  else (s, []).

Definition merge_vote (m : imap candidate) (v : vote) : imap candidate :=
  match im_get (vote_instance v) m with
  | Some x => if candidate_ballot x <? vote_ballot v
              then im_set (vote_instance v) {| candidate_ballot := vote_ballot v; candidate_value := vote_value v |} m
              else m
  | None => im_set (vote_instance v) {| candidate_ballot := vote_ballot v; candidate_value := vote_value v |} m
  end.
Definition merge_votes (votes : list vote) (m : imap candidate) : imap candidate := fold_left merge_vote votes m.
(* One past the last instance that somebody has voted in, at least k. *)
Definition upper (votes : list vote) (k : instance) : instance :=
  fold_left (fun a v => N.max a (vote_instance v + 1)) votes k.
Definition within (lo hi : instance) (votes : list vote) : bool :=
  fold_left (fun a v => a && (lo <=? vote_instance v) && (vote_instance v <? hi)) votes true.

Definition pick (i : instance) (m : imap candidate) : value :=
  match im_get i m with Some x => candidate_value x | None => noop end.
Definition reproposals (b : ballot) (lo hi : instance) (m : imap candidate) : list output :=
  map (fun i => Output_Broadcast (Message_Propose b i (pick i m))) (n_range lo hi).

Definition on_promise (c : config) (src : replica) (b : ballot) (k : instance) (votes : list vote) (s : state)
  : state * list output :=
  match role_now s with
  | Preparing =>
    if (b =? promised s) && (k =? first s) && (src <? config_replicas c) && negb (ns_mem src (promises s))
       && within k (k + config_span c) votes then
      let hi := upper votes (next s) in
      let m := merge_votes votes (candidates s) in
      let acks := ns_add src (promises s) in
      if majority (config_replicas c) (ns_size acks) then
        let lo := N.max k (low s) in  (* a snapshot installed since the prepare may have moved it, however far *)
        let outs := reproposals b lo hi m in
        ({| promised := promised s; role_now := Leading; low := low s; executed := executed s; next := hi;
            first := k; promises := acks; candidates := im_empty; log := log s; decisions := decisions s;
            snapshot_at := snapshot_at s; snapshot := snapshot s |}, outs)
      else
        ({| promised := promised s; role_now := Preparing; low := low s; executed := executed s; next := hi;
            first := k; promises := acks; candidates := m; log := log s; decisions := decisions s;
            snapshot_at := snapshot_at s; snapshot := snapshot s |}, [])
    else (s, [])
  | Follower => (s, [])
  | Leading => (s, [])
  end.

(* --- Phase 2. ------------------------------------------------------------------------------------------------------- *)

(* The leader's window: open instances are few, and all are in the span. *)
Definition has_room (c : config) (s : state) : bool :=
  (next s <? executed s + config_window c) && (next s <? low s + config_span c).

Definition propose (c : config) (v : value) (s : state) : state * list output :=
  if has_room c s then
    let b := promised s in
    let i := next s in
    (set_next (i + 1) s, [Output_Broadcast (Message_Propose b i v)])
  else (s, [Output_Return v]).

Definition on_request (c : config) (self : replica) (v : value) (s : state) : state * list output :=
  match role_now s with
  | Leading => propose c v s
  | Preparing => (s, [Output_Return v])
  | Follower =>
    let leader := owner (config_replicas c) (promised s) in
    if leader =? self then (s, [Output_Return v]) else (s, [Output_Send leader (Message_Forward v)])
  end.
(* Not forwarded again: replicas that take each other for the leader would send it round and round. *)
Definition on_forward (c : config) (v : value) (s : state) : state * list output :=
  match role_now s with
  | Leading => propose c v s
  | Preparing => (s, [])
  | Follower => (s, [])
  end.

Definition accept (src : replica) (b : ballot) (i : instance) (v : value) (s : state) : state * list output :=
  match im_get i (log s) with
  | Some e =>
    if entry_ballot e =? b then (s, [Output_Send src (Message_Accept b i)])
    else (set_log (im_set i {| entry_ballot := b; entry_value := v; entry_acks := ns_empty |} (log s)) s,
          [Output_Journal (Record_Vote b i v); Output_Send src (Message_Accept b i)])
  | None =>
    (set_log (im_set i {| entry_ballot := b; entry_value := v; entry_acks := ns_empty |} (log s)) s,
     [Output_Journal (Record_Vote b i v); Output_Send src (Message_Accept b i)])
  end.

Definition on_propose (c : config) (self src : replica) (b : ballot) (i : instance) (v : value) (s : state)
  : state * list output :=
  if self <? config_replicas c then
    if i <? low s then let l := low s in (s, [Output_Send src (Message_Truncated l)])
    else if low s + config_span c <=? i then (s, [])
    else if promised s =? b then accept src b i v s
    else if promised s <? b then accept src b i v (set_promised b s)
    else let b' := promised s in (s, [Output_Send src (Message_Reject b')])
  else (s, []).

Definition on_accept (c : config) (src : replica) (b : ballot) (i : instance) (s : state) : state * list output :=
  if (src <? config_replicas c) && negb (im_has i (decisions s)) then
    match im_get i (log s) with
    | Some e =>
      if entry_ballot e =? b then
        let v := entry_value e in
        let acks := ns_add src (entry_acks e) in
        let s1 := set_log (im_set i {| entry_ballot := b; entry_value := v; entry_acks := acks |} (log s)) s in
        if majority (config_replicas c) (ns_size acks) then
          (set_decisions (im_set i v (decisions s1)) s1,
           [Output_Journal (Record_Decided b i); Output_Broadcast (Message_Commit b i)])
        else (s1, [])
      else (s, [])
    | None => (s, [])
    end
  else (s, []).

(* --- Learning. ------------------------------------------------------------------------------------------------------ *)

Definition on_commit (b : ballot) (i : instance) (s : state) : state * list output :=
  if im_has i (decisions s) then (s, [])
  else match im_get i (log s) with
  | Some e =>
    if entry_ballot e =? b then
      let v := entry_value e in
      (set_decisions (im_set i v (decisions s)) s, [Output_Journal (Record_Decided b i)])
    else (s, [])
  | None => (s, [])
  end.

Definition on_execute (s : state) : state * list output :=
  match im_get (executed s) (decisions s) with
  | Some v => let i := executed s in (set_executed (i + 1) s, [Output_Deliver i v])
  | None => (s, [])
  end.

(* A ballot that somebody else has promised: follow its owner. *)
Definition on_ballot (b : ballot) (s : state) : state * list output :=
  if promised s <? b then (set_promised b s, [Output_Journal (Record_Ballot b)]) else (s, []).

Definition on_heartbeat (s : state) : state * list output :=
  let b := promised s in let e := executed s in (s, [Output_Broadcast (Message_Alive b e)]).

(* --- Catch-up. ------------------------------------------------------------------------------------------------------ *)

Definition on_catch_up (dst : replica) (hi : instance) (s : state) : state * list output :=
  let e := executed s in
  if e <? hi then (s, [Output_Send dst (Message_Query e hi)]) else (s, []).

Definition decision_of (p : N * value) : decision := {| decision_instance := fst p; decision_value := snd p |}.
Definition on_query (c : config) (src : replica) (lo hi : instance) (s : state) : state * list output :=
  if lo <? low s then
    let k := snapshot_at s in let x := snapshot s in (s, [Output_Send src (Message_Snapshot k x)])
  else
    let ds := map decision_of (im_range lo (N.min hi (N.min (lo + config_chunk c) (low s + config_span c))) (decisions s)) in
    (s, [Output_Send src (Message_Learned ds)]).

Definition learn (c : config) (s : state) (d : decision) : state :=
  if in_span c (decision_instance d) s && negb (im_has (decision_instance d) (decisions s))
  then set_decisions (im_set (decision_instance d) (decision_value d) (decisions s)) s
  else s.
Definition on_learned (c : config) (ds : list decision) (s : state) : state * list output :=
  (fold_left (learn c) ds s, [Output_Journal (Record_Learned ds)]).

(* --- Snapshots and truncation. -------------------------------------------------------------------------------------- *)

Definition install (k : instance) (x : image) (s : state) : state :=
  set_snapshot k x (set_executed k (drop_below k s)).
Definition on_snapshot (k : instance) (x : image) (s : state) : state * list output :=
  if executed s <? k then
    let i := N.max (next s) k in
    (install k x (set_next i s), [Output_Journal (Record_Install k x); Output_Install k x])
  else (s, []).

(* The own service's snapshot. *)
Definition on_taken (k : instance) (x : image) (s : state) : state * list output :=
  if (snapshot_at s <? k) && (k <=? executed s)
  then (set_snapshot k x s, [Output_Journal (Record_Snapshot k x)]) else (s, []).

(* Never beyond the snapshot: whoever asks for what is forgotten gets that. *)
Definition on_truncate (k : instance) (s : state) : state * list output :=
  if (low s <? k) && (k <=? snapshot_at s)
  then (drop_below k s, [Output_Journal (Record_Truncate k)]) else (s, []).

(* --- All together. -------------------------------------------------------------------------------------------------- *)

Definition receive (c : config) (self src : replica) (m : message) (s : state) : state * list output :=
  match m with
  | Message_Prepare b k => on_prepare c self src b k s
  | Message_Promise b k votes => on_promise c src b k votes s
  | Message_Propose b i v => on_propose c self src b i v s
  | Message_Accept b i => on_accept c src b i s
  | Message_Commit b i => on_commit b i s
  | Message_Reject b => on_ballot b s
  | Message_Alive b i => on_ballot b s
  | Message_Query lo hi => on_query c src lo hi s
  | Message_Learned ds => on_learned c ds s
  | Message_Snapshot k x => on_snapshot k x s
  | Message_Truncated k => (s, [])
  | Message_Forward v => on_forward c v s
  end.

Definition step (c : config) (self : replica) (e : event) (s : state) : state * list output :=
  match e with
  | Event_Receive src m => receive c self src m s
  | Event_Request v => on_request c self v s
  | Event_Suspect => on_suspect c self s
  | Event_Heartbeat => on_heartbeat s
  | Event_Execute => on_execute s
  | Event_CatchUp dst hi => on_catch_up dst hi s
  | Event_Snapshot k x => on_taken k x s
  | Event_Truncate k => on_truncate k s
  end.

(* --- Restart. ------------------------------------------------------------------------------------------------------- *)

(* Must this wait until everything journalled so far, by this step too, is durable? A promise and a vote say "I shall
   remember"; a prepare says "I have used this ballot". All else rests on what others remember. *)
Definition waits (m : message) : bool :=
  match m with
  | Message_Prepare _ _ => true
  | Message_Promise _ _ _ => true
  | Message_Accept _ _ => true
  | _ => false
  end.

Definition remember (b : ballot) (s : state) : state := if promised s <? b then set_promised b s else s.
Definition replay_vote (b : ballot) (i : instance) (v : value) (s : state) : state :=
  set_log (im_set i {| entry_ballot := b; entry_value := v; entry_acks := ns_empty |} (log s)) s.
Definition replay_decided (b : ballot) (i : instance) (s : state) : state :=
  match im_get i (log s) with
  | Some e => if entry_ballot e =? b
              then let v := entry_value e in set_decisions (im_set i v (decisions s)) s
              else s
  | None => s
  end.

(* A replica that restarts is [recover] of its journal: it follows, and delivers again from its snapshot on. *)
Definition replay (c : config) (s : state) (r : record) : state :=
  match r with
  | Record_Ballot b => remember b s
  | Record_Vote b i v => replay_vote b i v (remember b s)
  | Record_Decided b i => replay_decided b i s
  | Record_Learned ds => fold_left (learn c) ds s
  | Record_Snapshot k x => set_executed k (set_snapshot k x s)
  | Record_Install k x => install k x s
  | Record_Truncate k => drop_below k s
  end.
Definition recover (c : config) (rs : list record) : state := fold_left (replay c) rs init.

(* The journal in short: [recover] of these records is as good as [recover] of the whole journal, now and after any further
   records (see StatementsReplay.v). *)
Definition vote_record (p : instance * entry) : record :=
  Record_Vote (entry_ballot (snd p)) (fst p) (entry_value (snd p)).
Definition checkpoint (c : config) (s : state) : list record :=
  let lo := low s in
  let hi := lo + config_span c in
  let k := snapshot_at s in
  let x := snapshot s in
  let b := promised s in
  let ds := map decision_of (im_range lo hi (decisions s)) in
  [Record_Truncate lo; Record_Snapshot k x; Record_Ballot b; Record_Learned ds]
  ++ map vote_record (im_range lo hi (log s)).
