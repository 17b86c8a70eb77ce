// lib/pq under database/sql: prepared statements, arrays, COPY, transactions, notifications.
package main

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	. "clients/steps"

	"github.com/lib/pq"
)

func main() {
	Version("github.com/lib/pq")
	db := Must(sql.Open("postgres", URL+"&options=-c%20search_path%3Dpublic"))
	defer db.Close()
	Step("connect", func() { Check(db.Ping()) })
	Step("migrate", func() {
		Must(db.Exec(`CREATE TABLE item (
			id serial PRIMARY KEY, name text UNIQUE NOT NULL, price numeric(10,2), tags text[], made timestamptz, bytes bytea, done boolean);
			CREATE INDEX ON item (price)`))
	})
	Step("insert", func() { insert(db) })
	Step("select", func() { read(db) })
	Step("copy in", func() { copyIn(db) })
	Step("transaction", func() { transaction(db) })
	Step("listen", func() { listen(db) })
	Step("pool", func() { concurrent(db) })
}

var noon = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)

func insert(db *sql.DB) {
	add := Must(db.Prepare("INSERT INTO item (name, price, tags, made, bytes, done) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id"))
	defer add.Close()
	for n, name := range []string{"a", "b", "c"} {
		var id int
		Check(add.QueryRow(name, 1.5, pq.Array([]string{"x", "y z"}), noon, []byte{0, 255}, true).Scan(&id))
		Equal(id, n+1)
	}
	result := Must(db.Exec("UPDATE item SET done = false WHERE name = ANY ($1)", pq.Array([]string{"b", "c"})))
	Equal(Must(result.RowsAffected()), int64(2))
}

func read(db *sql.DB) {
	var name, price string
	var tags []string
	var made time.Time
	var bytes []byte
	var done sql.NullBool
	row := db.QueryRow("SELECT name, price, tags, made, bytes, done FROM item WHERE id = $1", 1)
	Check(row.Scan(&name, &price, pq.Array(&tags), &made, &bytes, &done))
	Equal([]any{name, price, tags, bytes, done.Bool}, []any{"a", "1.50", []string{"x", "y z"}, []byte{0, 255}, true})
	Equal(made.Equal(noon), true)
	rows := Must(db.Query("SELECT id, price FROM item"))
	defer rows.Close()
	types := Must(rows.ColumnTypes())
	Equal([]string{types[0].DatabaseTypeName(), types[1].DatabaseTypeName()}, []string{"INT4", "NUMERIC"})
}

func copyIn(db *sql.DB) {
	tx := Must(db.Begin())
	defer tx.Rollback()
	lines := Must(tx.Prepare(pq.CopyIn("item", "name", "price")))
	Must(lines.Exec("d\t1", 7))
	Must(lines.Exec("e", nil))
	Must(lines.Exec())
	Check(lines.Close())
	Check(tx.Commit())
	var count int
	Check(db.QueryRow("SELECT count(*) FROM item").Scan(&count))
	Equal(count, 5)
}

func transaction(db *sql.DB) {
	tx := Must(db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelSerializable}))
	Must(tx.Exec("DELETE FROM item"))
	Must(tx.Exec("SAVEPOINT s"))
	_, err := tx.Exec("SELECT 1/0")
	Refused(err, "22012")
	Must(tx.Exec("ROLLBACK TO SAVEPOINT s"))
	Check(tx.Rollback())
	_, err = db.Exec("INSERT INTO item (name) VALUES ('a')")
	Refused(err, "23505")
	var refusal *pq.Error
	Equal(errors.As(err, &refusal), true)
	Equal(refusal.Constraint, "item_name_key")
	readOnly := Must(db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true}))
	defer readOnly.Rollback()
	_, err = readOnly.Exec("DELETE FROM item")
	Refused(err, "25006")
}

func listen(db *sql.DB) {
	listener := pq.NewListener(URL, time.Second, time.Minute, nil)
	defer listener.Close()
	Check(listener.Listen("news"))
	Must(db.Exec("SELECT pg_notify('news', 'hello')"))
	Equal((<-listener.Notify).Extra, "hello")
}

// concurrent runs more queries at once than the pool has connections.
func concurrent(db *sql.DB) {
	db.SetMaxOpenConns(4)
	var group sync.WaitGroup
	found := make([]int, 20)
	failures := make([]error, 20)
	for n := range found {
		group.Go(func() { failures[n] = db.QueryRow("SELECT $1::int + 1", n).Scan(&found[n]) })
	}
	group.Wait()
	Check(errors.Join(failures...))
	for n := range found {
		Equal(found[n], n+1)
	}
}
