//! The battery that every engine passes, on BOHM: with one planner and one executing thread, with many of both, and with
//! threads that move.

mod common;

use common::{Many, Moving, OneAndOne};

conformance::battery! {
    OneAndOne: procedures programs tickets;
    lacks anomalies "no open transactions: procedures are declared",
    lacks definitions "no open transactions: tests/checkpoint.rs has the drops",
    lacks durability "no open transactions: tests/recovery.rs has it",
    lacks histories "no open transactions: those of procedures are judged in their group",
    lacks limits "no open transactions: tests/paper.rs has the limits",
    lacks memory "no open transactions: tests/memory.rs has the limit",
    lacks mistakes "no open transactions: tests/paper.rs has the mistakes",
    lacks rows "no open transactions",
    lacks savepoints "a body is run to its end",
    lacks serial_points "no open transactions: positions are judged in the group procedures",
    lacks snapshots "no open transactions: tests/paper.rs has the snapshots",
    lacks twin "no open transactions",
    lacks views "a body is run by one thread",
    lacks waits "no procedure waits for an open transaction",
}

/// All groups that [`OneAndOne`] runs.
macro_rules! groups {
    ($module:ident, $subject:ident) => {
        mod $module {
            mod battery {
                use super::super::$subject as Subject;

                groups! {
                    procedures: a_procedure_commits_what_it_wrote opposite_transfers_conserve_the_sum
                        reconnaissance_is_verified concurrent_procedures_are_serializable;
                    programs: a_program_commits_what_it_wrote a_program_that_fails_has_no_effect
                        a_mistake_is_not_retried every_addition_counts_once concurrent_programs_are_serializable;
                    tickets: other_threads_take_the_tickets the_order_of_a_caller_is_kept
                        a_chain_of_procedures_is_not_awaited every_ticket_calls_back
                        a_dropped_ticket_withdraws_nothing a_procedure_that_fails_has_no_effect
                        batches_are_procedures_one_by_one batches_pass_money_on an_undeclared_write_is_refused
                        draws_are_the_same_in_every_attempt a_log_of_calls_runs_again;
                }
            }
        }
    };
    ($($group:ident: $($part:ident)+;)+) => {
        $(mod $group {
            use super::Subject;

            $(#[test]
            fn $part() {
                conformance::$group::$part::<Subject>();
            })+
        })+
    };
}

groups!(many, Many);
groups!(moving, Moving);
