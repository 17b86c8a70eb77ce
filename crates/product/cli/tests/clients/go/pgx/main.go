// pgx with its pool: batches, COPY, its five modes of execution, enumerations, notifications.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	. "clients/steps"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

type item struct {
	ID    int32
	Name  string
	Price pgtype.Numeric
	Tags  []string
	Extra map[string]any
	Day   time.Time
	Lasts time.Duration
	Key   [16]byte
	Bytes []byte
}

const table = `CREATE TABLE item (
	id serial PRIMARY KEY, name text UNIQUE NOT NULL, price numeric(10,2), tags text[] NOT NULL DEFAULT '{}',
	extra jsonb, day date, lasts interval, key uuid, bytes bytea);
CREATE INDEX ON item (price)`

const add = "INSERT INTO item (name, price, tags, extra, day, lasts, key, bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id"

var ctx = context.Background()

func main() {
	Version("github.com/jackc/pgx/v5")
	config := Must(pgxpool.ParseConfig(URL))
	config.MaxConns = 4
	config.ConnConfig.RuntimeParams["options"] = "-c search_path=public"
	pool := Must(pgxpool.NewWithConfig(ctx, config))
	defer pool.Close()
	Step("connect", func() { Check(pool.Ping(ctx)) })
	Step("migrate", func() { Must(pool.Exec(ctx, table)) })
	Step("insert", func() { insert(pool) })
	Step("select", func() { read(pool) })
	Step("copy in and out", func() { copied(pool) })
	Step("modes of execution", func() { modes(pool) })
	Step("transaction", func() { transaction(pool) })
	Step("advisory lock", func() {
		var taken bool
		Check(pool.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", int64(7)).Scan(&taken))
		Equal(taken, true)
	})
	Step("enumeration", func() { enumeration(pool) })
	Step("listen", func() { listen(pool) })
	Step("pool", func() { concurrent(pool) })
}

func values(name string) []any {
	day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
	return []any{name, "1.50", []string{"x", "y"}, map[string]any{"k": []int{1, 2}}, day, 90 * time.Second, [16]byte{1, 15: 2}, []byte{0, 255}}
}

func insert(pool *pgxpool.Pool) {
	batch := &pgx.Batch{}
	for n := range 10 {
		batch.Queue(add, values(fmt.Sprint("n", n))...).QueryRow(func(row pgx.Row) error {
			var id int32
			defer func() { Equal(id, int32(n+1)) }()
			return row.Scan(&id)
		})
	}
	Check(pool.SendBatch(ctx, batch).Close())
}

func read(pool *pgxpool.Pool) {
	rows := Must(pool.Query(ctx, "SELECT * FROM item WHERE id = ANY ($1) ORDER BY id", []int32{1, 2}))
	items := Must(pgx.CollectRows(rows, pgx.RowToStructByName[item]))
	Equal(len(items), 2)
	first := items[0]
	Equal([]any{first.Name, first.Tags, first.Extra}, []any{"n0", []string{"x", "y"}, map[string]any{"k": []any{1.0, 2.0}}})
	Equal([]any{first.Lasts, first.Key, first.Bytes}, []any{90 * time.Second, [16]byte{1, 15: 2}, []byte{0, 255}})
	Equal(first.Day.Format(time.DateOnly), "2024-02-29")
	Equal(Must(first.Price.Float64Value()).Float64, 1.5)
}

func copied(pool *pgxpool.Pool) {
	rows := [][]any{{"c1", "7", []string{"z"}}, {"c2", nil, []string{}}}
	count := Must(pool.CopyFrom(ctx, pgx.Identifier{"item"}, []string{"name", "price", "tags"}, pgx.CopyFromRows(rows)))
	Equal(count, int64(2))
	connection := Must(pool.Acquire(ctx))
	defer connection.Release()
	var out bytes.Buffer
	Must(connection.Conn().PgConn().CopyTo(ctx, &out, "COPY (SELECT name, price FROM item WHERE name LIKE 'c%' ORDER BY 1) TO STDOUT"))
	Equal(out.String(), "c1\t7.00\nc2\t\\N\n")
}

func modes(pool *pgxpool.Pool) {
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		var name string
		var found int64
		Check(pool.QueryRow(ctx, "SELECT $1::text, count(*) FROM item WHERE id <= $2::int", mode, "a'b", 3).Scan(&name, &found))
		Equal([]any{name, found}, []any{"a'b", int64(3)})
	}
}

func transaction(pool *pgxpool.Pool) {
	undone := errors.New("undone")
	err := pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.Serializable}, func(tx pgx.Tx) error {
		Must(tx.Exec(ctx, "DELETE FROM item"))
		inner := pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error {
			_, err := inner.Exec(ctx, "SELECT 1/0")
			return err
		})
		Refused(inner, "22012")
		Must(tx.Exec(ctx, "SELECT id FROM item FOR UPDATE SKIP LOCKED"))
		return undone
	})
	Equal(errors.Is(err, undone), true)
	var count int64
	Check(pool.QueryRow(ctx, "SELECT count(*) FROM item").Scan(&count))
	Equal(count, int64(12))
	_, err = pool.Exec(ctx, "INSERT INTO item (name) VALUES ('n1')")
	Refused(err, "23505")
	var refusal *pgconn.PgError
	Equal(errors.As(err, &refusal), true)
	Equal([]string{refusal.ConstraintName, refusal.TableName, refusal.Detail}, []string{"item_name_key", "item", "Key (name)=(n1) already exists."})
}

func enumeration(pool *pgxpool.Pool) {
	connection := Must(pool.Acquire(ctx))
	defer connection.Release()
	Must(connection.Exec(ctx, "CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE TABLE person (mood mood, moods mood[])"))
	for _, name := range []string{"mood", "_mood"} {
		connection.Conn().TypeMap().RegisterType(Must(connection.Conn().LoadType(ctx, name)))
	}
	Must(connection.Exec(ctx, "INSERT INTO person VALUES ($1, $2)", "glad", []string{"sad", "glad"}))
	var mood string
	var moods []string
	Check(connection.QueryRow(ctx, "SELECT mood, moods FROM person").Scan(&mood, &moods))
	Equal([]any{mood, moods}, []any{"glad", []string{"sad", "glad"}})
}

func listen(pool *pgxpool.Pool) {
	connection := Must(pool.Acquire(ctx))
	defer connection.Release()
	Must(connection.Exec(ctx, "LISTEN news"))
	Must(pool.Exec(ctx, "SELECT pg_notify('news', 'hello')"))
	Equal(Must(connection.Conn().WaitForNotification(ctx)).Payload, "hello")
}

// concurrent runs more queries at once than the pool has connections.
func concurrent(pool *pgxpool.Pool) {
	var group sync.WaitGroup
	found := make([]int, 20)
	failures := make([]error, 20)
	for n := range found {
		group.Go(func() { failures[n] = pool.QueryRow(ctx, "SELECT $1::int + 1", n).Scan(&found[n]) })
	}
	group.Wait()
	Check(errors.Join(failures...))
	for n := range found {
		Equal(found[n], n+1)
	}
}
