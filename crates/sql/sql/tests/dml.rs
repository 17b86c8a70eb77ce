//! INSERT, UPDATE, DELETE, COPY and the constraints, in PostgreSQL's words. Every answer here is PostgreSQL 15's own.

mod common;

use common::{Answer, Client, database, databases};
use seriatim_sql::Result;
use seriatim_sql::session::Outcome;

/// Runs statements and compares what each is answered: its rows as `psql -At` prints them and its tag, or the error's
/// code, message, detail, hint and context. `COPY ... <<< data` is COPY FROM STDIN of the data.
#[track_caller]
fn script(steps: &[(&str, &str)]) {
    for database in databases() {
        let mut client = Client::new(&database);
        for (statement, expected) in steps {
            assert_eq!(answer(&mut client, statement), *expected, "{statement}");
        }
    }
}

fn answer(client: &mut Client, statement: &str) -> String {
    let answer = match statement.split_once(" <<< ") {
        Some((copy, data)) => copy_in(client, copy, data),
        None => client.try_run(statement),
    };
    match answer {
        Ok(answer) => {
            let mut lines: Vec<String> = answer.rows.iter().map(|row| row.join("|").replace("<null>", "")).collect();
            for line in &mut lines {
                line.truncate(line.trim_end_matches('\n').len());
            }
            lines.extend(answer.tags.into_iter().filter(|tag| !tag.starts_with("SELECT")));
            lines.join("\n")
        }
        Err(error) => {
            let fields = error.fields();
            let mut text = format!("{}: {}", fields.code, fields.message);
            for (name, field) in [("DETAIL", &fields.detail), ("HINT", &fields.hint), ("CONTEXT", &fields.context)] {
                if let Some(field) = field {
                    text += &format!("\n{name}: {field}");
                }
            }
            text
        }
    }
}

fn copy_in(client: &mut Client, copy: &str, data: &str) -> Result<Answer> {
    let mut answer = Answer::default();
    match client.session.simple(copy, &mut answer)? {
        Outcome::CopyIn { .. } => {}
        other => panic!("{copy}: {other:?}"),
    }
    // A client that cuts its data anywhere.
    for piece in data.as_bytes().chunks(3) {
        client.session.copy_data(piece)?;
    }
    client.session.copy_done(&mut answer)?;
    Ok(answer)
}

/// OVERRIDING belongs to its own INSERT, wherever that stands.
#[test]
fn overriding_counts_where_it_is_written() {
    let database = database();
    let mut client = Client::new(&database);
    client.run("create table a (id int generated always as identity, n int); create table b (id int, n int); create table c (id int generated always as identity)");
    client.run("with i as (insert into a overriding system value values (7, 1) returning id) insert into b (id) select id from i");
    assert_eq!(client.show("select id from a union all select id from b"), "7\n7");
    client.run("with i as (insert into a (id, n) overriding user value values (70, 2) returning id) insert into b select id from i");
    assert_eq!(client.show("select id from a where n = 2"), "1");
    let refused =
        client.try_run("with i as (insert into b overriding system value values (9)) insert into c values (9)");
    assert_eq!(refused.unwrap_err().code(), "428C9");
}

#[test]
fn a_reference_conflicts_with_the_key_only() {
    let database = database();
    let (mut parent, mut child) = (Client::new(&database), Client::new(&database));
    parent.run("create table p (id int primary key, x int); insert into p values (1, 0)");
    parent.run("create table c (p int references p)");
    child.run("begin; insert into c values (1)");
    parent.run("begin; update p set x = x + 1 where id = 1; commit");
    child.run("commit");
    assert_eq!(parent.show("select x, (select count(*) from c) from p"), "1|1");
}

#[test]
fn a_parent_does_not_go_while_a_child_comes() {
    let database = database();
    let (mut parent, mut child) = (Client::new(&database), Client::new(&database));
    parent.run("create table p (id int primary key); insert into p values (1), (2)");
    parent.run("create table c (p int references p)");
    // Each waits for the other's end, or comes after it: either way it sees what the other did.
    child.run("begin; insert into c values (1)");
    let deleted = std::thread::spawn(move || (parent.fails("delete from p where id = 1"), parent));
    child.run("commit");
    let (error, mut parent) = deleted.join().expect("the other session");
    assert_eq!(
        error.message(),
        "update or delete on table \"p\" violates foreign key constraint \"c_p_fkey\" on table \"c\""
    );
    parent.run("begin; delete from p where id = 2");
    let inserted = std::thread::spawn(move || child.fails("insert into c values (2)"));
    parent.run("commit");
    let error = inserted.join().expect("the other session");
    assert_eq!(error.message(), "insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\"");
}

#[test]
fn rows_must_fulfil_their_constraints() {
    script(&[
        (
            "create table t (id int primary key, a int check (a > 0), b text not null, c int default 7, constraint ab check (a < 100))",
            "CREATE TABLE",
        ),
        ("insert into t values (1, 1, 'x'), (2, 2, 'y')", "INSERT 0 2"),
        (
            "insert into t values (1, 9, 'z')",
            "23505: duplicate key value violates unique constraint \"t_pkey\"\nDETAIL: Key (id)=(1) already exists.",
        ),
        (
            "insert into t values (3, 0, 'x')",
            "23514: new row for relation \"t\" violates check constraint \"t_a_check\"\nDETAIL: Failing row contains (3, 0, x, 7).",
        ),
        (
            "insert into t values (3, 200, 'x')",
            "23514: new row for relation \"t\" violates check constraint \"ab\"\nDETAIL: Failing row contains (3, 200, x, 7).",
        ),
        (
            "insert into t values (3, 1, null)",
            "23502: null value in column \"b\" of relation \"t\" violates not-null constraint\nDETAIL: Failing row contains (3, 1, null, 7).",
        ),
        (
            "insert into t (id, a) values (3, 1)",
            "23502: null value in column \"b\" of relation \"t\" violates not-null constraint\nDETAIL: Failing row contains (3, 1, null, 7).",
        ),
        (
            "insert into t values (null, 1, 'x')",
            "23502: null value in column \"id\" of relation \"t\" violates not-null constraint\nDETAIL: Failing row contains (null, 1, x, 7).",
        ),
        (
            "insert into t values (3, 1, repeat('x', 100)), (4, -1, repeat('x', 100))",
            "23514: new row for relation \"t\" violates check constraint \"t_a_check\"\nDETAIL: Failing row contains (4, -1, xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..., 7).",
        ),
        (
            "update t set b = null where id = 1",
            "23502: null value in column \"b\" of relation \"t\" violates not-null constraint\nDETAIL: Failing row contains (1, 1, null, 7).",
        ),
        (
            "update t set a = a - 1 where id = 1",
            "23514: new row for relation \"t\" violates check constraint \"t_a_check\"\nDETAIL: Failing row contains (1, 0, x, 7).",
        ),
        (
            "update t set id = 2 where id = 1",
            "23505: duplicate key value violates unique constraint \"t_pkey\"\nDETAIL: Key (id)=(2) already exists.",
        ),
        ("select * from t order by id", "1|1|x|7\n2|2|y|7"),
    ]);
}

#[test]
fn several_rows_are_written_together_or_not_at_all() {
    script(&[
        ("create table t (id int primary key, u text unique)", "CREATE TABLE"),
        (
            "insert into t values (1, 'a'), (2, 'b'), (3, 'a')",
            "23505: duplicate key value violates unique constraint \"t_u_key\"\nDETAIL: Key (u)=(a) already exists.",
        ),
        ("select count(*) from t", "0"),
        ("begin", "BEGIN"),
        ("insert into t values (1, 'a')", "INSERT 0 1"),
        ("savepoint s", "SAVEPOINT"),
        (
            "insert into t values (2, 'b'), (3, 'a')",
            "23505: duplicate key value violates unique constraint \"t_u_key\"\nDETAIL: Key (u)=(a) already exists.",
        ),
        ("rollback to s", "ROLLBACK"),
        ("insert into t values (2, 'b')", "INSERT 0 1"),
        ("commit", "COMMIT"),
        ("select * from t order by id", "1|a\n2|b"),
        ("insert into t values (4, null), (5, null)", "INSERT 0 2"),
        (
            "update t set u = 'z' where id >= 4",
            "23505: duplicate key value violates unique constraint \"t_u_key\"\nDETAIL: Key (u)=(z) already exists.",
        ),
        ("select id, u from t order by id", "1|a\n2|b\n4|\n5|"),
    ]);
}

#[test]
fn a_statement_sees_the_state_at_its_start() {
    script(&[
        ("create table t (id int primary key, k int)", "CREATE TABLE"),
        ("create index t_k on t (k)", "CREATE INDEX"),
        ("insert into t values (1, 1), (2, 2), (3, 3)", "INSERT 0 3"),
        ("update t set k = k + 1 where k > 0", "UPDATE 3"),
        ("select * from t order by id", "1|2\n2|3\n3|4"),
        ("update t set k = (select max(k) from t) + 1", "UPDATE 3"),
        ("select * from t order by id", "1|5\n2|5\n3|5"),
        ("insert into t select id + 10, k from t", "INSERT 0 3"),
        ("select count(*) from t", "6"),
        ("insert into t select id + 100, k from t returning (select count(*) from t)", "6\n6\n6\n6\n6\n6\nINSERT 0 6"),
        (
            "update t set id = id + 1000 where id > 100 returning id, (select count(*) from t where id > 1000)",
            "1101|0\n1102|0\n1103|0\n1111|0\n1112|0\n1113|0\nUPDATE 6",
        ),
        (
            "delete from t where k = (select max(k) from t) returning id",
            "1\n2\n3\n11\n12\n13\n1101\n1102\n1103\n1111\n1112\n1113\nDELETE 12",
        ),
        ("select count(*) from t", "0"),
        ("create table n (a int)", "CREATE TABLE"),
        ("insert into n values (1), (2)", "INSERT 0 2"),
        ("insert into n select a + 10 from n", "INSERT 0 2"),
        ("select * from n order by a", "1\n2\n11\n12"),
    ]);
}

#[test]
fn keys_change_row_by_row() {
    script(&[
        ("create table t (id int primary key, u int unique)", "CREATE TABLE"),
        ("insert into t values (1, 10), (2, 20), (3, 30)", "INSERT 0 3"),
        (
            "update t set id = id + 1",
            "23505: duplicate key value violates unique constraint \"t_pkey\"\nDETAIL: Key (id)=(2) already exists.",
        ),
        ("update t set id = id + 10", "UPDATE 3"),
        ("select id, u from t order by id", "11|10\n12|20\n13|30"),
        (
            "update t set u = 10 where id = 12",
            "23505: duplicate key value violates unique constraint \"t_u_key\"\nDETAIL: Key (u)=(10) already exists.",
        ),
        ("update t set id = 13 - id where id = 13", "UPDATE 1"),
        ("select id, u from t order by id", "0|30\n11|10\n12|20"),
        ("update t set id = 5, u = 5 where id = 11 returning *", "5|5\nUPDATE 1"),
        ("select id from t where u = 5", "5"),
        ("select id from t where u = 10", ""),
        ("insert into t values (11, 10)", "INSERT 0 1"),
        ("select id, u from t order by id", "0|30\n5|5\n11|10\n12|20"),
    ]);
}

#[test]
fn a_row_that_comes_twice_is_changed_once() {
    script(&[
        ("create table t (id int primary key, n int)", "CREATE TABLE"),
        ("create table f (id int)", "CREATE TABLE"),
        ("insert into t values (1, 0), (2, 0)", "INSERT 0 2"),
        ("insert into f values (1), (1), (2)", "INSERT 0 3"),
        ("update t set n = n + 1 from f where f.id = t.id", "UPDATE 2"),
        ("select * from t order by id", "1|1\n2|1"),
        ("delete from t using f where f.id = t.id returning t.id", "1\n2\nDELETE 2"),
        ("select count(*) from t", "0"),
    ]);
}

#[test]
fn on_conflict_passes_over_or_updates() {
    script(&[
        ("create table t (id int primary key, u text unique, n int default 0 check (n < 10))", "CREATE TABLE"),
        ("insert into t values (1, 'a')", "INSERT 0 1"),
        ("insert into t values (1, 'x') on conflict do nothing", "INSERT 0 0"),
        (
            "insert into t values (2, 'a') on conflict (id) do nothing",
            "23505: duplicate key value violates unique constraint \"t_u_key\"\nDETAIL: Key (u)=(a) already exists.",
        ),
        ("insert into t values (2, 'b'), (2, 'c'), (3, 'b') on conflict do nothing returning *", "2|b|0\nINSERT 0 1"),
        (
            "insert into t values (1, 'q') on conflict (id) do update set u = excluded.u, n = t.n + 1 returning *",
            "1|q|1\nINSERT 0 1",
        ),
        ("insert into t values (1, 'r') on conflict (id) do update set u = excluded.u where t.n > 5", "INSERT 0 0"),
        ("insert into t values (5, 'b') on conflict (u) do update set n = 9 returning *", "2|b|9\nINSERT 0 1"),
        (
            "insert into t values (5, 'b') on conflict (u) do update set n = t.n + 1",
            "23514: new row for relation \"t\" violates check constraint \"t_n_check\"\nDETAIL: Failing row contains (2, b, 10).",
        ),
        (
            "insert into t values (7, 'x'), (7, 'y') on conflict (id) do update set u = excluded.u",
            "21000: ON CONFLICT DO UPDATE command cannot affect row a second time\nHINT: Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
        ),
        (
            "insert into t values (1, 'b') on conflict (id) do update set u = excluded.u",
            "23505: duplicate key value violates unique constraint \"t_u_key\"\nDETAIL: Key (u)=(b) already exists.",
        ),
        (
            "insert into t values (8, 'z', 20) on conflict (id) do nothing",
            "23514: new row for relation \"t\" violates check constraint \"t_n_check\"\nDETAIL: Failing row contains (8, z, 20).",
        ),
        ("insert into t values (8, null) on conflict (u) do nothing", "INSERT 0 1"),
        (
            "insert into t values (2, 'n') on conflict (id) do update set id = 20, u = null returning *",
            "20||9\nINSERT 0 1",
        ),
        ("select * from t order by id", "1|q|1\n8||0\n20||9"),
    ]);
}

/// A row that is updated leaves its old key to the rows after it.
#[test]
fn on_conflict_leaves_a_key_that_moves() {
    script(&[
        ("create table k (a int unique, b int)", "CREATE TABLE"),
        ("insert into k values (1, 1)", "INSERT 0 1"),
        ("insert into k values (1, 10), (1, 20) on conflict (a) do update set a = excluded.a + 100", "INSERT 0 2"),
        ("select * from k order by a", "1|20\n101|1"),
        // The third row meets the second, which the statement has inserted itself.
        (
            "insert into k values (1, 10), (1, 20), (1, 30) on conflict (a) do update set a = excluded.a + 200",
            "21000: ON CONFLICT DO UPDATE command cannot affect row a second time\nHINT: Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
        ),
        (
            "insert into k values (101, 10), (301, 20) on conflict (a) do update set a = 301",
            "21000: ON CONFLICT DO UPDATE command cannot affect row a second time\nHINT: Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
        ),
        (
            "insert into k values (1, 10), (1, 20) on conflict (a) do update set b = 0",
            "21000: ON CONFLICT DO UPDATE command cannot affect row a second time\nHINT: Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
        ),
        ("select * from k order by a", "1|20\n101|1"),
        ("create table t (id int primary key, u text unique, n int default 0)", "CREATE TABLE"),
        ("create unique index on t (lower(u)) where n < 5", "CREATE INDEX"),
        ("insert into t values (1, 'a')", "INSERT 0 1"),
        (
            "insert into t values (1, 'b'), (1, 'a') on conflict (id) do update set id = 2, u = excluded.u returning *",
            "2|b|0\n1|a|0\nINSERT 0 2",
        ),
        (
            "insert into t values (3, 'A'), (4, 'A') on conflict (lower(u)) where n < 5 do update set n = 7 returning *",
            "1|a|7\n4|A|0\nINSERT 0 2",
        ),
        ("select * from t order by id", "1|a|7\n2|b|0\n4|A|0"),
        ("select id from t where lower(u) = 'a' and n < 5", "4"),
        ("insert into t values (5, 'a') on conflict (u) do update set n = 8 returning *", "1|a|8\nINSERT 0 1"),
    ]);
}

#[test]
fn generated_columns_follow() {
    script(&[
        (
            "create table t (id int generated always as identity primary key, a int, b int generated always as (a * 2) stored check (b < 100))",
            "CREATE TABLE",
        ),
        ("insert into t (a) values (1), (2) returning *", "1|1|2\n2|2|4\nINSERT 0 2"),
        ("update t set a = 10 where id = 1 returning *", "1|10|20\nUPDATE 1"),
        (
            "update t set a = 50 where id = 1",
            "23514: new row for relation \"t\" violates check constraint \"t_b_check\"\nDETAIL: Failing row contains (1, 50, 100).",
        ),
        (
            "insert into t (a) values (99)",
            "23514: new row for relation \"t\" violates check constraint \"t_b_check\"\nDETAIL: Failing row contains (3, 99, 198).",
        ),
        (
            "insert into t (a, b) values (1, 2)",
            "428C9: cannot insert a non-DEFAULT value into column \"b\"\nDETAIL: Column \"b\" is a generated column.",
        ),
        (
            "insert into t (id, a) values (7, 1)",
            "428C9: cannot insert a non-DEFAULT value into column \"id\"\nDETAIL: Column \"id\" is an identity column defined as GENERATED ALWAYS.\nHINT: Use OVERRIDING SYSTEM VALUE to override.",
        ),
    ]);
}

#[test]
fn a_foreign_key_refers_to_what_is_there() {
    script(&[
        ("create table p (id int primary key, u text unique)", "CREATE TABLE"),
        ("create table c (id int primary key, pid int references p, pu text references p (u))", "CREATE TABLE"),
        ("insert into p values (1, 'x'), (2, 'y')", "INSERT 0 2"),
        ("insert into c values (1, 1, 'x'), (2, null, null)", "INSERT 0 2"),
        (
            "insert into c values (3, 9, 'x')",
            "23503: insert or update on table \"c\" violates foreign key constraint \"c_pid_fkey\"\nDETAIL: Key (pid)=(9) is not present in table \"p\".",
        ),
        (
            "insert into c values (3, 1, 'z')",
            "23503: insert or update on table \"c\" violates foreign key constraint \"c_pu_fkey\"\nDETAIL: Key (pu)=(z) is not present in table \"p\".",
        ),
        (
            "insert into c values (3, 1, null), (4, 3, null)",
            "23503: insert or update on table \"c\" violates foreign key constraint \"c_pid_fkey\"\nDETAIL: Key (pid)=(3) is not present in table \"p\".",
        ),
        (
            "update c set pid = 3 where id = 1",
            "23503: insert or update on table \"c\" violates foreign key constraint \"c_pid_fkey\"\nDETAIL: Key (pid)=(3) is not present in table \"p\".",
        ),
        ("update c set pid = 2 where id = 1", "UPDATE 1"),
        (
            "delete from p where id = 2",
            "23503: update or delete on table \"p\" violates foreign key constraint \"c_pid_fkey\" on table \"c\"\nDETAIL: Key (id)=(2) is still referenced from table \"c\".",
        ),
        (
            "delete from p where id = 1",
            "23503: update or delete on table \"p\" violates foreign key constraint \"c_pu_fkey\" on table \"c\"\nDETAIL: Key (u)=(x) is still referenced from table \"c\".",
        ),
        (
            "update p set id = 5 where id = 2",
            "23503: update or delete on table \"p\" violates foreign key constraint \"c_pid_fkey\" on table \"c\"\nDETAIL: Key (id)=(2) is still referenced from table \"c\".",
        ),
        (
            "update p set u = 'w' where id = 1",
            "23503: update or delete on table \"p\" violates foreign key constraint \"c_pu_fkey\" on table \"c\"\nDETAIL: Key (u)=(x) is still referenced from table \"c\".",
        ),
        ("update p set u = 'y' where id = 2", "UPDATE 1"),
        ("update c set pid = null, pu = null", "UPDATE 2"),
        ("delete from p", "DELETE 2"),
        ("select * from c order by id", "1||\n2||"),
    ]);
}

#[test]
fn references_within_a_statement() {
    script(&[
        ("create table e (id int primary key, boss int references e)", "CREATE TABLE"),
        ("insert into e values (1, 2), (2, 1), (3, 3)", "INSERT 0 3"),
        (
            "insert into e values (4, 5)",
            "23503: insert or update on table \"e\" violates foreign key constraint \"e_boss_fkey\"\nDETAIL: Key (boss)=(5) is not present in table \"e\".",
        ),
        (
            "delete from e where id = 1",
            "23503: update or delete on table \"e\" violates foreign key constraint \"e_boss_fkey\" on table \"e\"\nDETAIL: Key (id)=(1) is still referenced from table \"e\".",
        ),
        ("delete from e where id in (1, 2)", "DELETE 2"),
        ("select * from e", "3|3"),
        ("delete from e", "DELETE 1"),
        ("insert into e values (1, null), (2, 1), (3, 2)", "INSERT 0 3"),
        (
            "update e set id = id + 10",
            "23503: update or delete on table \"e\" violates foreign key constraint \"e_boss_fkey\" on table \"e\"\nDETAIL: Key (id)=(1) is still referenced from table \"e\".",
        ),
        ("update e set boss = null", "UPDATE 3"),
        ("update e set id = id + 10", "UPDATE 3"),
        ("select * from e order by id", "11|\n12|\n13|"),
    ]);
}

#[test]
fn cascades_reach_everything() {
    script(&[
        ("create table a (id int primary key)", "CREATE TABLE"),
        ("create table b (id int primary key, a int references a on delete cascade on update cascade)", "CREATE TABLE"),
        (
            "create table c (id int primary key, b int references b on delete cascade on update cascade, n int generated always as (b * 10) stored)",
            "CREATE TABLE",
        ),
        ("create index c_b on c (b)", "CREATE INDEX"),
        ("insert into a values (1), (2)", "INSERT 0 2"),
        ("insert into b values (10, 1), (11, 1), (20, 2)", "INSERT 0 3"),
        ("insert into c values (100, 10), (101, 11), (200, 20)", "INSERT 0 3"),
        ("update a set id = id + 5", "UPDATE 2"),
        ("select * from b order by id", "10|6\n11|6\n20|7"),
        ("update b set id = id + 1000 where id = 20", "UPDATE 1"),
        ("select * from c order by id", "100|10|100\n101|11|110\n200|1020|10200"),
        ("delete from a where id = 6", "DELETE 1"),
        ("select * from b order by id", "1020|7"),
        ("select * from c order by id", "200|1020|10200"),
        ("create table tree (id int primary key, up int references tree on delete cascade)", "CREATE TABLE"),
        ("insert into tree select n, nullif(n - 1, 0) from generate_series(1, 100) n", "INSERT 0 100"),
        ("delete from tree where id = 1", "DELETE 1"),
        ("select count(*) from tree", "0"),
    ]);
}

#[test]
fn set_null_and_set_default() {
    script(&[
        ("create table p (id int primary key)", "CREATE TABLE"),
        ("insert into p values (0), (1), (2), (3)", "INSERT 0 4"),
        (
            "create table n (id int primary key, p int references p on delete set null on update set null)",
            "CREATE TABLE",
        ),
        (
            "create table d (id int primary key, p int default 0 references p on delete set default on update set default)",
            "CREATE TABLE",
        ),
        ("create table r (id int primary key, p int not null references p on delete set null)", "CREATE TABLE"),
        ("insert into n values (1, 1), (2, 2)", "INSERT 0 2"),
        ("insert into d values (1, 1), (2, 2)", "INSERT 0 2"),
        ("delete from p where id = 1", "DELETE 1"),
        ("update p set id = 20 where id = 2", "UPDATE 1"),
        ("select * from n order by id", "1|\n2|"),
        ("select * from d order by id", "1|0\n2|0"),
        (
            "delete from p where id = 0",
            "23503: update or delete on table \"p\" violates foreign key constraint \"d_p_fkey\" on table \"d\"\nDETAIL: Key (id)=(0) is still referenced from table \"d\".",
        ),
        ("insert into r values (1, 3)", "INSERT 0 1"),
        (
            "delete from p where id = 3",
            "23502: null value in column \"p\" of relation \"r\" violates not-null constraint\nDETAIL: Failing row contains (1, null).",
        ),
        ("select * from p order by id", "0\n3\n20"),
    ]);
}

/// A key that only looks different is handed on by CASCADE; a reference that only looks different is still the same reference.
#[test]
fn cascades_hand_on_how_a_key_looks() {
    script(&[
        ("create table p (n numeric primary key)", "CREATE TABLE"),
        ("create table c (id int primary key, n numeric references p on update cascade)", "CREATE TABLE"),
        ("create table s (n numeric primary key references s on update cascade)", "CREATE TABLE"),
        ("create table a (n numeric references p)", "CREATE TABLE"),
        ("create table r (n numeric references p on update restrict)", "CREATE TABLE"),
        ("insert into p values (1.0), (2.0)", "INSERT 0 2"),
        ("insert into c values (1, 1.0), (2, 1)", "INSERT 0 2"),
        ("insert into a values (1)", "INSERT 0 1"),
        ("insert into s values (1.0)", "INSERT 0 1"),
        ("update p set n = 1.00 where n = 1", "UPDATE 1"),
        ("select * from c order by id", "1|1.00\n2|1.00"),
        ("select * from a", "1"),
        ("update s set n = 1.00", "UPDATE 1"),
        ("select * from s", "1.00"),
        ("update c set n = 1.000 where id = 2", "UPDATE 1"),
        ("select * from c order by id", "1|1.00\n2|1.000"),
        ("insert into r values (2.00)", "INSERT 0 1"),
        ("update p set n = 2.0 where n = 2", "UPDATE 1"),
        (
            "update p set n = 2.00 where n = 2",
            "23503: update or delete on table \"p\" violates foreign key constraint \"r_n_fkey\" on table \"r\"\nDETAIL: Key (n)=(2.0) is still referenced from table \"r\".",
        ),
    ]);
}

#[test]
fn restrict_and_no_action() {
    script(&[
        ("create table p (id int primary key, x int)", "CREATE TABLE"),
        ("create table r (p int references p on delete restrict on update restrict)", "CREATE TABLE"),
        ("insert into p values (1, 1), (2, 2)", "INSERT 0 2"),
        ("insert into r values (1)", "INSERT 0 1"),
        (
            "delete from p where id = 1",
            "23503: update or delete on table \"p\" violates foreign key constraint \"r_p_fkey\" on table \"r\"\nDETAIL: Key (id)=(1) is still referenced from table \"r\".",
        ),
        (
            "update p set id = 3 where id = 1",
            "23503: update or delete on table \"p\" violates foreign key constraint \"r_p_fkey\" on table \"r\"\nDETAIL: Key (id)=(1) is still referenced from table \"r\".",
        ),
        ("update p set x = 5 where id = 1", "UPDATE 1"),
        ("update p set id = 1 where id = 1", "UPDATE 1"),
        ("delete from p where id = 2", "DELETE 1"),
    ]);
}

#[test]
fn several_columns_and_match_full() {
    script(&[
        ("create table p (a int, b int, primary key (a, b))", "CREATE TABLE"),
        ("create table s (a int, b int, foreign key (a, b) references p)", "CREATE TABLE"),
        ("create table f (a int, b int, foreign key (b, a) references p (b, a) match full)", "CREATE TABLE"),
        ("insert into p values (1, 2)", "INSERT 0 1"),
        ("insert into s values (1, null), (null, 9), (1, 2)", "INSERT 0 3"),
        (
            "insert into s values (2, 1)",
            "23503: insert or update on table \"s\" violates foreign key constraint \"s_a_b_fkey\"\nDETAIL: Key (a, b)=(2, 1) is not present in table \"p\".",
        ),
        (
            "insert into f values (1, null)",
            "23503: insert or update on table \"f\" violates foreign key constraint \"f_b_a_fkey\"\nDETAIL: MATCH FULL does not allow mixing of null and nonnull key values.",
        ),
        ("insert into f values (null, null), (1, 2)", "INSERT 0 2"),
        (
            "insert into f values (2, 1)",
            "23503: insert or update on table \"f\" violates foreign key constraint \"f_b_a_fkey\"\nDETAIL: Key (b, a)=(1, 2) is not present in table \"p\".",
        ),
        (
            "delete from p",
            "23503: update or delete on table \"p\" violates foreign key constraint \"s_a_b_fkey\" on table \"s\"\nDETAIL: Key (a, b)=(1, 2) is still referenced from table \"s\".",
        ),
    ]);
}

#[test]
fn other_types_refer_too() {
    script(&[
        ("create table p (id bigint primary key, n numeric unique)", "CREATE TABLE"),
        ("create table c (id int references p, n int references p (n))", "CREATE TABLE"),
        ("insert into p values (1, 2.0), (3000000000, 2.5)", "INSERT 0 2"),
        ("insert into c values (1, 2)", "INSERT 0 1"),
        (
            "insert into c values (3, null)",
            "23503: insert or update on table \"c\" violates foreign key constraint \"c_id_fkey\"\nDETAIL: Key (id)=(3) is not present in table \"p\".",
        ),
        (
            "insert into c values (null, 3)",
            "23503: insert or update on table \"c\" violates foreign key constraint \"c_n_fkey\"\nDETAIL: Key (n)=(3) is not present in table \"p\".",
        ),
        ("delete from p where id = 3000000000", "DELETE 1"),
        (
            "delete from p where id = 1",
            "23503: update or delete on table \"p\" violates foreign key constraint \"c_id_fkey\" on table \"c\"\nDETAIL: Key (id)=(1) is still referenced from table \"c\".",
        ),
    ]);
}

#[test]
fn deferred_keys_are_checked_at_commit() {
    script(&[
        ("create table p (id int primary key)", "CREATE TABLE"),
        (
            "create table c (id int primary key, p int constraint c_p references p deferrable initially deferred)",
            "CREATE TABLE",
        ),
        ("create table i (p int constraint i_p references p deferrable)", "CREATE TABLE"),
        ("begin", "BEGIN"),
        ("insert into c values (1, 1)", "INSERT 0 1"),
        ("insert into p values (1)", "INSERT 0 1"),
        ("commit", "COMMIT"),
        ("begin", "BEGIN"),
        ("insert into c values (2, 2)", "INSERT 0 1"),
        (
            "commit",
            "23503: insert or update on table \"c\" violates foreign key constraint \"c_p\"\nDETAIL: Key (p)=(2) is not present in table \"p\".",
        ),
        ("begin", "BEGIN"),
        ("insert into c values (3, 3)", "INSERT 0 1"),
        (
            "set constraints all immediate",
            "23503: insert or update on table \"c\" violates foreign key constraint \"c_p\"\nDETAIL: Key (p)=(3) is not present in table \"p\".",
        ),
        ("rollback", "ROLLBACK"),
        ("begin", "BEGIN"),
        ("delete from p where id = 1", "DELETE 1"),
        ("insert into p values (1)", "INSERT 0 1"),
        ("commit", "COMMIT"),
        ("begin", "BEGIN"),
        ("delete from p where id = 1", "DELETE 1"),
        (
            "commit",
            "23503: update or delete on table \"p\" violates foreign key constraint \"c_p\" on table \"c\"\nDETAIL: Key (id)=(1) is still referenced from table \"c\".",
        ),
        ("begin", "BEGIN"),
        ("set constraints i_p deferred", "SET CONSTRAINTS"),
        ("insert into i values (7)", "INSERT 0 1"),
        ("delete from i", "DELETE 1"),
        ("insert into i values (1)", "INSERT 0 1"),
        ("commit", "COMMIT"),
        ("begin", "BEGIN"),
        (
            "insert into i values (8)",
            "23503: insert or update on table \"i\" violates foreign key constraint \"i_p\"\nDETAIL: Key (p)=(8) is not present in table \"p\".",
        ),
        ("rollback", "ROLLBACK"),
        ("begin", "BEGIN"),
        ("savepoint s", "SAVEPOINT"),
        ("insert into c values (9, 9)", "INSERT 0 1"),
        ("rollback to s", "ROLLBACK"),
        ("commit", "COMMIT"),
        ("select * from c order by id", "1|1"),
        ("begin", "BEGIN"),
        ("set constraints nosuch deferred", r#"42704: constraint "nosuch" does not exist"#),
        ("rollback", "ROLLBACK"),
    ]);
}

#[test]
fn copy_writes_rows_as_insert_does() {
    script(&[
        ("create table p (id int primary key, u text unique)", "CREATE TABLE"),
        (
            "create table c (id serial primary key, p int references p, a int check (a > 0), b text not null default 'd', g int generated always as (a + 1) stored)",
            "CREATE TABLE",
        ),
        ("copy p from stdin <<< 1	x\n2	\\N\n", "COPY 2"),
        ("copy c (p, a) from stdin <<< 1	5\n\\N	6\n", "COPY 2"),
        ("select * from c order by id", "1|1|5|d|6\n2||6|d|7"),
        (
            "copy p from stdin <<< 3	q\n1	r\n",
            "23505: duplicate key value violates unique constraint \"p_pkey\"\nDETAIL: Key (id)=(1) already exists.\nCONTEXT: COPY p, line 2",
        ),
        (
            "copy p from stdin <<< 3	q\nx	r\n",
            "22P02: invalid input syntax for type integer: \"x\"\nCONTEXT: COPY p, line 2, column id: \"x\"",
        ),
        (
            "copy p from stdin <<< 3	q	r\n",
            "22P04: extra data after last expected column\nCONTEXT: COPY p, line 1: \"3	q	r\"",
        ),
        ("copy p from stdin <<< 3\n", "22P04: missing data for column \"u\"\nCONTEXT: COPY p, line 1: \"3\""),
        (
            "copy c (p, a) from stdin <<< 1	1\n1	0\n",
            "23514: new row for relation \"c\" violates check constraint \"c_a_check\"\nDETAIL: Failing row contains (4, 1, 0, d, 1).\nCONTEXT: COPY c, line 2: \"1	0\"",
        ),
        (
            "copy c (p, a, b) from stdin <<< 1	1	\\N\n",
            "23502: null value in column \"b\" of relation \"c\" violates not-null constraint\nDETAIL: Failing row contains (5, 1, 1, null, 2).\nCONTEXT: COPY c, line 1: \"1	1	\\N\"",
        ),
        (
            "copy c (p, a) from stdin <<< 1	1\n9	1\n",
            "23503: insert or update on table \"c\" violates foreign key constraint \"c_p_fkey\"\nDETAIL: Key (p)=(9) is not present in table \"p\".",
        ),
        (
            "copy p (id) from stdin <<< \\N\n",
            "23502: null value in column \"id\" of relation \"p\" violates not-null constraint\nDETAIL: Failing row contains (null, null).\nCONTEXT: COPY p, line 1: \"\\N\"",
        ),
        (
            "copy c (g) from stdin <<< 1\n",
            "42P10: column \"g\" is a generated column\nDETAIL: Generated columns cannot be used in COPY.",
        ),
        ("copy c (p, p) from stdin <<< 1\n", r#"42701: column "p" specified more than once"#),
        ("copy c (nosuch) from stdin <<< 1\n", r#"42703: column "nosuch" of relation "c" does not exist"#),
        ("copy nosuch from stdin <<< 1\n", r#"42P01: relation "nosuch" does not exist"#),
        ("copy p from stdin csv header <<< id,u\n10,\"a\"\"b\nc\"\n11,\"\"\n12,\n", "COPY 3"),
        ("copy p from stdin (format csv, null 'NULL', force_null (u)) <<< 20,\"NULL\"\n21,NULL\n", "COPY 2"),
        ("copy p from stdin with delimiter ';' csv quote '''' <<< 30;'x;y'\n", "COPY 1"),
        ("copy p (u, id) to stdout", "x	1\n\\N	2\na\"b\\nc	10\n	11\n\\N	12\n\\N	20\n\\N	21\nx;y	30\nCOPY 8"),
        ("copy p to stdout csv header", "id,u\n1,x\n2,\n10,\"a\"\"b\nc\"\n11,\"\"\n12,\n20,\n21,\n30,x;y\nCOPY 8"),
        (
            "copy p to stdout (format csv, force_quote (u), null 'none')",
            "1,\"x\"\n2,none\n10,\"a\"\"b\nc\"\n11,\"\"\n12,none\n20,none\n21,none\n30,\"x;y\"\nCOPY 8",
        ),
        ("copy c to stdout", "1	1	5	d\n2	\\N	6	d\nCOPY 2"),
        ("copy (select id, u is null from p where id < 10 order by id) to stdout (delimiter '|')", "1|f\n2|t\nCOPY 2"),
        ("copy (delete from p where id >= 10 returning id) to stdout", "10\n11\n12\n20\n21\n30\nCOPY 6"),
        ("copy (delete from p where id >= 10) to stdout", "0A000: COPY query must have a RETURNING clause"),
        (r#"copy (select repeat('x', 3), null, E'a\tb\\c\nd', ''::text) to stdout"#, "xxx	\\N	a\\tb\\\\c\\nd	\nCOPY 1"),
        (
            r#"copy (select repeat('x', 3), null, E'a\tb\\c\nd', ''::text, E'\\.') to stdout csv"#,
            "xxx,,\"a	b\\c\nd\",\"\",\\.\nCOPY 1",
        ),
        ("copy p to stdout (quote 'x')", "0A000: COPY quote available only in CSV mode"),
        ("select * from c order by id", "1|1|5|d|6\n2||6|d|7"),
    ]);
}

/// A query of WITH before a statement that writes runs once if it is volatile, MATERIALIZED or read twice, whoever reads it.
#[test]
fn with_before_a_write_runs_once() {
    script(&[
        ("create sequence s", "CREATE SEQUENCE"),
        ("create table t (id int primary key, a int, b int)", "CREATE TABLE"),
        ("insert into t values (1, 0, 0)", "INSERT 0 1"),
        ("with v as (select nextval('s') as n) update t set a = (select n from v), b = (select n from v)", "UPDATE 1"),
        ("select * from t", "1|1|1"),
        // For each row a subquery reads it again.
        (
            "insert into t values (2, 0, 0)",
            "INSERT 0 1",
        ),
        ("with v as (select nextval('s') as n) update t set a = (select n + t.id from v)", "UPDATE 2"),
        ("select * from t order by id", "1|3|1\n2|4|0"),
        (
            "with v as not materialized (select nextval('s') as n) insert into t select 3, p.n, q.n from v p, v q returning *",
            "3|3|3\nINSERT 0 1",
        ),
        (
            "with v as materialized (select gen_random_uuid() as g) insert into t select 4, 0, 0 from v p, v q where p.g = q.g",
            "INSERT 0 1",
        ),
        // One reads another, and the source and RETURNING read both.
        (
            "with v as (select nextval('s') as n), w as (select n + 1 as m from v)
             delete from t using w where id = w.m returning id, (select n from v), (select max(m) from w)",
            "DELETE 0",
        ),
        (
            "with v as (select nextval('s') - 1 as n), w as (select n + 0 as m from v)
             delete from t using w where id = w.m returning id, (select n from v), (select max(m) from w)",
            "4|4|4\nDELETE 1",
        ),
        (
            "with v as (select nextval('s') as n) insert into t values (3, 0, 0), (5, 0, 0)
             on conflict (id) do update set a = (select n from v), b = (select n from v) returning *, (select n from v)",
            "3|6|6|6\n5|0|0|6\nINSERT 0 2",
        ),
        (
            "with v as (select nextval('s') as n) merge into t using v on id = 5
             when matched then update set a = n, b = (select n from v)",
            "MERGE 1",
        ),
        ("select a, b from t where id = 5", "7|7"),
        // Before a part that writes.
        (
            "with x as (with v as (select nextval('s') as n) insert into t values (6, 6, 6)
             returning (select n from v) as p, (select n from v) as q) select * from x",
            "8|8",
        ),
        // Only as much of it is computed as the rows need.
        (
            "with recursive r(n) as (select 7 union all select n + 1 from r) insert into t select n, n, n from r limit 1",
            "INSERT 0 1",
        ),
        ("with v as (select a from t where id = 7) update t set b = (select a from v) where id = 3 returning b", "7\nUPDATE 1"),
        ("select nextval('s')", "9"),
        // A function of FROM is as volatile as one in the target list.
        ("delete from t where id > 2", "DELETE 4"),
        ("with v as (select n from nextval('s') n) update t set a = (select n + t.id from v), b = 0", "UPDATE 2"),
        ("select id, a from t order by id", "1|11\n2|12"),
        ("with v as not materialized (select n from nextval('s') n) select p.n, q.n from v p, v q", "11|11"),
        (
            "with v as not materialized (select i from generate_series(1, nextval('s')) i) select count(*), max(p.i) from v p join v q using (i)",
            "12|12",
        ),
        ("select nextval('s')", "13"),
    ]);
}

/// `SET (a, b) = (SELECT ...)` runs its query once for a row.
#[test]
fn a_row_is_assigned_by_one_query() {
    script(&[
        ("create sequence s", "CREATE SEQUENCE"),
        ("create table t (id int primary key, a int, b int)", "CREATE TABLE"),
        ("insert into t values (1, 0, 0)", "INSERT 0 1"),
        ("update t set (a, b) = (select nextval('s'), nextval('s'))", "UPDATE 1"),
        ("select * from t", "1|1|2"),
        ("insert into t values (2, 0, 0)", "INSERT 0 1"),
        ("update t set (a, b) = (select nextval('s'), nextval('s') where t.id > 0)", "UPDATE 2"),
        ("select * from t order by id", "1|3|4\n2|5|6"),
        // Without a reference to the row it runs once for the statement.
        ("update t set (b, a) = (select nextval('s'), nextval('s'))", "UPDATE 2"),
        ("select * from t order by id", "1|8|7\n2|8|7"),
        (
            "insert into t values (1, 0, 0) on conflict (id) do update
             set (a, b) = (select nextval('s'), nextval('s') where t.id > 0) returning *",
            "1|9|10\nINSERT 0 1",
        ),
        (
            "merge into t using (values (2)) as k(id) on t.id = k.id
             when matched then update set (a, b) = (select nextval('s'), nextval('s') where t.id > 0)",
            "MERGE 1",
        ),
        ("select * from t order by id", "1|9|10\n2|11|12"),
        ("update t set (a, b) = (select 1, 2 where false), id = id + 1 where id = 2 returning *", "3||\nUPDATE 1"),
        ("update t set (a, b) = (select 1, 2), a = 3", "42601: multiple assignments to same column \"a\""),
        ("update t set (a, a) = (select 1, 2)", "42601: multiple assignments to same column \"a\""),
        (
            "update t set (a, b) = (select id, id from t)",
            "21000: more than one row returned by a subquery used as an expression",
        ),
    ]);
}
