//! tokio-postgres: prepared statements, pipelines, COPY in binary, portals, notifications; deadpool over it.

use chrono::{DateTime, NaiveDate, Utc};
use clients::{Done, Failure, equal, refused, step, url, version, wait};
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod};
use futures_util::future::try_join_all;
use futures_util::{TryStreamExt, pin_mut};
use serde_json::{Value, json};
use std::future::poll_fn;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
use tokio_postgres::types::{Kind, Type};
use tokio_postgres::{AsyncMessage, Client, IsolationLevel, NoTls, SimpleQueryMessage};
use uuid::Uuid;

const KEY: Uuid = Uuid::from_u128(0xa0ee_bc99_9c0b_4ef8_bb6d_6bb9_bd38_0a11);

fn main() {
    version(&["tokio-postgres", "deadpool-postgres"]);
    let (mut client, mut messages) = wait(connect()).unwrap_or_else(|failure| panic!("{failure:?}"));
    step("connect", || wait(async { equal(client.query_one("SELECT 1", &[]).await?.get::<_, i32>(0), 1) }));
    step("migrate", || wait(migrate(&client)));
    step("insert", || wait(insert(&client)));
    step("select", || wait(select(&client)));
    step("pipeline", || wait(pipeline(&client)));
    step("copy in and out", || wait(copy(&client)));
    step("portal", || wait(portal(&mut client)));
    step("transaction", || wait(transaction(&mut client)));
    step("enumeration", || wait(enumeration(&client)));
    step("listen", || wait(listen(&client, &mut messages)));
    step("deadpool", || wait(pool()));
}

/// Connects; what the server says unasked goes into the channel.
async fn connect() -> Result<(Client, UnboundedReceiver<AsyncMessage>), Failure> {
    let (client, mut connection) =
        tokio_postgres::connect(&format!("{}?options=-c%20search_path%3Dpublic", url()), NoTls).await?;
    let (sender, messages) = unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            let _ = sender.send(message);
        }
    });
    Ok((client, messages))
}

async fn migrate(client: &Client) -> Done {
    client
        .batch_execute(
            "CREATE TABLE item (id serial PRIMARY KEY, name text NOT NULL UNIQUE, price float8, tags text[], day date, extra jsonb,
                key uuid, made timestamptz NOT NULL DEFAULT now());
            CREATE INDEX ON item (price)",
        )
        .await?;
    let columns = "SELECT column_name::text FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position LIMIT 2";
    let found = client.query_scalar::<String, _>(columns, &[&"item"]).await?;
    equal(found, ["id", "name"])
}

fn day() -> NaiveDate {
    NaiveDate::from_ymd_opt(2024, 2, 29).unwrap()
}

async fn insert(client: &Client) -> Done {
    let add = client
        .prepare("INSERT INTO item (name, price, tags, day, extra, key) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id")
        .await?;
    equal(add.params(), [Type::TEXT, Type::FLOAT8, Type::TEXT_ARRAY, Type::DATE, Type::JSONB, Type::UUID])?;
    for number in 1..=10 {
        let name = format!("n{number}");
        let row = client.query_one(&add, &[&name, &1.5, &vec!["x", "y"], &day(), &json!({"k": [1, 2]}), &KEY]).await?;
        equal(row.get::<_, i32>("id"), number)?;
    }
    equal(client.execute("UPDATE item SET price = NULL WHERE id > $1", &[&8]).await?, 2)
}

async fn select(client: &Client) -> Done {
    let row = client.query_one("SELECT * FROM item WHERE name = ANY($1)", &[&vec!["n1"]]).await?;
    equal((row.get::<_, i32>("id"), row.get::<_, Option<f64>>("price")), (1, Some(1.5)))?;
    equal((row.get::<_, Vec<String>>("tags").join(","), row.get("day")), ("x,y".to_owned(), day()))?;
    equal((row.get::<_, Value>("extra"), row.get("key")), (json!({"k": [1, 2]}), KEY))?;
    equal(row.get::<_, DateTime<Utc>>("made") > DateTime::UNIX_EPOCH, true)?;
    equal(client.query_opt("SELECT 1 FROM item WHERE id = $1", &[&99]).await?.is_none(), true)?;
    let simple = client.simple_query("SELECT id, price FROM item WHERE id = 9; DELETE FROM item WHERE id = 99").await?;
    let rows = simple.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some((row.get(0), row.get(1))),
        _ => None,
    });
    let rows: Vec<_> = rows.collect();
    equal(rows, [(Some("9"), None)])
}

async fn pipeline(client: &Client) -> Done {
    let statement = client.prepare("SELECT $1::int4 + count(*)::int4 FROM item").await?;
    let one = async |number: i32| client.query_one(&statement, &[&number]).await.map(|row| row.get::<_, i32>(0));
    equal(try_join_all((0..50).map(one)).await?, (10..60).collect::<Vec<_>>())
}

async fn copy(client: &Client) -> Done {
    let types = [Type::TEXT, Type::FLOAT8];
    let writer = BinaryCopyInWriter::new(client.copy_in("COPY item (name, price) FROM STDIN BINARY").await?, &types);
    pin_mut!(writer);
    for number in 1..=1000 {
        writer.as_mut().write(&[&format!("c{number}"), &Some(f64::from(number))]).await?;
    }
    equal(writer.finish().await?, 1000)?;
    let out = client
        .copy_out("COPY (SELECT name, price FROM item WHERE price > 998 ORDER BY price) TO STDOUT BINARY")
        .await?;
    let rows: Vec<_> = BinaryCopyOutStream::new(out, &types).try_collect().await?;
    let rows: Vec<(&str, f64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    equal(rows, [("c999", 999.0), ("c1000", 1000.0)])
}

async fn portal(client: &mut Client) -> Done {
    let transaction = client.transaction().await?;
    let portal = transaction.bind("SELECT id FROM item WHERE id <= $1 ORDER BY id", &[&5]).await?;
    let mut sizes = Vec::new();
    for _ in 0..3 {
        sizes.push(transaction.query_portal(&portal, 2).await?.len());
    }
    equal(sizes, [2, 2, 1])?;
    Ok(transaction.commit().await?)
}

async fn transaction(client: &mut Client) -> Done {
    let mut outer = client.build_transaction().isolation_level(IsolationLevel::Serializable).start().await?;
    outer.execute("UPDATE item SET price = 7 WHERE id = 1", &[]).await?;
    let nested = outer.savepoint("nested").await?;
    nested.execute("DELETE FROM item", &[]).await?;
    refused(nested.query_one("SELECT 1/0", &[]).await, "22012")?;
    nested.rollback().await?;
    outer.commit().await?;
    equal(client.query_one("SELECT count(*), min(price) FROM item", &[]).await?.get::<_, i64>(0), 1010)?;
    let read_only = client.build_transaction().read_only(true).start().await?;
    refused(read_only.execute("DELETE FROM item", &[]).await, "25006")?;
    drop(read_only);
    refused(client.execute("INSERT INTO item (name) VALUES ('n1')", &[]).await, "23505")
}

async fn enumeration(client: &Client) -> Done {
    client
        .batch_execute("CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TABLE person (mood mood, moods mood[])")
        .await?;
    let statement = client.prepare("SELECT mood, moods FROM person WHERE mood = $1").await?;
    let labels = Kind::Enum(vec!["sad".to_owned(), "happy".to_owned()]);
    equal(statement.params()[0].kind(), &labels)?;
    let Kind::Array(element) = statement.columns()[1].type_().kind() else { return equal("no array", "an array") };
    equal((element.name(), element.kind()), ("mood", &labels))
}

async fn listen(client: &Client, messages: &mut UnboundedReceiver<AsyncMessage>) -> Done {
    client.batch_execute("LISTEN news; NOTIFY news, 'hello'").await?;
    while let Some(message) = messages.recv().await {
        if let AsyncMessage::Notification(notification) = message {
            return equal((notification.channel(), notification.payload()), ("news", "hello"));
        }
    }
    equal("the connection's end", "a notification")
}

/// Each return to the pool cleans the session.
async fn pool() -> Done {
    let config = ManagerConfig { recycling_method: RecyclingMethod::Clean };
    let pool = Pool::builder(Manager::from_config(url().parse()?, NoTls, config)).max_size(4).build()?;
    let one = async |number: i32| -> Result<i32, Failure> {
        let client = pool.get().await?;
        client.batch_execute("SET extra_float_digits = 0; CREATE TEMP TABLE IF NOT EXISTS scratch (a int); SELECT pg_advisory_lock(1)").await?;
        let statement = client.prepare_cached("SELECT $1::int4 + 1").await?;
        let found = client.query_one(&statement, &[&number]).await?.get(0);
        client.batch_execute("SELECT pg_advisory_unlock(1)").await?;
        Ok(found)
    };
    equal(try_join_all((0..20).map(one)).await?, (1..=20).collect::<Vec<_>>())
}
