// goose: up, status, down, under its lock of sessions and of a table. The driver is the first argument: postgres (lib/pq) or pgx.
package main

import (
	"context"
	"database/sql"
	"os"
	"testing/fstest"

	. "clients/steps"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

var files = fstest.MapFS{
	"00001_first.sql": {Data: []byte(`-- +goose Up
CREATE TABLE author (id serial PRIMARY KEY, name varchar(100) NOT NULL UNIQUE, made timestamptz NOT NULL DEFAULT now());
CREATE TABLE book (id bigserial PRIMARY KEY, author_id integer NOT NULL REFERENCES author ON DELETE CASCADE, title text CHECK (title <> ''));
-- +goose Down
DROP TABLE book;
DROP TABLE author;
`)},
	"00002_second.sql": {Data: []byte(`-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY book_author ON book (author_id);
-- +goose Down
DROP INDEX CONCURRENTLY book_author;
`)},
	"00003_third.sql": {Data: []byte(`-- +goose Up
ALTER TABLE book ADD COLUMN price numeric(10,2) DEFAULT 0;
-- +goose Down
ALTER TABLE book DROP COLUMN price;
`)},
}

func main() {
	Version("github.com/pressly/goose/v3")
	ctx := context.Background()
	db := Must(sql.Open(os.Args[1], URL))
	defer db.Close()
	locker := Must(lock.NewPostgresSessionLocker())
	provider := Must(goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker)))
	Step("connect", func() { Check(provider.Ping(ctx)) })
	Step("up", func() { Equal(len(Must(provider.Up(ctx))), 3) })
	Step("use", func() {
		Must(db.Exec("INSERT INTO author (name) VALUES ('Ada')"))
		Must(db.Exec("INSERT INTO book (author_id, title, price) VALUES (1, 'one', 2.5)"))
	})
	Step("status", func() {
		for _, status := range Must(provider.Status(ctx)) {
			Equal(status.State, goose.StateApplied)
		}
		Equal(Must(provider.GetDBVersion(ctx)), int64(3))
	})
	Step("down", func() { Equal(len(Must(provider.DownTo(ctx, 0))), 3) })
	Step("up again", func() { Equal(len(Must(provider.UpTo(ctx, 2))), 2) })
	Step("lock in a table", func() {
		locker := Must(lock.NewPostgresTableLocker())
		other := Must(goose.NewProvider(goose.DialectPostgres, db, files, goose.WithLocker(locker)))
		Equal(len(Must(other.Up(ctx))), 1)
	})
}
