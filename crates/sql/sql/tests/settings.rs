//! Settings at start-up and by SET: what is accepted, and in which form it is shown.

mod common;

use common::{Client, database};
use seriatim_sql::SqlError;
use seriatim_sql::database::Database;
use seriatim_sql::session::Connect;
use std::sync::Arc;

fn connect(database: &Arc<Database>, parameters: &[(&str, &str)]) -> Result<Client, SqlError> {
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let how = Connect { user: "postgres".into(), database: "postgres".into(), parameters, ..Connect::default() };
    Ok(Client { session: database.connect(how)? })
}

#[test]
fn options_are_settings() {
    let database = database();
    let options = r"-c search_path=a\,b --statement-timeout=5s -capplication_name=two\ words -c my.own=1";
    let mut client = connect(&database, &[("options", options), ("application_name", "own")]).unwrap();
    assert_eq!(client.show("show search_path"), "a,b");
    assert_eq!(client.show("show statement_timeout"), "5s");
    assert_eq!(client.show("show application_name"), "own", "parameters come after the options");
    assert_eq!(client.show("set search_path = c; reset search_path; show search_path"), "a,b");
    for (options, code) in
        [("-c nonsense=1", "42704"), ("-c work_mem=x", "22023"), ("-x", "42601"), ("-c server_version=16", "55P02")]
    {
        let error = connect(&database, &[("options", options)]).err().expect(options);
        assert_eq!(error.code(), code, "{options}");
    }
}

/// As PostgreSQL 15 shows them.
#[test]
fn times_and_sizes_are_shown_in_their_largest_unit() {
    let mut client = Client::new(&database());
    for (setting, value, shown) in [
        ("statement_timeout", "'60s'", "1min"),
        ("statement_timeout", "5000", "5s"),
        ("statement_timeout", "1500", "1500ms"),
        ("statement_timeout", "0", "0"),
        ("lock_timeout", "'48 h'", "2d"),
        ("work_mem", "4096", "4MB"),
        ("work_mem", "'1025kB'", "1025kB"),
        ("log_min_duration_statement", "'1000ms'", "1s"),
        ("log_min_duration_statement", "-1", "-1"),
    ] {
        client.run(&format!("set {setting} = {value}"));
        assert_eq!(client.show(&format!("show {setting}")), shown, "{setting} = {value}");
    }
}

/// As PostgreSQL 15 shows them.
#[test]
fn time_zones_have_names_offsets_and_rules() {
    let database = database();
    for (zone, shown, noon) in [
        ("'America/New_York'", "America/New_York", "2020-07-01 08:00:00-04"),
        ("'UTC+3'", "UTC+3", "2020-07-01 09:00:00-03"),
        ("'<+05:30>-05:30'", "<+05:30>-05:30", "2020-07-01 17:30:00+05:30"),
        ("'foo3bar'", "FOO3BAR", "2020-07-01 10:00:00-02"),
        ("'CET-1CEST,M3.5.0,M10.5.0/3'", "CET-1CEST,M3.5.0,M10.5.0/3", "2020-07-01 14:00:00+02"),
        ("5.5", "<+05:30>-05:30", "2020-07-01 17:30:00+05:30"),
        ("-8", "<-08>+08", "2020-07-01 04:00:00-08"),
    ] {
        let mut client = Client::new(&database);
        client.run(&format!("set time zone {zone}"));
        assert_eq!(client.show("show timezone"), shown);
        assert_eq!(client.show("select '2020-07-01 12:00Z'::timestamptz"), noon, "{zone}");
    }
    let mut client = connect(&database, &[("timezone", "EST5EDT,M3.2.0,M11.1.0")]).unwrap();
    assert_eq!(client.show("select '2020-01-01 12:00Z'::timestamptz"), "2020-01-01 07:00:00-05");
    assert_eq!(client.fails("set timezone = 'Nowhere/Land'").code(), "22023");
}

#[test]
fn settings_of_the_planner_are_accepted() {
    let mut client = Client::new(&database());
    client.run("set enable_bitmapscan = off; set cpu_tuple_cost = 0.5; set effective_cache_size = '8GB'");
    assert_eq!(client.show("show effective_cache_size"), "8GB");
    assert_eq!(client.fails("set array_nulls = off").code(), "22023", "NULL in arrays is always read so");
    let same = "select count(*) from pg_settings s join pg_show_all_settings() f using (name, setting) having \
                count(*) = (select count(*) from pg_settings) and count(*) > 100";
    assert_ne!(client.show(same), "");
    let error = client.fails("select pg_is_wal_replay_paused()");
    assert_eq!((error.code(), error.message()), ("55000", "recovery is not in progress"));
    // As pgAdmin asks when it connects.
    client.run(
        "select case when usesuper then pg_is_in_recovery() else false end as inrecovery, \
         case when usesuper and pg_is_in_recovery() then pg_is_wal_replay_paused() else false end as isreplaypaused \
         from pg_catalog.pg_user where usename = current_user; \
         select set_config('bytea_output', 'hex', false) from pg_show_all_settings() where name = 'bytea_output'",
    );
}
