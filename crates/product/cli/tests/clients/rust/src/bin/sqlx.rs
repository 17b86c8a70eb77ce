//! sqlx: its migrations, what `query!` asks to check a statement, types, transactions, its pool, `#[sqlx::test]`'s databases.

use chrono::{DateTime, Utc};
use clients::{Done, Failure, equal, refused, step, url, version, wait};
use futures_util::TryStreamExt;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::migrate::Migrator;
use sqlx::postgres::{
    PgAdvisoryLock, PgArgumentBuffer, PgHasArrayType, PgListener, PgPoolCopyExt, PgPoolOptions, PgTypeInfo, PgValueRef,
};
use sqlx::testing::{TestArgs, TestFn};
use sqlx::{Acquire, Column, Decode, Either, Encode, Executor, PgPool, Postgres, Type, TypeInfo};
use std::path::Path;
use uuid::Uuid;

const KEY: Uuid = Uuid::from_u128(0xa0ee_bc99_9c0b_4ef8_bb6d_6bb9_bd38_0a11);

fn main() {
    version(&["sqlx"]);
    let pool = wait(async { PgPoolOptions::new().max_connections(4).connect_lazy(&url()) }).unwrap();
    step("connect", || wait(async { equal(sqlx::query_scalar::<_, i32>("SELECT 1").fetch_one(&pool).await?, 1) }));
    step("migrate", || wait(migrate(&pool)));
    step("query!", || wait(describe(&pool)));
    step("insert", || wait(insert(&pool)));
    step("select", || wait(select(&pool)));
    step("enumeration", || wait(enumeration(&pool)));
    step("copy in and out", || wait(copy(&pool)));
    step("transaction", || wait(transaction(&pool)));
    step("advisory lock", || wait(advisory_lock(&pool)));
    step("listen", || wait(listen(&pool)));
    step("pool", || wait(concurrent(&pool)));
    wait(pool.close());
    step("sqlx::test", test);
}

async fn migrator() -> Result<Migrator, Failure> {
    Ok(Migrator::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations")).await?)
}

async fn migrate(pool: &PgPool) -> Done {
    let migrator = migrator().await?;
    let mood = "SELECT count(*) FROM pg_type WHERE typname = 'mood'";
    for _ in 0..2 {
        migrator.run(pool).await?;
    }
    equal(sqlx::query_scalar::<_, i64>(mood).fetch_one(pool).await?, 1)?;
    migrator.undo(pool, 1).await?;
    equal(sqlx::query_scalar::<_, i64>(mood).fetch_one(pool).await?, 0)?;
    Ok(migrator.run(pool).await?)
}

/// The macro calls this at compile time, and makes Rust types of it.
async fn describe(pool: &PgPool) -> Done {
    let mut connection = pool.acquire().await?;
    let mut check = async |sql: &'static str, columns: &[(&str, &str, Option<bool>)], parameters: &[&str]| -> Done {
        let description = (&mut *connection).describe(sql).await?;
        let described = description.columns().iter().enumerate();
        let found: Vec<_> = described
            .map(|(at, column)| (column.name(), column.type_info().name(), description.nullable(at)))
            .collect();
        equal(found, columns)?;
        let Some(Either::Left(types)) = description.parameters() else { return equal(0, parameters.len()) };
        equal(types.iter().map(TypeInfo::name).collect::<Vec<_>>(), parameters)
    };
    check(
        "SELECT id, title, price, tags, made FROM book WHERE author_id = $1 AND price > $2 AND title = ANY($3)",
        &[
            ("id", "INT4", Some(false)),
            ("title", "TEXT", Some(false)),
            ("price", "NUMERIC", Some(true)),
            ("tags", "TEXT[]", Some(false)),
            ("made", "TIMESTAMPTZ", Some(false)),
        ],
        &["INT8", "NUMERIC", "TEXT[]"],
    )
    .await?;
    check("SELECT count(*) AS n, max(price) FROM book", &[("n", "INT8", None), ("max", "NUMERIC", None)], &[]).await?;
    // Only the plan tells that no column of this is sure to have a value.
    check(
        "SELECT author.name, book.title FROM author FULL JOIN book ON book.author_id = author.id",
        &[("name", "TEXT", Some(true)), ("title", "TEXT", Some(true))],
        &[],
    )
    .await?;
    check(
        "INSERT INTO author (name, mood) VALUES ($1, $2) RETURNING id, mood, moods",
        &[("id", "INT8", Some(false)), ("mood", "mood", Some(true)), ("moods", "mood[]", Some(true))],
        &["TEXT", "mood"],
    )
    .await?;
    check("UPDATE book SET extra = $1, key = $2 WHERE id = $3", &[], &["JSONB", "UUID", "INT4"]).await?;
    check("CREATE TABLE never_made (a int)", &[], &[]).await
}

const ADD: &str = "INSERT INTO book (author_id, title, price, tags, extra, key, cover) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id";

async fn insert(pool: &PgPool) -> Done {
    let author: i64 =
        sqlx::query_scalar("INSERT INTO author (name) VALUES ($1) RETURNING id").bind("Ada").fetch_one(pool).await?;
    equal(author, 1)?;
    for number in 1..=10 {
        let tags: &[&str] = &["x", "y"];
        let query =
            sqlx::query_scalar::<_, i32>(ADD).bind(author).bind(format!("n{number}")).bind(Decimal::new(150, 2));
        let query = query.bind(tags).bind(json!({"k": [1, 2]})).bind(KEY).bind(&b"\0\xff"[..]);
        equal(query.fetch_one(pool).await?, number)?;
    }
    // Many rows at once, as its documentation advises: arrays, one for each column.
    let (titles, prices) = (["m1", "m2"], [Some(Decimal::ONE), None]);
    let many = "INSERT INTO book (author_id, title, price) SELECT 1, * FROM UNNEST($1::text[], $2::numeric[])";
    equal(sqlx::query(many).bind(&titles[..]).bind(&prices[..]).execute(pool).await?.rows_affected(), 2)
}

type Book = (i32, String, Option<Decimal>, Vec<String>, Option<Value>, Option<Uuid>, Option<Vec<u8>>, DateTime<Utc>);

async fn select(pool: &PgPool) -> Done {
    let all = "SELECT id, title, price, tags, extra, key, cover, made FROM book WHERE id = ANY($1) ORDER BY id";
    let found: Vec<Book> = sqlx::query_as(all).bind(vec![1, 11]).fetch_all(pool).await?;
    let (first, second) = (&found[0], &found[1]);
    equal((first.0, first.1.as_str(), first.2), (1, "n1", Some(Decimal::new(150, 2))))?;
    equal((first.3.join(","), &first.4), ("x,y".to_owned(), &Some(json!({"k": [1, 2]}))))?;
    equal((first.5, first.6.as_deref()), (Some(KEY), Some(&b"\0\xff"[..])))?;
    equal((second.2, second.3.len(), &second.4, second.6.as_ref()), (Some(Decimal::ONE), 0, &None, None))?;
    let ids = sqlx::query_scalar::<_, i32>("SELECT id FROM book ORDER BY id").fetch(pool);
    equal(ids.try_collect::<Vec<_>>().await?, (1..=12).collect::<Vec<_>>())?;
    let missing =
        sqlx::query_scalar::<_, i32>("SELECT id FROM book WHERE id = $1").bind(99).fetch_optional(pool).await?;
    equal(missing, None::<i32>)
}

/// The type `mood`, as `#[derive(sqlx::Type)]` would make it.
#[derive(Debug, PartialEq, Clone, Copy)]
enum Mood {
    Sad,
    Happy,
}

impl Type<Postgres> for Mood {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_name("mood")
    }
}

impl PgHasArrayType for Mood {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::array_of("mood")
    }
}

impl Encode<'_, Postgres> for Mood {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        Encode::<Postgres>::encode(if *self == Mood::Sad { "sad" } else { "happy" }, buffer)
    }
}

impl<'r> Decode<'r, Postgres> for Mood {
    fn decode(value: PgValueRef<'r>) -> Result<Mood, BoxDynError> {
        match value.as_str()? {
            "sad" => Ok(Mood::Sad),
            "happy" => Ok(Mood::Happy),
            other => Err(format!("no mood is called {other}").into()),
        }
    }
}

async fn enumeration(pool: &PgPool) -> Done {
    let moods = vec![Mood::Sad, Mood::Happy];
    sqlx::query("UPDATE author SET mood = $1, moods = $2").bind(Mood::Happy).bind(&moods).execute(pool).await?;
    let found: (Mood, Vec<Mood>) =
        sqlx::query_as("SELECT mood, moods FROM author WHERE mood = $1").bind(Mood::Happy).fetch_one(pool).await?;
    equal(found, (Mood::Happy, moods))
}

async fn copy(pool: &PgPool) -> Done {
    let mut copied = pool.copy_in_raw("COPY author (name) FROM STDIN").await?;
    copied.send(&b"c1\nc2\n"[..]).await?;
    equal(copied.finish().await?, 2)?;
    let out = pool.copy_out_raw("COPY (SELECT name FROM author WHERE name LIKE 'c%' ORDER BY name) TO STDOUT").await?;
    equal(out.map_ok(|bytes| bytes.to_vec()).try_concat().await?, b"c1\nc2\n")
}

async fn transaction(pool: &PgPool) -> Done {
    let count = "SELECT count(*) FROM book";
    let mut transaction = pool.begin().await?;
    transaction.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE").await?;
    transaction.execute("UPDATE book SET price = 3 WHERE id = 1").await?;
    let mut nested = transaction.begin().await?;
    nested.execute("DELETE FROM book").await?;
    equal(sqlx::query_scalar::<_, i64>(count).fetch_one(&mut *nested).await?, 0)?;
    nested.rollback().await?;
    transaction.commit().await?;
    {
        let mut dropped = pool.begin().await?;
        dropped.execute("DELETE FROM book").await?;
    }
    equal(sqlx::query_scalar::<_, i64>(count).fetch_one(pool).await?, 12)?;
    let duplicate = pool.execute("INSERT INTO author (name) VALUES ('Ada')").await;
    let constraint = |error: &sqlx::Error| error.as_database_error()?.constraint().map(str::to_owned);
    equal(duplicate.as_ref().err().and_then(constraint).as_deref(), Some("author_name_key"))?;
    refused(duplicate, "23505")
}

async fn advisory_lock(pool: &PgPool) -> Done {
    let lock = PgAdvisoryLock::new("a job");
    let held = lock.acquire(pool.acquire().await?).await?;
    let other = lock.try_acquire(pool.acquire().await?).await?;
    equal(other.is_right(), true)?;
    held.release_now().await?;
    let again = lock.try_acquire(pool.acquire().await?).await?;
    equal(again.is_left(), true)
}

async fn listen(pool: &PgPool) -> Done {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen_all(["news", "More News"]).await?;
    sqlx::query("SELECT pg_notify($1, $2)").bind("More News").bind("hello").execute(pool).await?;
    let received = listener.recv().await?;
    equal((received.channel(), received.payload()), ("More News", "hello"))
}

async fn concurrent(pool: &PgPool) -> Done {
    let one = async |number: i32| sqlx::query_scalar::<_, i32>("SELECT $1 + 1").bind(number).fetch_one(pool).await;
    let found = futures_util::future::try_join_all((0..20).map(one)).await?;
    equal(found, (1..=20).collect::<Vec<_>>())
}

/// The attribute makes a database for each test, with the migrations, and drops it after. It panics where that fails.
fn test() -> Done {
    let migrator = Box::leak(Box::new(wait(migrator())?));
    let mut arguments = TestArgs::new("clients::in_a_database_of_its_own");
    arguments.migrator(migrator);
    let body: fn(PgPool) -> _ = in_a_database_of_its_own;
    body.run_test(arguments)
}

async fn in_a_database_of_its_own(pool: PgPool) -> Done {
    let (database, authors): (String, i64) =
        sqlx::query_as("SELECT current_database()::text, count(*) FROM author").fetch_one(&pool).await?;
    equal((database.starts_with("_sqlx_test_"), authors), (true, 0))
}
