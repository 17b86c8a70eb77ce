//! The contents of the battery: its groups, and the parts of each.

/// The groups of the battery.
pub const GROUPS: [&str; 17] = [
    "anomalies",
    "definitions",
    "durability",
    "histories",
    "limits",
    "memory",
    "mistakes",
    "procedures",
    "programs",
    "rows",
    "savepoints",
    "serial_points",
    "snapshots",
    "tickets",
    "twin",
    "views",
    "waits",
];

/// The scripts of the battery.
pub const SCRIPTS: [&str; 21] = [
    "delete_and_insert_again",
    "dropped_transaction",
    "duplicates",
    "g0_dirty_write",
    "g1a_aborted_read",
    "g1b_intermediate_read",
    "g1c_circular_information_flow",
    "insert_below_a_scanned_gap",
    "insert_of_a_key_found_absent",
    "long_fork",
    "lost_update",
    "phantom",
    "predicate_skew",
    "read_only_anomaly",
    "read_only_transactions",
    "read_skew",
    "savepoint_rollback",
    "savepoint_rolled_back_past",
    "snapshot",
    "unique_entries",
    "write_skew",
];

/// Asserts that each group is either run or listed as lacking, with a reason.
///
/// # Panics
/// If a group is missing, is there twice, or lacks without a reason.
pub fn assert_whole(run: &[&str], lacks: &[(&str, &str)]) {
    println!("groups: {}", run.join(", "));
    for (group, why) in lacks {
        println!("lacks {group}: {why}");
        assert!(!why.trim().is_empty(), "{group} lacks without a reason");
    }
    let mut named: Vec<&str> = run.iter().copied().chain(lacks.iter().map(|(group, _)| *group)).collect();
    named.sort_unstable();
    assert_eq!(named, GROUPS, "each group is run or listed as lacking");
}

/// Runs the battery on an engine: a module for each group, and in it a test for each part.
///
/// ```text
/// conformance::battery! {
///     Subject: anomalies definitions histories limits mistakes programs procedures rows savepoints serial_points
///         tickets twin waits;
///     lacks durability "in memory only",
///     lacks memory "no limit",
///     lacks snapshots "read-only transactions take locks",
///     lacks views "locks belong to one thread",
/// }
/// ```
///
/// A test `the_battery_is_whole` fails unless every group is either run or listed as lacking.
#[macro_export]
macro_rules! battery {
    ($fixture:ty: $($group:ident)+; $(lacks $lacking:ident $why:literal),* $(,)?) => {
        $($crate::battery!(@$group $fixture);)+

        #[test]
        fn the_battery_is_whole() {
            $crate::battery::assert_whole(&[$(stringify!($group)),+], &[$((stringify!($lacking), $why)),*]);
        }
    };
    (@anomalies $fixture:ty) => {
        $crate::battery! { @parts anomalies $fixture:
            g0_dirty_write g1a_aborted_read g1b_intermediate_read g1c_circular_information_flow lost_update read_skew write_skew
            phantom predicate_skew read_only_anomaly long_fork delete_and_insert_again insert_below_a_scanned_gap
            insert_of_a_key_found_absent dropped_transaction duplicates unique_entries
        }
    };
    (@definitions $fixture:ty) => {
        $crate::battery! { @parts definitions $fixture:
            a_table_is_created_once_and_dropped_once an_older_transaction_uses_a_younger_table a_table_is_dropped_under_writers
            a_checkpoint_changes_nothing
        }
    };
    (@durability $fixture:ty) => {
        $crate::battery! { @parts durability $fixture:
            every_acknowledged_transaction_survives_a_crash_at_every_change serial_points_rise_over_crashes
            a_reader_is_acknowledged_when_what_it_read_is_durable an_abort_is_answered_when_what_it_read_is_durable
            a_position_is_awaited_in_three_ways
        }
    };
    (@histories $fixture:ty) => {
        $crate::battery! { @parts histories $fixture:
            two_clients_on_eight_keys four_clients_with_small_parts eight_clients_over_several_leaves
            four_clients_that_own_at_commit four_clients_that_own_at_the_statement four_clients_that_think
            eight_clients_with_long_scans four_clients_that_never_wait four_clients_that_meet_limits
            four_clients_that_read_single_rows two_clients_that_read_single_rows_beside_owners
            a_forged_read_is_refused
        }
    };
    (@limits $fixture:ty) => {
        $crate::battery! { @parts limits $fixture:
            a_key_that_is_too_long_is_refused a_row_that_is_too_long_is_refused too_many_written_rows_are_refused
            too_many_written_bytes_are_refused too_many_open_transactions_are_refused too_many_tables_are_refused
        }
    };
    (@memory $fixture:ty) => {
        $crate::battery! { @parts memory $fixture:
            at_the_limit_only_what_adds_is_refused a_steady_load_near_the_limit_goes_on_for_ever
            a_transaction_that_outgrows_the_memory_leaves_nothing versions_for_an_old_reader_count_and_go_with_it
            a_dropped_table_gives_its_memory_back a_table_is_weighed_by_some_of_its_rows
        }
    };
    (@mistakes $fixture:ty) => {
        $crate::battery! { @parts mistakes $fixture:
            unknown_tables_are_named keys_of_the_wrong_shape_are_refused rows_of_the_wrong_shape_are_refused
            updates_that_make_no_sense_are_refused reads_of_columns_that_are_not_there_are_refused
            scans_of_columns_that_are_not_there_are_refused a_hash_table_has_no_ranges read_only_transactions_refuse_to_write
            duplicates_are_refused_and_change_nothing an_aborted_transaction_keeps_its_reason
        }
    };
    (@procedures $fixture:ty) => {
        $crate::battery! { @parts procedures $fixture:
            a_procedure_commits_what_it_wrote opposite_transfers_conserve_the_sum reconnaissance_is_verified
            concurrent_procedures_are_serializable
        }
    };
    (@programs $fixture:ty) => {
        $crate::battery! { @parts programs $fixture:
            a_program_commits_what_it_wrote a_program_that_fails_has_no_effect a_mistake_is_not_retried every_addition_counts_once
            concurrent_programs_are_serializable
        }
    };
    (@rows $fixture:ty) => {
        $crate::battery! { @parts rows $fixture:
            a_transaction_reads_its_own_writes nothing_outlives_an_abort keys_and_rows_of_every_length_come_back
            a_transaction_may_end_on_another_thread a_panic_of_the_caller_aborts_the_transaction
            a_commit_is_awaited_in_three_ways
        }
    };
    (@savepoints $fixture:ty) => {
        $crate::battery! { @parts savepoints $fixture:
            random_rollbacks_answer_as_the_twin random_rollbacks_of_owners_answer_as_the_twin
            serial_points_with_rollbacks_replay_on_the_twin a_rollback_restores_what_stood_at_the_savepoint
            a_released_savepoint_keeps_what_was_written an_abort_after_rollbacks_restores_the_beginning
            a_savepoint_belongs_to_its_transaction savepoint_rollback savepoint_rolled_back_past
        }
    };
    (@serial_points $fixture:ty) => {
        $crate::battery! { @parts serial_points $fixture:
            serial_points_rise_with_real_time a_forged_serial_point_is_refused
        }
    };
    (@snapshots $fixture:ty) => {
        $crate::battery! { @parts snapshots $fixture:
            a_reader_sees_the_state_at_its_begin readers_of_all_ages_see_their_own_moment
            a_settled_reader_waits_for_older_writers_and_delays_nobody snapshot read_only_transactions
        }
    };
    (@tickets $fixture:ty) => {
        $crate::battery! { @parts tickets $fixture:
            other_threads_take_the_tickets the_order_of_a_caller_is_kept a_chain_of_procedures_is_not_awaited
            every_ticket_calls_back a_dropped_ticket_withdraws_nothing a_procedure_that_fails_has_no_effect
            batches_are_procedures_one_by_one batches_pass_money_on an_undeclared_write_is_refused draws_are_the_same_in_every_attempt a_log_of_calls_runs_again
        }
    };
    (@twin $fixture:ty) => {
        $crate::battery! { @parts twin $fixture:
            an_ordered_table_is_its_twin a_hash_table_is_its_twin owning_at_the_statement_answers_the_same
            the_serial_points_replay_on_the_twin the_serial_points_replay_on_the_twin_with_hash_tables
            the_serial_points_replay_on_the_twin_with_small_parts
        }
    };
    (@views $fixture:ty) => {
        $crate::battery! { @parts views $fixture:
            threads_see_what_their_transaction_sees batches_hold_the_rows_of_a_scan
        }
    };
    (@waits $fixture:ty) => {
        $crate::battery! { @parts waits $fixture:
            the_younger_waits_and_sees_what_was_committed the_younger_waits_and_sees_what_stood_before_an_abort
            an_insert_waits_for_an_insert two_that_want_each_others_rows_do_not_deadlock a_wait_has_a_limit
            a_wait_can_be_ended_from_outside nobody_starves_and_nothing_is_lost rows_that_nobody_writes_are_read_at_once
        }
    };
    (@parts $group:ident $fixture:ty: $($part:ident)+) => {
        mod $group {
            use super::*;

            $(
                #[test]
                fn $part() {
                    $crate::$group::$part::<$fixture>();
                }
            )+
        }
    };
}
