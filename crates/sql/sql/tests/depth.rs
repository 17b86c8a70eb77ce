//! The deepest statements that are taken run, print and go on a thread with the smallest usual stack.

mod common;

use common::{Client, database};

/// Rust's default for threads; what an embedding program may give us.
const STACK: usize = 2 << 20;

/// Runs a statement as deep as its links allow: the largest number of them that is not refused.
fn deepest(statement: impl Fn(usize) -> String + Send + 'static) {
    let run = move || {
        let database = database();
        let mut client = Client::new(&database);
        client.run("create table t (a int primary key); insert into t values (1)");
        let (mut taken, mut refused) = (1, 8001);
        while refused - taken > 1 {
            let middle = (taken + refused) / 2;
            match seriatim_sql::statements(&statement(middle)) {
                Ok(_) => taken = middle,
                Err(error) => {
                    assert_eq!(error.code(), "54001");
                    refused = middle;
                }
            }
        }
        assert!(taken > 100 && refused < 8001, "{taken} links");
        for text in [statement(taken), format!("explain {}", statement(taken - 1))] {
            if let Err(error) = client.try_run(&text) {
                assert!(["54000", "54001", "22003"].contains(&error.code()), "{error:?}");
            }
        }
        assert_eq!(client.show("select a from t"), "1", "the session lives on");
    };
    std::thread::Builder::new().stack_size(STACK).spawn(run).unwrap().join().unwrap();
}

/// Statements that programs generate: a thousand terms are no depth.
#[test]
fn a_thousand_terms_are_answered() {
    let run = || {
        let database = database();
        let mut client = Client::new(&database);
        client.run(
            "create table t (a int primary key, b int); insert into t select i, i from generate_series(1, 1500) i",
        );
        let chain = |first: &str, term: &dyn Fn(usize) -> String| {
            (2..=1000).fold(first.to_owned(), |text, number| text + &term(number))
        };
        let alternatives = chain("t.b = 1", &|number| format!(" or t.b = {number}"));
        let pairs = chain("(t.a = 1 and t.b = 1)", &|number| format!(" or (t.a = {number} and t.b = {number})"));
        let cases = [
            (format!("select count(*) from t where {alternatives}"), "1000"),
            (format!("select count(*) from t where {pairs}"), "1000"),
            (format!("select {} from t where a = 7", chain("b", &|_| " + b".to_owned())), "7000"),
            (format!("select count(*) from ({}) s", chain("select 1", &|_| " union all select 1".to_owned())), "1000"),
            (format!("select count(*) from t where a in ({})", chain("1", &|number| format!(", {number}"))), "1000"),
        ];
        for (query, expected) in cases {
            assert_eq!(client.show(&query), expected, "{}", &query[..60]);
            assert!(!client.show(&format!("explain {query}")).is_empty());
        }
        // Each of them could be a join.
        for (term, expected) in [
            ("b in (select b from t where a = ", "100"),
            ("exists (select from t u where u.b = t.b and u.a <> ", "1500"),
        ] {
            let query = |terms: usize| {
                let all: Vec<String> = (1..=terms).map(|number| format!("{term}{number})")).collect();
                format!("select count(*) from t where {}", all.join(" or "))
            };
            assert_eq!(client.show(&query(100)), expected, "{term}");
            let plan = client.show(&format!("explain {}", query(1000)));
            assert_eq!(plan.matches("Mark Join").count(), 64, "{term}");
        }
        let nested = |levels: usize| format!("select {}1{}", "(".repeat(levels), ")".repeat(levels));
        assert_eq!(client.show(&nested(1000)), "1");
        assert_eq!(client.fails(&nested(4000)).code(), "54001");
        let alternatives = (2..=1000).fold("t.b = 1".to_owned(), |text, number| format!("({text}) or t.b = {number}"));
        assert_eq!(client.show(&format!("select count(*) from t where {alternatives}")), "1000");
    };
    std::thread::Builder::new().stack_size(STACK).spawn(run).unwrap().join().unwrap();
}

#[test]
fn chains_of_operators() {
    deepest(|links| format!("select 1{}", " + 1".repeat(links)));
    deepest(|links| format!("select a{} from t", " + a".repeat(links)));
    deepest(|links| format!("select a from t where a = 1{}", " or a = 2".repeat(links)));
}

#[test]
fn nests_of_expressions() {
    let nest = |before: &'static str, after: &'static str| {
        deepest(move |levels| format!("select {}a{} from t", before.repeat(levels), after.repeat(levels)));
    };
    nest("(", ")");
    nest("(1 + ", ")");
    nest("abs(", ")");
    nest("coalesce(null, ", ")");
    nest("case when a = 1 then ", " end");
    nest("array[", "]");
    deepest(|levels| format!("select a from t where {}a = 1", "not ".repeat(levels)));
    deepest(|levels| format!("select a from t where {}a = 1{}", "(a = 2 or ".repeat(levels), ")".repeat(levels)));
}

/// Queries in queries take more stack than expressions, and nest less deep.
#[test]
fn nests_of_queries() {
    let database = database();
    let mut client = Client::new(&database);
    client.run("create table t (a int primary key)");
    for (before, after) in [("(select ", ")"), ("(select * from (select ", " x) s)")] {
        let nested = |levels: usize| format!("select {}1{}", before.repeat(levels), after.repeat(levels));
        assert_eq!(client.fails(&nested(100)).code(), "54001");
    }
    assert_eq!(client.show(&format!("select {}1{}", "(select ".repeat(50), ")".repeat(50))), "1");
    let joins =
        |levels: usize| format!("select count(*) from {}t{}", "(".repeat(levels), " cross join t x)".repeat(levels));
    assert_eq!(client.fails(&joins(200)).code(), "54001");
}

#[test]
fn chains_upon_chains() {
    deepest(|links| {
        let chain = " + a".repeat(links / 3);
        format!("select (((a{chain}){chain}){chain}) from t")
    });
    deepest(|links| {
        let chain = " || 'x'".repeat(links / 2);
        format!("select (a::text{chain}){chain} from t")
    });
}

#[test]
fn chains_of_queries_and_joins() {
    deepest(|links| format!("select 1{}", " union all select 1".repeat(links)));
    deepest(|links| {
        let joins: String = (0..links).map(|link| format!(" cross join t t{link}")).collect();
        format!("select count(*) from t{joins}")
    });
}
