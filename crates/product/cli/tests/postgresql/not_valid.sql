-- Constraints that are NOT VALID: new rows are checked, those that were there are when the constraint is validated.
CREATE SCHEMA not_valid;
SET search_path = not_valid;
CREATE TABLE p (id int PRIMARY KEY);
INSERT INTO p VALUES (1), (2);
CREATE TABLE t (id int PRIMARY KEY, a int, b int, u int CONSTRAINT t_u UNIQUE);
INSERT INTO t VALUES (1, -1, 7, 1), (2, 2, 2, 2);
ALTER TABLE t ADD CONSTRAINT t_a CHECK (a > 0);
ALTER TABLE t ADD CONSTRAINT t_a CHECK (a > 0) NOT VALID;
ALTER TABLE t ADD CONSTRAINT t_b FOREIGN KEY (b) REFERENCES p ON DELETE CASCADE DEFERRABLE NOT VALID;
\d t
SELECT conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY 1;
INSERT INTO t VALUES (3, -3, 1, 3);
INSERT INTO t VALUES (3, 3, 9, 3);
INSERT INTO t VALUES (3, 3, 1, 3);
UPDATE t SET u = 8 WHERE id = 1;
UPDATE t SET a = 1, u = 8 WHERE id = 1;
UPDATE t SET b = 8 WHERE id = 1;
ALTER TABLE t VALIDATE CONSTRAINT t_b;
ALTER TABLE t VALIDATE CONSTRAINT t_a;
SELECT conname, convalidated FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY 1;
UPDATE t SET b = 1 WHERE id = 1;
ALTER TABLE t VALIDATE CONSTRAINT t_b, VALIDATE CONSTRAINT t_a;
\d t
ALTER TABLE t VALIDATE CONSTRAINT t_u;
ALTER TABLE t VALIDATE CONSTRAINT nothing;
ALTER TABLE t ADD CONSTRAINT t_k UNIQUE (a) NOT VALID;
CREATE TABLE n (a int, CHECK (a > 0) NOT VALID, FOREIGN KEY (a) REFERENCES p NOT VALID);
SELECT conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'n'::regclass ORDER BY 1;
CREATE DOMAIN d AS int;
CREATE TABLE o (v d);
INSERT INTO o VALUES (-1);
ALTER DOMAIN d ADD CONSTRAINT d_low CHECK (VALUE > 0);
ALTER DOMAIN d ADD CONSTRAINT d_low CHECK (VALUE > 0) NOT VALID;
SELECT conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE contypid = 'd'::regtype;
INSERT INTO o VALUES (-2);
ALTER DOMAIN d VALIDATE CONSTRAINT d_low;
UPDATE o SET v = 5;
ALTER DOMAIN d VALIDATE CONSTRAINT d_low;
ALTER DOMAIN d VALIDATE CONSTRAINT d_low;
\dD d
\set VERBOSITY terse
DROP SCHEMA not_valid CASCADE;
