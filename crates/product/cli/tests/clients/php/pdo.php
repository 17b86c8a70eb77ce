<?php
// PDO: its own prepared statements and the server's, types, COPY, cursors, transactions; what schema builders ask of the catalogs.

require __DIR__ . '/steps.php';

const TABLE = "CREATE TABLE item (id serial PRIMARY KEY, name varchar(80) NOT NULL UNIQUE, price numeric(10,2), sold boolean DEFAULT false,
    cover bytea, extra jsonb, day date, made timestamptz DEFAULT now())";

// What schema builders ask of the catalogs, and a queue of its table.
const TABLES = "SELECT relname AS name, nspname AS schema, pg_total_relation_size(c.oid) AS bytes, obj_description(c.oid, 'pg_class') AS comment
    FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind IN ('r', 'p') AND nspname NOT IN ('pg_catalog', 'information_schema')
    ORDER BY relname";
const COLUMNS = "SELECT attname AS name, format_type(atttypid, atttypmod) AS type, NOT attnotnull AS nullable, attgenerated AS generated,
    pg_get_expr(adbin, adrelid) AS default, collcollate AS collation, col_description(attrelid, attnum) AS comment
    FROM pg_attribute a LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum LEFT JOIN pg_collation l ON l.oid = attcollation
    WHERE attrelid = 'public.item'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum";
const INDEXES = "SELECT i.relname AS name, string_agg(attname, ',' ORDER BY place) AS columns, amname AS method, indisunique AS \"unique\"
    FROM pg_index x JOIN pg_class i ON i.oid = indexrelid JOIN pg_am m ON m.oid = i.relam
    CROSS JOIN LATERAL unnest(indkey) WITH ORDINALITY AS k (number, place)
    LEFT JOIN pg_attribute ON attrelid = indrelid AND attnum = number
    WHERE indrelid = 'public.item'::regclass GROUP BY 1, 3, 4 ORDER BY 1";
const NEXT = "SELECT * FROM jobs WHERE queue = ? AND (reserved_at IS NULL AND available_at <= ? OR reserved_at <= ?) ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";

function connect(array $options = []): PDO
{
    return new PDO('pgsql:', null, null, $options + [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC]);
}

function all(PDO $pdo, string $sql, array $values = []): array
{
    $statement = $pdo->prepare($sql);
    $statement->execute($values);
    return $statement->fetchAll();
}

function insert(PDO $pdo): void
{
    $statement = $pdo->prepare('INSERT INTO item (name, price, sold, cover, extra, day) VALUES (:name, :price, :sold, :cover, :extra, :day)');
    foreach (range(1, 10) as $number) {
        $statement->bindValue('name', "n$number");
        $statement->bindValue('price', '1.50');
        $statement->bindValue('sold', $number > 5, PDO::PARAM_BOOL);
        $statement->bindValue('cover', "\0\xFF", PDO::PARAM_LOB);
        $statement->bindValue('extra', json_encode(['k' => [1, 2]]));
        $statement->bindValue('day', null, PDO::PARAM_NULL);
        $statement->execute();
    }
    equal($pdo->lastInsertId('item_id_seq'), '10');
    equal($pdo->lastInsertId(), '10');
    equal(all($pdo, "INSERT INTO item (name) VALUES (?) ON CONFLICT (name) DO UPDATE SET price = 2 RETURNING id", ['n1'])[0]['id'], 1);
}

function select(PDO $pdo): void
{
    $row = all($pdo, 'SELECT id, name, price, sold, cover, extra::text, day FROM item WHERE id = ? AND sold = ?', [7, 'true'])[0];
    equal([$row['id'], $row['name'], $row['price'], $row['sold'], $row['extra'], $row['day']], [7, 'n7', '1.50', true, '{"k": [1, 2]}', null]);
    equal(stream_get_contents($row['cover']), "\0\xFF");
    $statement = $pdo->query('SELECT id, name, price FROM item LIMIT 1');
    $meta = $statement->getColumnMeta(1);
    equal([$meta['native_type'], $meta['name'], $meta['table'], $statement->rowCount()], ['varchar', 'name', 'item', 1]);
    equal($pdo->query("SELECT 'it''s', " . $pdo->quote("it's \\"))->fetch(PDO::FETCH_NUM), ["it's", "it's \\"]);
}

function transaction(PDO $pdo): void
{
    $pdo->beginTransaction();
    $pdo->exec('UPDATE item SET price = 3 WHERE id = 1');
    $pdo->exec('SAVEPOINT trans2');
    refused('22012', fn () => $pdo->query('SELECT 1/0'));
    refused('25P02', fn () => $pdo->query('SELECT 1'));
    $pdo->exec('ROLLBACK TO SAVEPOINT trans2');
    equal($pdo->inTransaction(), true);
    $pdo->commit();
    $pdo->beginTransaction();
    equal($pdo->exec('DELETE FROM item'), 10);
    $pdo->rollBack();
    equal(all($pdo, 'SELECT count(*) AS n, min(id) AS first FROM item WHERE price IS NOT NULL')[0]['n'], 10);
    refused('23505', fn () => $pdo->exec("INSERT INTO item (name) VALUES ('n1')"));
}

function copied(PDO $pdo): void
{
    $pdo->exec('CREATE TABLE pair (a int, b text)');
    equal($pdo->pgsqlCopyFromArray('pair', ["1\tone\n", "2\t\\N\n"], "\t", '\\\\N'), true);
    equal($pdo->pgsqlCopyToArray('pair'), ["1\tone\n", "2\t\\N\n"]);
}

function cursor(PDO $pdo): void
{
    $pdo->beginTransaction();
    $statement = $pdo->prepare('SELECT id FROM item ORDER BY id', [PDO::ATTR_CURSOR => PDO::CURSOR_SCROLL]);
    $statement->execute();
    $fetch = fn (int $where, int $offset = 0) => $statement->fetch(PDO::FETCH_NUM, $where, $offset)[0];
    equal([$fetch(PDO::FETCH_ORI_NEXT), $fetch(PDO::FETCH_ORI_LAST), $fetch(PDO::FETCH_ORI_PRIOR), $fetch(PDO::FETCH_ORI_ABS, 3)], [1, 10, 9, 3]);
    unset($statement);
    $pdo->commit();
}

function queue(PDO $pdo): void
{
    $pdo->exec('CREATE TABLE jobs (id bigserial PRIMARY KEY, queue varchar(255) NOT NULL, payload text NOT NULL, attempts smallint NOT NULL,
        reserved_at int, available_at int NOT NULL)');
    $pdo->exec("INSERT INTO jobs (queue, payload, attempts, available_at) SELECT 'default', '{}', 0, 0 FROM generate_series(1, 3)");
    $other = connect();
    $pdo->beginTransaction();
    $other->beginTransaction();
    equal(all($pdo, NEXT, ['default', 10, 0])[0]['id'], 1);
    equal(all($other, NEXT, ['default', 10, 0])[0]['id'], 2);
    $other->commit();
    equal(count(all($pdo, 'UPDATE jobs SET reserved_at = ?, attempts = attempts + 1 WHERE id = ? RETURNING id', [5, 1])), 1);
    $pdo->commit();
}

function reflect(PDO $pdo): void
{
    equal(array_column(all($pdo, TABLES), 'name'), ['item']);
    $columns = all($pdo, COLUMNS);
    equal(array_column($columns, 'type')[1], 'character varying(80)');
    equal([$columns[0]['default'], $columns[3]['default'], $columns[1]['nullable']], ["nextval('item_id_seq'::regclass)", 'false', false]);
    equal(array_column(all($pdo, INDEXES), 'columns', 'name'), ['item_name_key' => 'name', 'item_pkey' => 'id']);
}

function notified(PDO $pdo): void
{
    $pdo->exec('LISTEN news');
    $pdo->exec("NOTIFY news, 'hello'");
    $told = $pdo->pgsqlGetNotify(PDO::FETCH_ASSOC, 30000);
    equal([$told['message'], $told['payload'], $told['pid']], ['news', 'hello', $pdo->pgsqlGetPid()]);
}

// Parts of a release: the distribution's corrections raise the rest.
echo 'version PDO of PHP ', PHP_MAJOR_VERSION, '.', PHP_MINOR_VERSION, "\n";
$pdo = connect();
step('connect', fn () => equal(substr($pdo->getAttribute(PDO::ATTR_SERVER_VERSION), 0, 3), '15.'));
step('migrate', fn () => $pdo->exec(TABLE));
step('insert', fn () => insert($pdo));
step('select', fn () => select($pdo));
step('reflect', fn () => reflect($pdo));
step('transaction', fn () => transaction($pdo));
step('copy in and out', fn () => copied($pdo));
step('cursor', fn () => cursor($pdo));
step('queue', fn () => queue($pdo));
step('notification', fn () => notified($pdo));
step('emulated statements', function () {
    $pdo = connect([PDO::ATTR_EMULATE_PREPARES => true]);
    equal(all($pdo, 'SELECT name FROM item WHERE id IN (?, ?) ORDER BY id', [1, 2]), [['name' => 'n1'], ['name' => 'n2']]);
    // A pool between would forget statements of the server.
    $pdo->setAttribute(PDO::PGSQL_ATTR_DISABLE_PREPARES, true);
    equal(all($pdo, 'SELECT name FROM item WHERE id = ?', [1]), [['name' => 'n1']]);
});
step('persistent connection', function () {
    foreach ([1, 2] as $_) {
        $pdo = connect([PDO::ATTR_PERSISTENT => true]);
        equal($pdo->query('SELECT 1')->fetchColumn(), 1);
        unset($pdo);
    }
});
