-- Tables made like others, by LIKE.
CREATE SCHEMA likes;
SET search_path = likes;
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
CREATE TABLE source (
    id integer GENERATED ALWAYS AS IDENTITY (START 10 INCREMENT 5),
    serial_id serial,
    name varchar(20) NOT NULL DEFAULT 'nobody',
    feeling mood DEFAULT 'happy',
    size integer DEFAULT 3,
    rank positive DEFAULT 1,
    gone text,
    born date DEFAULT '2020-01-31',
    twice integer GENERATED ALWAYS AS (size * 2) STORED,
    "Odd name" text DEFAULT 'odd',
    PRIMARY KEY (id),
    CONSTRAINT named UNIQUE (name) INCLUDE (born),
    UNIQUE NULLS NOT DISTINCT (size, born),
    CHECK (size < 100),
    CONSTRAINT happy_or_big CHECK (feeling = 'happy' OR size > 5)
);
ALTER TABLE source DROP gone;
CREATE INDEX source_by_name ON source (lower(name), born DESC NULLS LAST) WHERE size > 1;
CREATE UNIQUE INDEX ON source ("Odd name" text_pattern_ops);
COMMENT ON TABLE source IS 'The source';
COMMENT ON COLUMN source.name IS 'Its name';
COMMENT ON CONSTRAINT happy_or_big ON source IS 'A check';
COMMENT ON CONSTRAINT named ON source IS 'A key';
COMMENT ON INDEX source_by_name IS 'An index';
CREATE TABLE plain (LIKE source);
\d+ plain
CREATE TABLE everything (LIKE source INCLUDING ALL);
\d+ everything
SELECT c.relname, obj_description(c.oid, 'pg_class') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = 'likes' AND obj_description(c.oid, 'pg_class') IS NOT NULL ORDER BY 1;
SELECT r.conname, obj_description(r.oid, 'pg_constraint') FROM pg_constraint r
 WHERE conrelid IN ('source'::regclass, 'everything'::regclass) ORDER BY conrelid::regclass::text, 1;
SELECT pg_get_serial_sequence('everything', 'id'), pg_get_serial_sequence('everything', 'serial_id');
INSERT INTO source (name, "Odd name") VALUES ('one', 'a'), ('two', 'b') RETURNING *;
INSERT INTO everything (name, feeling, "Odd name") VALUES ('one', 'happy', 'x'), ('two', 'happy', 'y') RETURNING *;
INSERT INTO everything (name, size, "Odd name") VALUES ('one', 7, 'z');
INSERT INTO everything (name, rank) VALUES ('three', 0);
INSERT INTO everything (name, size) VALUES ('three', 200);
INSERT INTO everything (name, size, feeling) VALUES ('three', 2, 'sad');
INSERT INTO plain (id, serial_id, name) VALUES (1, 1, NULL);
CREATE TABLE defaults (LIKE source INCLUDING DEFAULTS INCLUDING GENERATED);
\d defaults
CREATE TABLE identity (LIKE source INCLUDING IDENTITY INCLUDING COMMENTS);
\d+ identity
CREATE TABLE keys (LIKE source INCLUDING ALL EXCLUDING CONSTRAINTS EXCLUDING DEFAULTS, extra integer UNIQUE);
\d keys
CREATE TABLE checks (extra integer CHECK (extra > 1), LIKE source INCLUDING CONSTRAINTS INCLUDING STORAGE EXCLUDING STATISTICS INCLUDING COMPRESSION, last text);
\d checks
CREATE TABLE later (LIKE source INCLUDING ALL EXCLUDING ALL INCLUDING INDEXES);
\d later
-- Sources of several kinds.
CREATE VIEW seen AS SELECT id, name AS called, 1.5 AS ratio FROM source;
CREATE TABLE of_view (LIKE seen INCLUDING ALL, more text, PRIMARY KEY (id));
\d of_view
CREATE TABLE of_system (LIKE pg_catalog.pg_tables INCLUDING ALL);
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'of_system'::regclass AND attnum > 0 ORDER BY attnum;
CREATE TABLE pieces (a integer PRIMARY KEY, b text);
CREATE TABLE more_pieces (c integer, d numeric(8,2) NOT NULL);
CREATE TABLE both_pieces (LIKE more_pieces, x integer, LIKE pieces INCLUDING INDEXES);
\d both_pieces
CREATE TABLE child (LIKE pieces INCLUDING INDEXES, parent integer REFERENCES child, FOREIGN KEY (a) REFERENCES pieces);
\d child
CREATE TEMP TABLE temporary (LIKE everything INCLUDING ALL);
INSERT INTO temporary (name, "Odd name") VALUES ('t', 'u') RETURNING id, name, twice;
DROP TABLE temporary;
CREATE TABLE IF NOT EXISTS plain (LIKE nosuch);
-- What it refuses.
\set VERBOSITY verbose
CREATE TABLE bad (LIKE nosuch);
CREATE TABLE bad (a integer, LIKE nosuch.source INCLUDING ALL);
CREATE TABLE bad (LIKE source_pkey);
CREATE TABLE bad (LIKE source_serial_id_seq);
CREATE TABLE bad (name text, LIKE source);
CREATE TABLE bad (LIKE pieces, LIKE pieces);
CREATE TABLE bad (k integer PRIMARY KEY, LIKE pieces INCLUDING INDEXES);
CREATE TABLE bad (k integer CONSTRAINT happy_or_big CHECK (k > 1), LIKE source INCLUDING CONSTRAINTS);
CREATE TABLE bad (LIKE pieces INCLUDING NOTHING);
CREATE TABLE bad (LIKE pieces INCLUDING);
\set VERBOSITY terse
DROP TABLE source;
DROP TABLE everything, plain;
DROP SCHEMA likes CASCADE;
