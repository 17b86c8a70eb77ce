(* The oracle: takes commands from standard input, runs them on the code that Coq extracts from the model, and answers each mark with
   the digest of everything that was put out and of every state so far. Its twin is proofs/oracle/src/machine.rs. *)
open Model

(* --- Digests. --------------------------------------------------------------------------------------------------------- *)

let digest = ref 0
let factor = 0x1b873593cc9e2d51
let mix x =
  let h = ((!digest lxor x) * factor) land max_int in
  digest := h lxor (h lsr 29)
let mix_bool b = mix (if b then 1 else 0)
let mix_text s = mix (String.length s); String.iter (fun c -> mix (Char.code c)) s
let mix_list f l = mix (List.length l); List.iter f l
let mix_option f = function None -> mix 0 | Some x -> mix 1; f x
let mix_pair f (i, x) = mix i; f x

let mix_vote v = mix v.vote_instance; mix v.vote_ballot; mix_text v.vote_value
let mix_decision d = mix d.decision_instance; mix_text d.decision_value
let mix_message = function
  | Message_Prepare (b, k) -> mix 0; mix b; mix k
  | Message_Promise (b, k, votes) -> mix 1; mix b; mix k; mix_list mix_vote votes
  | Message_Propose (b, i, v) -> mix 2; mix b; mix i; mix_text v
  | Message_Accept (b, i) -> mix 3; mix b; mix i
  | Message_Commit (b, i) -> mix 4; mix b; mix i
  | Message_Reject b -> mix 5; mix b
  | Message_Alive (b, i) -> mix 6; mix b; mix i
  | Message_Query (lo, hi) -> mix 7; mix lo; mix hi
  | Message_Learned ds -> mix 8; mix_list mix_decision ds
  | Message_Snapshot (k, s) -> mix 9; mix k; mix_text s
  | Message_Truncated k -> mix 10; mix k
  | Message_Forward v -> mix 11; mix_text v
let mix_record = function
  | Record_Ballot b -> mix 0; mix b
  | Record_Vote (b, i, v) -> mix 1; mix b; mix i; mix_text v
  | Record_Decided (b, i) -> mix 2; mix b; mix i
  | Record_Learned ds -> mix 3; mix_list mix_decision ds
  | Record_Snapshot (k, s) -> mix 4; mix k; mix_text s
  | Record_Install (k, s) -> mix 5; mix k; mix_text s
  | Record_Truncate k -> mix 6; mix k
let mix_output = function
  | Output_Journal r -> mix 0; mix_record r
  | Output_Send (dst, m) -> mix 1; mix dst; mix_bool (waits m); mix_message m
  | Output_Broadcast m -> mix 2; mix_bool (waits m); mix_message m
  | Output_Deliver (i, v) -> mix 3; mix i; mix_text v
  | Output_Install (k, s) -> mix 4; mix k; mix_text s
  | Output_Return v -> mix 5; mix_text v
let mix_verdict v = mix (match v with Fresh -> 0 | Repeated -> 1 | Early -> 2 | Unknown -> 3)

let mix_turn = function
  | Turn_Opened id -> mix 0; mix id
  | Turn_Run -> mix 1
  | Turn_Again -> mix 2
  | Turn_Early -> mix 3
  | Turn_Unknown -> mix 4
  | Turn_Foreign -> mix 5

(* All but the maps: after every step. *)
let mix_scalars s =
  mix s.promised; mix (match s.role_now with Follower -> 0 | Preparing -> 1 | Leading -> 2);
  mix s.low; mix s.executed; mix s.next; mix s.first; mix (ns_size s.promises); mix s.snapshot_at; mix_text s.snapshot
let mix_set s = for a = 0 to 63 do if ns_mem a s then mix a done
let mix_state c s =
  let kept f lo m = mix_list (mix_pair f) (im_range lo (lo + c.config_span) m) in
  mix_scalars s; mix_set s.promises;
  kept (fun x -> mix x.candidate_ballot; mix_text x.candidate_value) s.first s.candidates;
  kept (fun e -> mix e.entry_ballot; mix_text e.entry_value; mix_set e.entry_acks) s.low s.log;
  kept mix_text s.low s.decisions

let mix_release r =
  mix r.numbered; mix r.synced; mix_list (fun d -> mix d.delayed_until; mix_output d.delayed_output) r.waiting

(* --- Commands: numbers of seven bits a byte, lowest first; texts and lists behind their length. --------------------------- *)

let input = stdin
let rec number_at shift =
  let byte = input_byte input in
  if byte < 128 then byte lsl shift else ((byte land 127) lsl shift) lor number_at (shift + 7)
let number () = number_at 0
let text () = let n = number () in really_input_string input n
let list f = let n = number () in List.init n (fun _ -> f ())
let vote () =
  let vote_instance = number () in let vote_ballot = number () in let vote_value = text () in
  { vote_instance; vote_ballot; vote_value }
let decision () =
  let decision_instance = number () in let decision_value = text () in
  { decision_instance; decision_value }
let two f = let a = number () in let b = number () in f a b
let with_text f = let k = number () in let s = text () in f k s
let message () = match number () with
  | 0 -> two (fun b k -> Message_Prepare (b, k))
  | 1 -> two (fun b k -> let votes = list vote in Message_Promise (b, k, votes))
  | 2 -> let b = number () in with_text (fun i v -> Message_Propose (b, i, v))
  | 3 -> two (fun b i -> Message_Accept (b, i))
  | 4 -> two (fun b i -> Message_Commit (b, i))
  | 5 -> Message_Reject (number ())
  | 6 -> two (fun b i -> Message_Alive (b, i))
  | 7 -> two (fun lo hi -> Message_Query (lo, hi))
  | 8 -> Message_Learned (list decision)
  | 9 -> with_text (fun k s -> Message_Snapshot (k, s))
  | 10 -> Message_Truncated (number ())
  | 11 -> Message_Forward (text ())
  | tag -> failwith (Printf.sprintf "message %d" tag)
let event () = match number () with
  | 0 -> let src = number () in let m = message () in Event_Receive (src, m)
  | 1 -> Event_Request (text ())
  | 2 -> Event_Suspect
  | 3 -> Event_Heartbeat
  | 4 -> Event_Execute
  | 5 -> two (fun dst hi -> Event_CatchUp (dst, hi))
  | 6 -> with_text (fun k s -> Event_Snapshot (k, s))
  | 7 -> Event_Truncate (number ())
  | tag -> failwith (Printf.sprintf "event %d" tag)

(* --- What they act on. -------------------------------------------------------------------------------------------------- *)

type replica = { mutable state : state; mutable journal : record list (* newest first *); mutable release : release }

let config = ref { config_replicas = 0; config_span = 0; config_window = 0; config_chunk = 0 }
let replicas = ref [||]
let sessions = ref no_sessions
(* Of the commands that try one primitive each. *)
let instances = ref im_empty
let set = ref ns_empty
let map = ref sm_empty

let start () =
  let count = number () in
  let config_replicas = number () in let config_span = number () in
  let config_window = number () in let config_chunk = number () in
  config := { config_replicas; config_span; config_window; config_chunk };
  replicas := Array.init count (fun _ -> { state = init; journal = []; release = no_release });
  sessions := no_sessions; instances := im_empty; set := ns_empty; map := sm_empty

let step_one () =
  let id = number () in
  let e = event () in
  let r = !replicas.(id) in
  let state, outputs = step !config id e r.state in
  r.state <- state;
  List.iter (function Output_Journal record -> r.journal <- record :: r.journal | _ -> ()) outputs;
  mix_list mix_output outputs;
  mix_scalars state;
  List.iter (fun o -> let release, now = pass o r.release in r.release <- release; mix_option mix_output now) outputs
let report_one () =
  two (fun id k ->
    let r = !replicas.(id) in
    let release, now = report k r.release in
    r.release <- release;
    mix_list mix_output now)

let restart () =
  let r = !replicas.(number ()) in
  r.state <- recover !config (List.rev r.journal);
  r.release <- no_release;
  mix_state !config r.state
let shorten () =
  let r = !replicas.(number ()) in
  let records = checkpoint !config r.state in
  r.journal <- List.rev records;
  mix_list mix_record records
let mark () =
  Array.iter (fun r -> mix_state !config r.state; mix_release r.release) !replicas;
  Printf.printf "%x\n" !digest
let with_session act =
  let s, answer = act !sessions in
  sessions := s;
  answer ()

let arithmetic () =
  two (fun a b ->
    mix (N.add a b); mix (N.div a b); mix (N.modulo a b); mix (N.max a b); mix (N.min a b);
    mix_bool (N.ltb a b); mix_bool (N.leb a b); mix_bool (N.eqb a b);
    mix (N.mul (a land 0xffffff) (b land 0xffffff)))

let command = function
  | 0 -> start ()
  | 1 -> step_one ()
  | 2 -> restart ()
  | 3 -> shorten ()
  | 4 -> mark ()
  | 5 -> with_session (fun s -> let s, id = open_session s in (s, fun () -> mix id))
  | 6 -> let id = number () in with_session (fun s -> (forget_session id s, fun () -> ()))
  | 7 -> two (fun id q -> with_session (fun s -> let s, v = admit id q s in (s, fun () -> mix_verdict v)))
  | 8 -> arithmetic ()
  | 9 -> two (fun lo hi -> mix_list mix (app (n_range lo hi) (n_range hi lo)))
  | 10 -> two (fun i v -> instances := im_set i v !instances)
  | 11 -> instances := im_drop_below (number ()) !instances
  | 12 -> let i = number () in mix_option mix (im_get i !instances); mix_bool (im_has i !instances)
  | 13 -> two (fun lo hi -> mix_list (mix_pair mix) (im_range lo hi !instances))
  | 14 -> set := ns_add (number ()) !set; mix (ns_size !set)
  | 15 -> mix_bool (ns_mem (number ()) !set)
  | 16 -> two (fun i v -> map := sm_set i v !map)
  | 17 -> map := sm_remove (number ()) !map
  | 18 -> mix_option mix (sm_get (number ()) !map)
  | 19 -> instances := im_empty; set := ns_empty; map := sm_empty
  | 20 -> report_one ()
  | 21 ->
    let owned = number () = 1 in
    let demand = if number () = 0 then Opens else two (fun id q -> Calls (id, q)) in
    with_session (fun s -> let s, turn = take_turn owned demand s in (s, fun () -> mix_turn turn))
  | tag -> failwith (Printf.sprintf "command %d" tag)

let () =
  set_binary_mode_in input true;
  try while true do command (number ()) done with End_of_file -> ()
