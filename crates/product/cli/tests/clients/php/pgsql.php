<?php
// The functions pg_*: parameters, prepared and asynchronous statements, COPY, metadata, the ones that write SQL by themselves.

require __DIR__ . '/steps.php';

function rows($connection, string $sql, array $values = []): array
{
    return pg_fetch_all(pg_query_params($connection, $sql, $values));
}

function migrate($connection): void
{
    pg_query($connection, 'CREATE TABLE item (id serial PRIMARY KEY, name text NOT NULL UNIQUE, price numeric(10,2), sold boolean, cover bytea)');
}

function insert($connection): void
{
    pg_prepare($connection, 'add', 'INSERT INTO item (name, price, sold, cover) VALUES ($1, $2, $3, $4) RETURNING id');
    foreach (range(1, 10) as $number) {
        $result = pg_execute($connection, 'add', ["n$number", '1.50', $number > 5 ? 't' : 'f', pg_escape_bytea($connection, "\0\xFF")]);
        equal(pg_fetch_result($result, 0, 'id'), (string) $number);
    }
    equal(pg_insert($connection, 'item', ['name' => "it's", 'price' => '2', 'sold' => true]) !== false, true);
    equal(pg_update($connection, 'item', ['price' => '3'], ['name' => "it's"]), true);
    equal(pg_select($connection, 'item', ['name' => "it's"])[0]['price'], '3.00');
    equal(pg_delete($connection, 'item', ['name' => "it's"]), true);
}

function select($connection): void
{
    $row = rows($connection, 'SELECT * FROM item WHERE id = $1', [7])[0];
    equal([$row['name'], $row['price'], $row['sold'], pg_unescape_bytea($row['cover'])], ['n7', '1.50', 't', "\0\xFF"]);
    $result = pg_query($connection, 'SELECT name, price FROM item WHERE id = 1');
    equal([pg_field_type($result, 1), pg_field_table($result, 0), pg_num_rows($result), pg_field_size($result, 1)], ['numeric', 'item', 1, -1]);
    $meta = pg_meta_data($connection, 'item');
    equal([$meta['id']['has default'], $meta['name']['not null'], $meta['price']['type']], [true, true, 'numeric']);
}

function errors($connection): void
{
    pg_send_query_params($connection, 'INSERT INTO item (name) VALUES ($1)', ['n1']);
    $result = pg_get_result($connection);
    equal(pg_result_error_field($result, PGSQL_DIAG_SQLSTATE), '23505');
    equal(pg_result_error_field($result, PGSQL_DIAG_CONSTRAINT_NAME), 'item_name_key');
    equal(pg_transaction_status($connection), PGSQL_TRANSACTION_ACTIVE);
    equal(pg_get_result($connection), false);
    pg_send_query($connection, 'BEGIN; SELECT 1; COMMIT');
    $ends = [];
    while ($result = pg_get_result($connection)) {
        $ends[] = pg_result_status($result, PGSQL_STATUS_STRING);
    }
    equal([$ends, pg_transaction_status($connection)], [['BEGIN', 'SELECT 1', 'COMMIT'], PGSQL_TRANSACTION_IDLE]);
}

function copied($connection): void
{
    pg_query($connection, 'CREATE TABLE pair (a int, b text)');
    equal(pg_copy_from($connection, 'pair', ["1\tone\n", "2\t\\N\n"]), true);
    equal(pg_copy_to($connection, 'pair'), ["1\tone\n", "2\t\\N\n"]);
    pg_query($connection, 'COPY pair FROM STDIN (FORMAT csv)');
    pg_put_line($connection, "3,three\n");
    pg_end_copy($connection);
    equal(count(rows($connection, 'SELECT 1 FROM pair')), 3);
}

function notified($connection): void
{
    pg_query($connection, 'LISTEN news');
    pg_query($connection, "NOTIFY news, 'hello'");
    $told = pg_get_notify($connection, PGSQL_ASSOC);
    equal([$told['message'], $told['payload'], $told['pid']], ['news', 'hello', pg_get_pid($connection)]);
    pg_query($connection, 'DROP TABLE IF EXISTS nosuch');
    equal(str_contains(pg_last_notice($connection), 'skipping'), true);
}

echo 'version pgsql of PHP ', PHP_MAJOR_VERSION, '.', PHP_MINOR_VERSION, "\n";
$connection = pg_connect("options='--client_encoding=UTF8 -c search_path=public'");
step('connect', fn () => equal([pg_client_encoding($connection), pg_parameter_status($connection, 'TimeZone') !== false], ['UTF8', true]));
step('migrate', fn () => migrate($connection));
step('insert', fn () => insert($connection));
step('select', fn () => select($connection));
step('errors and asynchronous statements', fn () => errors($connection));
step('copy in and out', fn () => copied($connection));
step('notification', fn () => notified($connection));
step('reset', fn () => equal([pg_ping($connection), pg_connection_reset($connection), pg_connection_status($connection)], [true, true, PGSQL_CONNECTION_OK]));
