-- INSERT, UPDATE, DELETE, COPY and sequences.
CREATE SCHEMA dml;
SET search_path = dml;
CREATE TABLE item (id serial PRIMARY KEY, sku text UNIQUE, qty int NOT NULL DEFAULT 1, price numeric(8,2), CHECK (qty >= 0));
INSERT INTO item (sku, qty, price) VALUES ('a', 1, 1.5), ('b', DEFAULT, 2), ('c', 3, NULL) RETURNING id, sku, qty * 2 AS twice, price;
INSERT INTO item DEFAULT VALUES RETURNING *;
INSERT INTO item (sku, qty) SELECT 'g' || g, g FROM generate_series(1, 3) g RETURNING id, sku;
INSERT INTO item (sku) VALUES ('a') ON CONFLICT DO NOTHING;
INSERT INTO item (sku) VALUES ('a') ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO item (sku, qty) VALUES ('a', 10), ('z', 5) ON CONFLICT (sku) DO UPDATE SET qty = item.qty + EXCLUDED.qty RETURNING sku, qty;
INSERT INTO item AS i (sku, qty) VALUES ('a', 10) ON CONFLICT (sku) DO UPDATE SET qty = i.qty + EXCLUDED.qty, price = 9 WHERE i.qty < 5 RETURNING sku, qty;
INSERT INTO item AS i (sku, qty) VALUES ('a', 10) ON CONFLICT ON CONSTRAINT item_sku_key DO UPDATE SET (qty, price) = (EXCLUDED.qty, 3) RETURNING sku, qty, price;
INSERT INTO item (sku, qty) VALUES ('q', 1), ('q', 2) ON CONFLICT (sku) DO UPDATE SET qty = EXCLUDED.qty;
INSERT INTO item (sku) VALUES ('q') ON CONFLICT (qty) DO NOTHING;
INSERT INTO item (sku) VALUES ('q') ON CONFLICT ON CONSTRAINT nosuch DO NOTHING;
INSERT INTO item (sku) VALUES ('a') ON CONFLICT (id) DO NOTHING;
INSERT INTO item (sku, qty) VALUES ('x');
INSERT INTO item (sku) VALUES ('x', 1);
INSERT INTO item (nosuch) VALUES (1);
INSERT INTO item (sku, sku) VALUES ('x', 'y');
INSERT INTO nosuch VALUES (1);
INSERT INTO item VALUES (1, 2, 3, 4, 5);
INSERT INTO item (qty) VALUES ('many');
UPDATE item SET qty = qty + 1, price = DEFAULT WHERE sku = 'b' RETURNING *;
UPDATE item SET qty = -1 WHERE sku = 'b';
UPDATE item i SET price = v.p FROM (VALUES ('a', 7.25), ('b', 8)) v (s, p) WHERE i.sku = v.s RETURNING i.sku, i.price, v.p;
UPDATE item SET (qty, price) = (SELECT 5, 6) WHERE sku = 'c' RETURNING qty, price;
UPDATE item SET nosuch = 1;
UPDATE item SET qty = 1, qty = 2;
UPDATE item SET qty = 'x';
UPDATE item SET item.qty = 1;
UPDATE nosuch SET a = 1;
UPDATE item SET qty = 1 WHERE false;
SELECT id, sku FROM item ORDER BY id;
DELETE FROM item USING (VALUES ('g1'), ('g2')) v (s) WHERE sku = v.s RETURNING item.*;
WITH gone AS MATERIALIZED (SELECT 1) DELETE FROM item WHERE qty > (SELECT avg(qty) FROM item);
DELETE FROM item AS i WHERE i.sku IS NULL;
DELETE FROM nosuch;
SELECT sku, qty, price FROM item ORDER BY sku;
WITH src AS (SELECT 'w'::text AS s) INSERT INTO item (sku) SELECT s FROM src RETURNING sku;
COPY item (sku, qty, price) FROM STDIN;
c1	1	1.5
c2	2	\N
c\t3	3	3
\.
COPY item (sku, qty, price) FROM STDIN WITH (FORMAT csv, HEADER);
sku,qty,price
"d,1",1,
d2,2,2.5
\.
COPY item (sku, qty) FROM STDIN;
e1	notanumber
\.
COPY item (sku, qty) FROM STDIN;
e1
\.
COPY item (sku, qty) FROM STDIN;
e1	1	2
\.
COPY item (sku, qty) FROM STDIN;
c1	1
\.
COPY item (sku, qty) FROM STDIN;
e9	-5
\.
\copy item (sku, nosuch) FROM '/dev/null'
\copy nosuch FROM '/dev/null'
COPY item (sku, qty) FROM STDIN (FORMAT csv, DELIMITER ';', NULL 'NULL', QUOTE '''');
'semi;colon';4
NULL;5
\.
COPY (SELECT sku, qty, price FROM item ORDER BY sku, qty) TO STDOUT;
COPY (SELECT sku, qty, price FROM item ORDER BY sku, qty) TO STDOUT (FORMAT csv, HEADER, NULL 'nil');
COPY (SELECT E'a\tb\nc\\d', NULL, '', true, ARRAY[1,2], '\x01'::bytea) TO STDOUT;
COPY (SELECT E'a"b', E'line\nbreak', NULL, '', ' sp ') TO STDOUT (FORMAT csv);
\copy (SELECT 1 AS one) TO STDOUT CSV HEADER
CREATE SEQUENCE sq START 5 INCREMENT 2 MAXVALUE 9;
SELECT nextval('sq'), nextval('sq'), nextval('sq');
SELECT nextval('sq');
SELECT currval('sq'), lastval();
SELECT setval('sq', 7), nextval('sq');
SELECT setval('sq', 5, false), nextval('sq');
SELECT setval('sq', 100);
ALTER SEQUENCE sq RESTART;
SELECT nextval('dml.sq'::regclass);
ALTER SEQUENCE sq MAXVALUE 20 CYCLE INCREMENT BY 10;
SELECT nextval('sq'), nextval('sq'), nextval('sq');
SELECT last_value, is_called FROM sq;
\d sq
CREATE SEQUENCE sq;
CREATE SEQUENCE IF NOT EXISTS sq;
CREATE SEQUENCE down INCREMENT -1 MINVALUE -3 MAXVALUE -1;
SELECT nextval('down'), nextval('down');
CREATE SEQUENCE small AS smallint;
\d small
CREATE SEQUENCE bad INCREMENT 0;
CREATE SEQUENCE bad MINVALUE 10 MAXVALUE 5;
CREATE SEQUENCE owned OWNED BY item.qty;
ALTER SEQUENCE owned OWNED BY NONE;
ALTER SEQUENCE sq RENAME TO sq2;
DROP SEQUENCE sq2, down;
DROP SEQUENCE nosuch;
DROP SEQUENCE IF EXISTS nosuch;
DROP SEQUENCE item_id_seq;
SELECT pg_get_serial_sequence('item', 'id');
CREATE VIEW cheap AS SELECT sku, price FROM item WHERE price < 5;
SELECT * FROM cheap ORDER BY sku;
CREATE VIEW cheap AS SELECT 1;
CREATE OR REPLACE VIEW cheap AS SELECT sku, price, qty FROM item WHERE price < 6;
CREATE OR REPLACE VIEW cheap AS SELECT sku FROM item;
\dv
CREATE VIEW grouped (s, n) AS SELECT left(sku, 1), count(*) FROM item GROUP BY 1;
SELECT * FROM grouped ORDER BY s;
CREATE VIEW dup AS SELECT 1 AS a, 2 AS a;
DROP TABLE item;
DROP VIEW cheap;
DROP VIEW nosuch;
DROP VIEW item;
DROP TABLE grouped;
ALTER TABLE item DROP COLUMN sku;
ALTER TABLE item DROP COLUMN sku CASCADE;
\set VERBOSITY terse
DROP SCHEMA dml CASCADE;
