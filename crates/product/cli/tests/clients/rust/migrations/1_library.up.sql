CREATE TABLE author (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE TABLE book (
    id serial PRIMARY KEY, author_id bigint REFERENCES author, title text NOT NULL, price numeric(10,2),
    tags text[] NOT NULL DEFAULT '{}', extra jsonb, key uuid, cover bytea, made timestamptz NOT NULL DEFAULT now()
);
