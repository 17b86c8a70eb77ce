-- Functions and operators of strings, numbers, dates, arrays and JSON.
SELECT length('héllo'), char_length('abc'), octet_length('é'), bit_length('a'), upper('aé'), lower('AÉ'), initcap('hello wORLD-x');
SELECT substr('abcdef', 2, 3), substring('abcdef' FROM 2 FOR 3), substring('abcdef', 4), left('abc', 2), right('abc', 2), left('abc', -1), substr('abc', 0, 2);
SELECT substring('abc', 1, -1);
SELECT position('b' IN 'abc'), strpos('abc', 'c'), replace('aaa', 'a', 'b'), translate('abc', 'ab', 'x'), reverse('abc'), repeat('ab', 3), overlay('abcdef' PLACING 'XX' FROM 2 FOR 3);
SELECT trim('  a '), trim(BOTH 'x' FROM 'xax'), ltrim('xxa', 'x'), rtrim('axx', 'x'), btrim(' a '), trim(LEADING FROM ' a '), trim(TRAILING 'a' FROM 'baa');
SELECT lpad('a', 3, '*'), rpad('a', 3), lpad('abc', 2), concat('a', NULL, 1, true), concat_ws('-', 'a', NULL, 'b'), 'a' || NULL, split_part('a,b,c', ',', 2), split_part('a,b,c', ',', -1);
SELECT split_part('a', ',', 0);
SELECT ascii('a'), chr(65), chr(233), md5('a'), to_hex(255), quote_ident('a b'), quote_literal('it''s'), quote_nullable(NULL), starts_with('abc', 'ab'), string_to_array('a,b,,c', ','), string_to_array('a,b', NULL), array_to_string(ARRAY[1,NULL,3], ',', '*');
SELECT chr(0);
SELECT format('Hello %s, %I is %L', 'you', 'a B', 'q''s'), format('%2$s %1$s', 'a', 'b'), format('%-5s|%5s|', 'a', 'b'), format('%%');
SELECT format('%s');
SELECT format('%x', 1);
SELECT sha256('a'), encode(sha256('abc'), 'hex'), string_to_table('a b', ' '), ascii('');
SELECT abs(-5), abs(-5.5), ceil(1.2), ceiling(-1.2), floor(-1.2), round(2.5), round(-2.5), round(2.5::float8), round(123.456, 1), round(123.456, -1), trunc(1.9), trunc(1.987, 2), sign(-3), mod(7, 3), div(7.5, 2);
SELECT sqrt(16), power(2, 10), 2 ^ 3 ^ 2, exp(1), ln(10), log(100), log(2, 8), pi(), degrees(pi()), radians(180), |/ 16.0, @ -5, 5 # 3, 5 & 3, 5 | 3, ~5, 1 << 4, 16 >> 2, factorial(10), gcd(12, 18), lcm(4, 6);
SELECT sqrt(-1);
SELECT ln(0);
SELECT power(0, -1);
SELECT power(-8, 0.5);
SELECT sin(0), cos(0), tan(0), asin(1), acos(1), atan(1), atan2(1, 1), sinh(0), cosh(0), tanh(0), cot(1), sind(30), width_bucket(5, 0, 10, 5), scale(1.230), min_scale(1.230), trim_scale(1.230), erf(0);
SELECT exp(1.0), ln(2.0), log(2.0), sqrt(2.0), power(2.0, 0.5), exp(1::numeric) - 1, 10 % 3.3, 1e3, 1::numeric(10,4) * 3.33, 100 * 1.10;
SELECT extract(year FROM date '2024-03-15'), extract(dow FROM date '2024-03-17'), extract(isodow FROM date '2024-03-17'), extract(doy FROM date '2024-03-15'), extract(week FROM date '2024-01-01'), extract(quarter FROM date '2024-03-15'), extract(epoch FROM timestamp '2024-01-01 00:00:00.5'), extract(second FROM time '01:02:03.45'), extract(century FROM date '2001-01-01'), extract(isoyear FROM date '2021-01-01'), extract(day FROM interval '3 days 4 hours'), extract(hour FROM timestamptz '2024-01-01 05:00+00'), date_part('month', date '2024-03-15');
SELECT extract(nosuch FROM date '2024-01-01');
SELECT extract(hour FROM date '2024-01-01');
SELECT date_trunc('hour', timestamp '2024-03-15 13:45:50'), date_trunc('week', date '2024-03-15'), date_trunc('quarter', timestamptz '2024-05-15 13:45:50+00'), date_trunc('day', interval '3 days 4 hours'), date_trunc('day', timestamptz '2024-05-15 23:45+00', 'Europe/Berlin'), date_bin('15 minutes', timestamp '2024-01-01 10:37', timestamp '2024-01-01');
SELECT date_trunc('nosuch', now());
SELECT make_date(2024, 2, 29), make_time(1, 2, 3.5), make_timestamp(2024, 1, 2, 3, 4, 5.5), make_timestamptz(2024, 1, 2, 3, 4, 5, 'UTC'), make_interval(days => 1, hours => 2), make_interval(years := 1), to_timestamp(0), to_date('15/03/2024', 'DD/MM/YYYY'), to_timestamp('2024-03-15 13:45', 'YYYY-MM-DD HH24:MI'), to_number('1,234.5', '9,999.9');
SELECT make_date(2024, 2, 30);
SELECT make_interval(nosuch => 1);
SELECT to_date('x', 'YYYY');
SELECT timestamp '2024-01-01 12:00' AT TIME ZONE 'Europe/Berlin', timestamptz '2024-01-01 12:00+00' AT TIME ZONE 'Asia/Tokyo', timezone('UTC', timestamptz '2024-01-01 12:00+00'), timestamptz '2024-01-01 12:00+00' AT TIME ZONE interval '-3 hours', timestamp '2024-01-01' AT TIME ZONE 'EST';
SELECT now() AT TIME ZONE 'nowhere';
SELECT age(timestamp '2024-03-15', timestamp '2020-02-29'), justify_days(interval '40 days'), justify_interval(interval '1 mon -1 hour'), isfinite(date 'infinity'), date '2024-01-01' + time '10:00', date '2024-01-01' > timestamp '2023-12-31', interval '1 day' > interval '23 hours';
SELECT now() = transaction_timestamp(), now() = current_timestamp, pg_typeof(current_date), pg_typeof(localtime), pg_typeof(localtimestamp), pg_typeof(clock_timestamp()), pg_typeof(current_timestamp(0));
SELECT to_char(timestamp '2024-03-05 13:04:09.123', 'YYYY-MM-DD HH24:MI:SS.MS'), to_char(date '2024-03-05', 'Day, DD Mon YYYY'), to_char(date '2024-03-05', 'FMDay FMDDth FMMonth'), to_char(timestamp '2024-03-05 13:04', 'HH12:MI AM'), to_char(date '2024-03-05', 'IYYY-IW Q DDD J CC'), to_char(interval '1 day 02:03:04', 'HH24:MI:SS'), to_char(date '2024-03-05', '"Year:" YYYY');
SELECT to_char(1234567.891, '9,999,999.99'), to_char(-5, '999'), to_char(5, '000'), to_char(0.5, 'FM990.00'), to_char(485, 'RN'), to_char(1234.5, 'L9,999.00'), to_char(12, '99th'), to_char(1e10, '9.99EEEE'), to_char(-1, 'S9'), to_char(-1, '9MI'), to_char(-1, '9PR'), to_char(12345, '999'), to_char(148.5::float8, '999.999');
SELECT array_length(ARRAY[1,2,3], 1), cardinality(ARRAY[[1,2],[3,4]]), array_ndims(ARRAY[[1]]), array_dims(ARRAY[1,2]), array_upper(ARRAY[1,2], 1), array_append(ARRAY[1], 2), array_prepend(0, ARRAY[1]), array_cat(ARRAY[1], ARRAY[2]), array_remove(ARRAY[1,2,1], 1), array_replace(ARRAY[1,2], 2, 9), array_position(ARRAY['a','b'], 'b'), array_positions(ARRAY[1,2,1], 1), array_fill(7, ARRAY[2]), trim_array(ARRAY[1,2,3], 1);
SELECT ARRAY[1,2] = ARRAY[1,2], ARRAY[1,2] < ARRAY[1,3], ARRAY[1] <@ ARRAY[1,2], array_agg(x ORDER BY x DESC) FROM (VALUES (1), (3), (2)) v (x);
SELECT jsonb_build_object('a', 1, 'b', ARRAY[1,2]), jsonb_set('{"a":1}', '{a}', '2'), jsonb_insert('{"a":[1]}', '{a,0}', '0'), '{"a":1}'::jsonb || '{"b":2}', '{"a":1,"b":2}'::jsonb - 'a', '[1,2]'::jsonb - 0, jsonb_typeof('[]'), json_array_length('[1,2]'), jsonb_pretty('{"a":[1,2]}'), jsonb_strip_nulls('{"a":null}'), json_typeof('1'), jsonb_array_length('[]');
SELECT json_object_keys('{"a":1,"b":2}'), jsonb_object_keys('{"x":1,"y":2}');
SELECT * FROM jsonb_each_text('{"a":1,"b":null}');
SELECT to_jsonb(ARRAY[1,2]), to_json('a"b'::text), to_json(now()) IS NULL, row_to_json(row(1, 'a')), json_build_object(), array_to_json(ARRAY[[1,2],[3,4]]), json_strip_nulls('{"a":null}'), to_json(date '2024-01-01'), to_json(1.50), to_json(true), to_json(timestamp '2024-01-01 10:00');
SELECT '{"a":1}'::jsonb = '{"a": 1}'::jsonb, '[1,2]'::jsonb @> '1', '{"a":{"b":1}}'::jsonb #> '{a}', '{"a":1}'::jsonb ?| ARRAY['a','z'], '{"a":1}'::jsonb ?& ARRAY['a','z'], '{"a":{"b":1}}'::jsonb #- '{a,b}', ('{"a":"5"}'::jsonb ->> 'a')::int + 1, ('{"a":5}'::jsonb -> 'a')::int;
SELECT coalesce(NULL, 'a'), coalesce(NULL, NULL), nullif(1, 1), greatest(1, 2.5), least('b', 'a'), num_nulls(1, NULL), num_nonnulls(1, NULL);
SELECT coalesce(1, 'a');
SELECT current_user, session_user, current_database() IS NOT NULL, current_schema(), current_schemas(true), pg_backend_pid() > 0, version() LIKE 'PostgreSQL 15%', current_catalog IS NOT NULL, user;
SELECT random() BETWEEN 0 AND 1, gen_random_uuid() IS NOT NULL, length(gen_random_uuid()::text), setseed(0.5);
SELECT pg_size_pretty(10240::bigint), pg_size_pretty(123456789::bigint), has_table_privilege('pg_class', 'SELECT'), obj_description(0), col_description(0, 0), pg_is_in_recovery(), txid_current() > 0, inet_server_addr() IS NULL OR true;
SELECT 'pg_class'::regclass, 'int4'::regtype, 1259::regclass;
SELECT to_regclass('nosuch'), to_regtype('integer'), format_type(1043, 14), 'now'::regproc, 'pg_catalog'::regnamespace, 'postgres'::regrole;
SELECT generate_series(1, 3) AS a, generate_series(10, 11) AS b;
SELECT sum(x), avg(x), min(x), max(x), count(x), stddev_pop(x), var_samp(x), bit_and(x), bit_or(x), string_agg(x::text, '+' ORDER BY x), regr_slope(x, x), covar_pop(x, x) FROM generate_series(1, 4) x;
SELECT sum(x::float8), avg(x::float8), sum(x::numeric), avg(x::smallint), sum(x::bigint), avg(x::real), sum(x * interval '1 hour'), avg(x * interval '1 hour'), max(ARRAY[x]), min(x::text) FROM generate_series(1, 4) x;
SELECT 1 = ANY ('{1,2}'), 'a' = ALL (ARRAY['a']), 5 > ALL (ARRAY[1,2]), NOT true AND false OR true, NOT 1 = 2, -2 ^ 2, 2 + 3 * 4, 'a' < 'B', 'a' COLLATE "C" < 'B', 10 - 3 - 2, 1 != 2, 1 <> 2, 5 IS NULL, 5 ISNULL, 5 NOTNULL;
SELECT 'a' || 'b' = 'ab', 'x' IN ('x', 'y'), 1::int8 = 1.0, '1' = 1, 'a'::text = 'a'::varchar, 'a '::char(2) = 'a'::text, interval '1 hour' * 3, time '10:00' + interval '25 hours', time '10:00' - time '08:00', date '2024-01-01' + interval '1 day';
SELECT "x" FROM (SELECT 1 AS "x") "T";
SELECT 1 AS "Mixed Case", 2 AS "select", 3 AS año;
SELECT 1 AS one, 2 two, 'a' AS "?column?", now() - now(), true AND false, (1), -1, 1::text, CAST(1 AS text), CASE WHEN true THEN 1 END, (SELECT 1), ARRAY[1], ROW(1), EXISTS (SELECT 1), coalesce(1), 'x' LIKE 'y', (SELECT 5 AS five), count(*), interval '1 day', date '2024-01-01', extract(year FROM now()) > 2000, nullif(1, 2), current_date IS NULL, greatest(1), 1 IN (1) FROM (VALUES (1)) v;
SELECT * FROM pg_typeof(1);
SELECT power(10, 400);
SELECT exp(1000::float8);
SELECT '1 day'::interval + '1 day';
SELECT now() + 1;
SELECT date '2024-01-01' + date '2024-01-01';
SELECT repeat('x', 2000000000) IS NULL;
SELECT generate_series(1, 3, 0);
SELECT array_length(1, 1);
SELECT upper();
SELECT sum('a');
SELECT max();
SELECT ARRAY[1, 'a'];
SELECT ARRAY[]::int[];
SELECT @ -1;
SELECT 'a'::nosuch;
SELECT nosuch.a;
SELECT a.b.c.d.e;
SELECT 1;;
;
SELECT 1 \; SELECT 2;
SELECT 1; SELECT 2 AS a, 3 AS b \gset
\echo :a :b
SELECT 1 AS a \gx
SELECT 'a' AS x, 1 AS y \g (format=csv)
\gdesc
SELECT 1 AS a, 'x'::varchar(3) AS b, now() AS c, 1.5::numeric(4,2) AS d \gdesc
SELECT 'SELECT 1 AS from_gexec' \gexec
