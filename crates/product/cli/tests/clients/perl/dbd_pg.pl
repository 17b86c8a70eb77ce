# DBD::Pg: placeholders, types, metadata of DBI, COPY, savepoints, notifications, asynchronous statements.
use strict;
use warnings;

use DBI;
use DBD::Pg qw(:pg_types :async);

$| = 1;

sub step {
    my ($name, $body) = @_;
    if (eval { $body->(); 1 }) {
        print "ok $name\n";
        return;
    }
    my ($error, $state) = ("$@", $DBI::state || '-----');
    print STDERR "$name: $error\n";
    $error =~ s/\s+/ /g;
    print "failed $name: ", ($state =~ /^[0-9A-Z]{5}$/ ? $state : '-----'), ' ', substr($error, 0, 300), "\n";
}

sub text { join '|', map { ref $_ eq 'ARRAY' ? '[' . text(@$_) . ']' : $_ // 'undef' } @_ }

sub equal {
    my ($found, $wanted) = map { text(ref $_ eq 'ARRAY' ? @$_ : $_) } @_;
    die "found $found, wanted $wanted" if $found ne $wanted;
}

sub refused {
    my ($dbh, $state, $body) = @_;
    die "not refused with $state" if eval { $body->(); 1 };
    equal($dbh->state, $state);
}

sub connection { DBI->connect('dbi:Pg:', '', '', { RaiseError => 1, PrintError => 0, AutoCommit => 1, pg_enable_utf8 => 1 }) }

my $dbh = connection();
print 'version DBD::Pg ', $DBD::Pg::VERSION =~ s/^(\d+\.\d+).*/$1/r, ', DBI ', $DBI::VERSION =~ s/^(\d+\.\d+).*/$1/r, "\n";

step('connect', sub { die 'no ping' unless $dbh->ping; equal($dbh->{pg_server_version} =~ s/....$//r, 15) });
step('migrate', sub {
    $dbh->do('CREATE TABLE author (id serial PRIMARY KEY, name varchar(80) NOT NULL UNIQUE)');
    $dbh->do('CREATE TABLE book (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, author_id int NOT NULL REFERENCES author ON DELETE CASCADE,
        title text, price numeric(10,2) DEFAULT 1, tags text[], cover bytea, sold boolean)');
    $dbh->do('CREATE INDEX book_author ON book (author_id, title)');
});
step('insert', sub {
    $dbh->do('INSERT INTO author (name) VALUES (?)', undef, 'Ada');
    equal($dbh->last_insert_id(undef, undef, 'author', undef), 1);
    equal($dbh->last_insert_id(undef, undef, undef, undef, { sequence => 'author_id_seq' }), 1);
    my $sth = $dbh->prepare('INSERT INTO book (author_id, title, price, tags, cover, sold) VALUES (1, $1, $2, $3, $4, $5) RETURNING id');
    $sth->bind_param(4, undef, { pg_type => PG_BYTEA });
    for my $number (1 .. 10) {
        $sth->execute("n$number", '1.50', ['x', undef, 'a "b"'], "\0\xFF", $number > 5 ? 't' : 'f');
        equal($sth->fetchrow_array, $number);
    }
    my $many = $dbh->prepare('INSERT INTO author (name) VALUES (?)');
    equal($many->execute_array({ ArrayTupleStatus => \my @status }, [map {"m$_"} 1 .. 5]), 5);
});
step('select', sub {
    my $row = $dbh->selectrow_hashref('SELECT * FROM book WHERE id = ? AND sold', undef, 7);
    equal([@$row{qw(title price tags cover sold)}], ['n7', '1.50', ['x', undef, 'a "b"'], "\0\xFF", 1]);
    equal($dbh->selectcol_arrayref('SELECT id FROM book WHERE id = ANY(?) ORDER BY id', undef, [1, 3]), [1, 3]);
    my $sth = $dbh->prepare('SELECT id, title, price FROM book WHERE title = :title');
    $sth->bind_param(':title', 'n1');
    $sth->execute;
    equal([@{ $sth->{pg_type} }, @{ $sth->{NULLABLE} }], ['int8', 'text', 'numeric', 0, 1, 1]);
    equal([$sth->fetchrow_array], [1, 'n1', '1.50']);
    $sth->finish;
});
step('reflect', sub {
    my $names = sub { my ($sth, $column) = @_; [map { $_->{$column} } @{ $sth->fetchall_arrayref({}) }] };
    equal($names->($dbh->table_info(undef, 'public', '%', 'TABLE'), 'TABLE_NAME'), ['author', 'book']);
    equal($names->($dbh->column_info(undef, 'public', 'author', '%'), 'pg_type'), ['integer', 'character varying(80)']);
    equal([$dbh->primary_key(undef, 'public', 'book')], ['id']);
    equal($names->($dbh->foreign_key_info(undef, undef, undef, undef, 'public', 'book'), 'UK_TABLE_NAME'), ['author']);
    equal($names->($dbh->statistics_info(undef, 'public', 'book', 0, 0), 'INDEX_NAME'), ['book_pkey', 'book_author', 'book_author', undef]);
    equal([$dbh->tables(undef, 'public', 'author', 'TABLE')], ['public.author']);
    die 'no types' unless $dbh->type_info_all;
});
step('copy in and out', sub {
    $dbh->do('COPY author (name) FROM STDIN');
    $dbh->pg_putcopydata("c$_\n") for 1 .. 100;
    $dbh->pg_putcopyend;
    $dbh->do("COPY (SELECT name FROM author WHERE name LIKE 'c%' ORDER BY id LIMIT 2) TO STDOUT");
    my ($all, $line) = ('');
    $all .= $line while $dbh->pg_getcopydata($line) >= 0;
    equal($all, "c1\nc2\n");
});
step('transaction', sub {
    $dbh->begin_work;
    $dbh->do('UPDATE book SET price = 3 WHERE id = 1');
    $dbh->pg_savepoint('nested');
    refused($dbh, '22012', sub { $dbh->do('SELECT 1/0') });
    refused($dbh, '25P02', sub { $dbh->do('SELECT 1') });
    $dbh->pg_rollback_to('nested');
    $dbh->pg_release('nested');
    $dbh->commit;
    $dbh->begin_work;
    $dbh->do('DELETE FROM book');
    $dbh->rollback;
    equal([$dbh->selectrow_array('SELECT count(*), max(price) FROM book')], [10, '3.00']);
    refused($dbh, '23505', sub { $dbh->do("INSERT INTO author (name) VALUES ('Ada')") });
    equal($dbh->pg_error_field('constraint'), 'author_name_key');
});
step('notification', sub {
    $dbh->do('LISTEN news');
    $dbh->do("NOTIFY news, 'hello'");
    equal($dbh->pg_notifies, ['news', $dbh->{pg_pid}, 'hello']);
});
step('asynchronous statements', sub {
    $dbh->do('SELECT count(*) FROM book', { pg_async => PG_ASYNC });
    equal($dbh->pg_result, 1);
    $dbh->do('SELECT pg_sleep(300)', { pg_async => PG_ASYNC });
    # The statement runs when others see it.
    my $other = connection();
    1 until $other->selectrow_array("SELECT count(*) FROM pg_stat_activity WHERE pid = ? AND state = 'active'", undef, $dbh->{pg_pid});
    $dbh->pg_cancel;
    equal($dbh->selectrow_array('SELECT 1'), 1);
    $other->disconnect;
});
step('statements of the server', sub {
    my $sth = $dbh->prepare('SELECT ?::int + 1', { pg_prepare_now => 1 });
    for my $number (1 .. 3) { $sth->execute($number); equal($sth->fetchrow_array, $number + 1) }
    undef $sth;
    local $dbh->{pg_server_prepare} = 0;
    equal($dbh->selectrow_array('SELECT ?::int + 1', undef, 1), 2);
});
$dbh->disconnect;
