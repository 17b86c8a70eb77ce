"""Django: a project's migrations, ORM, constraints, locks, admin, fixtures, `inspectdb`, and `test` with its database."""

import contextlib
import datetime
import decimal
import io
import os
import sys

from steps import equal, sqlstate, step, version

os.environ["DJANGO_SETTINGS_MODULE"] = "django_shop.settings"
os.mkdir("shop_migrations")
open("shop_migrations/__init__.py", "w").close()
sys.path.insert(0, os.getcwd())

import django  # noqa: E402: after the settings

django.setup()

from django.contrib.auth.models import User  # noqa: E402: after setup
from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, OperationalError, connection, connections, models, transaction  # noqa: E402
from django.db.models import Avg, Count, Exists, F, OuterRef, Q, Subquery, Sum, Window  # noqa: E402
from django.db.models.functions import Rank, TruncMonth  # noqa: E402
from django.test import Client  # noqa: E402
from django_shop.models import Author, Book, Job, Tag  # noqa: E402


def manage(*arguments, **options):
    """Runs a command of manage.py; its output."""
    output = io.StringIO()
    call_command(*arguments, stdout=output, **options)
    return output.getvalue()


@contextlib.contextmanager
def refused(error, code):
    try:
        with transaction.atomic():
            yield
    except error as found:
        equal(sqlstate(found), code)
    else:
        raise AssertionError(f"not refused with {code}")


def book(author, title, price, **fields):
    return Book.objects.create(author=author, title=title, price=decimal.Decimal(price), **fields)


version("Django", "psycopg")
with step("migrate"):
    manage("makemigrations", "django_shop", verbosity=0)
    manage("migrate", verbosity=0)
    manage("makemigrations", check=True, dry_run=True, verbosity=0)
    manage("check", databases=["default"])
with step("migrate back and forth"):
    manage("migrate", "django_shop", "zero", verbosity=0)
    assert "django_shop_book" not in connection.introspection.table_names()
    manage("migrate", verbosity=0)
    assert " [ ] " not in manage("showmigrations")
    assert "lower" in manage("sqlmigrate", "django_shop", "0001").lower()
with step("insert"):
    ada = Author.objects.create(name="Ada", email="Ada@example.org")
    bob = Author.objects.create(name="Bob")
    key = book(
        ada, "one", "1.50", words=["x", "y"], extra={"k": [1, 2]}, printed=datetime.date(2024, 2, 29),
        reading=datetime.timedelta(hours=30), cover=b"\0\xff",
    ).pk
    Book.objects.bulk_create(Book(author=bob, title=f"n{n}", price=n, extra={"n": n}) for n in range(20))
    equal(Author.objects.get_or_create(name="Ada", defaults={"active": True})[1], False)
    equal(Author.objects.update_or_create(name="Bob", defaults={"email": "bob@example.org"})[1], False)
    Tag.objects.bulk_create([Tag(name="t"), Tag(name="u")])
    Tag.objects.bulk_create([Tag(name="t"), Tag(name="v")], ignore_conflicts=True)
    Book.objects.get(pk=key).tags.set(Tag.objects.filter(name__in=["t", "v"]))
with step("select"):
    one = Book.objects.select_related("author").prefetch_related("tags").get(title="one")
    equal((one.author.name, one.price, one.with_tax), ("Ada", decimal.Decimal("1.50"), decimal.Decimal("3.00")))
    equal((one.words, one.extra, bytes(one.cover)), (["x", "y"], {"k": [1, 2]}, b"\0\xff"))
    equal((one.printed, one.reading), (datetime.date(2024, 2, 29), datetime.timedelta(hours=30)))
    assert one.made.tzinfo is not None
    equal(sorted(tag.name for tag in one.tags.all()), ["t", "v"])
    equal(Book.objects.filter(words__contains=["x"]).count(), 1)
    equal(Book.objects.filter(extra__n__gte=18).count(), 2)
    equal(Book.objects.filter(extra__has_key="k", extra__k__1=2).count(), 1)
    equal(Book.objects.filter(title__iregex="^N1[0-4]$", author__name__istartswith="bo").count(), 5)
    equal(Author.objects.annotate(n=Count("books"), total=Sum("books__price")).order_by("-n").values_list("name", "n", "total")[0],
          ("Bob", 20, decimal.Decimal(190)))
    newest = Book.objects.filter(author=OuterRef("pk")).order_by("-price").values("title")[:1]
    equal(list(Author.objects.annotate(dear=Subquery(newest)).order_by("name").values_list("dear", flat=True)), ["one", "n19"])
    equal(Author.objects.filter(Exists(Book.objects.filter(author=OuterRef("pk"), price__gt=5))).get().name, "Bob")
    ranked = Book.objects.annotate(place=Window(Rank(), partition_by="author", order_by="-price"))
    equal(ranked.filter(place=1).count(), 2)
    equal(Book.objects.order_by("author", "-price").distinct("author").count(), 2)
    equal(Book.objects.filter(printed__year=2024).annotate(month=TruncMonth("printed")).get().month, datetime.date(2024, 2, 1))
    equal(len(list(Book.objects.iterator(chunk_size=7))), 21)
    equal(Book.objects.filter(Q(title="n1") | Q(title="n2")).union(Book.objects.filter(title="one")).count(), 3)
    assert "Scan" in Book.objects.filter(title="one").explain(analyze=True)
with step("update and upsert"):
    equal(Book.objects.filter(author=bob).update(price=F("price") + 1), 20)
    books = list(Book.objects.filter(author=bob))
    for changed in books:
        changed.title = changed.title.upper()
    equal(Book.objects.bulk_update(books, ["title"], batch_size=6), 20)
    Tag.objects.bulk_create([Tag(id=1, name="w")], update_conflicts=True, unique_fields=["id"], update_fields=["name"])
    equal(Tag.objects.get(pk=1).name, "w")
    equal(Book.objects.aggregate(Avg("price"))["price__avg"].quantize(decimal.Decimal("0.01")), decimal.Decimal("10.07"))
with step("constraints"):
    with refused(IntegrityError, "23505"):
        Author.objects.create(name="Ada")
    Author.objects.create(name="Ada", active=False)
    with refused(IntegrityError, "23505"):
        Author.objects.create(name="Eve", email="ADA@example.org")
    with refused(IntegrityError, "23514"):
        book(ada, "cheap", "-1")
    with refused(IntegrityError, "23503"):
        Book.objects.filter(pk=key).update(author_id=99)
        connection.check_constraints()
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, Author._meta.db_table)
    equal(sorted(name for name in found if "author" in name or "email" in name)[-3:], ["django_shop_author_pkey", "email_in_any_case", "one_active_author"])
with step("select for update"):
    Job.objects.bulk_create(Job() for _ in range(4))
    # A second connection, as another worker has it.
    connections.settings["worker"] = {**connections.settings["default"]}
    take = Job.objects.filter(taken=False).order_by("number")
    with transaction.atomic(), transaction.atomic(using="worker"):
        mine = take.select_for_update(skip_locked=True)[:2]
        equal([job.number for job in mine], [1, 2])
        theirs = take.using("worker").select_for_update(skip_locked=True)[:2]
        equal([job.number for job in theirs], [3, 4])
        try:
            list(take.using("worker").select_for_update(of=("self",), nowait=True))
            raise AssertionError("NOWAIT has waited")
        except OperationalError as error:
            equal(sqlstate(error), "55P03")
            transaction.set_rollback(True, using="worker")
    connections["worker"].close()
with step("transaction"):
    committed = []
    with transaction.atomic():
        transaction.on_commit(lambda: committed.append(1))
        try:
            with transaction.atomic():
                Book.objects.all().delete()
                raise KeyError("rolls back")
        except KeyError:
            pass
    equal((Book.objects.count(), committed), (21, [1]))
    Author.objects.filter(name="Bob").delete()
    equal(Book.objects.count(), 1)
with step("inspectdb"):
    text = manage("inspectdb")
    for wanted in [
        "class DjangoShopBook(models.Model):", "key = models.UUIDField(primary_key=True)", "models.DecimalField(max_digits=10, decimal_places=2)",
        "author = models.ForeignKey(DjangoShopAuthor, models.DO_NOTHING)", "max_length=80, db_comment='as printed')",
        "extra = models.JSONField()", "unique_together = (('book', 'tag'),)",
    ]:
        assert wanted in text, f"no {wanted} in {text[text.index('class DjangoShop'):]}"
with step("dumpdata and loaddata"):
    with open("dump.json", "w") as file:
        file.write(manage("dumpdata", exclude=["contenttypes", "auth.permission"], indent=1))
    manage("flush", interactive=False, verbosity=0)
    equal((Author.objects.count(), Book.objects.count()), (0, 0))
    manage("loaddata", "dump.json", verbosity=0)
    equal((Author.objects.count(), Book.objects.get().words), (2, ["x", "y"]))
    assert Author.objects.create(name="after").pk > 2
with step("admin"):
    User.objects.create_superuser("root", password="secret")
    browser = Client()
    assert browser.login(username="root", password="secret")
    for page in ["", "django_shop/author/?q=ad&active__exact=1", "django_shop/book/?printed__year=2024", f"django_shop/book/{key}/change/"]:
        equal(browser.get(f"/admin/{page}").status_code, 200)
    equal(browser.post("/admin/django_shop/author/add/", {"name": "Grace", "active": "on"}).status_code, 302)
    page = browser.post("/admin/django_shop/author/add/", {"name": "Grace", "active": "on"})
    assert "already exists" in page.content.decode() or "is violated" in page.content.decode()
    assert "Grace" in browser.get("/admin/django_shop/author/?o=1").content.decode()
    browser.logout()
with step("manage.py test"):
    report = io.StringIO()
    try:
        with contextlib.redirect_stderr(report):
            call_command("test", "django_shop", verbosity=1, interactive=False)
    except SystemExit as end:
        assert not end.code, report.getvalue()[-2000:]
    assert "Ran 4 tests" in report.getvalue(), report.getvalue()
with step("schema editor"):
    class Note(models.Model):
        text = models.CharField(max_length=10)

        class Meta:
            app_label = "django_shop"

    with connection.schema_editor() as editor:
        editor.create_model(Note)
        size = models.IntegerField(null=True, db_index=True)
        size.set_attributes_from_name("size")
        editor.add_field(Note, size)
        longer = models.TextField(default="")
        longer.set_attributes_from_name("text")
        editor.alter_field(Note, Note._meta.get_field("text"), longer)
        big = models.BigIntegerField(null=True, unique=True)
        big.set_attributes_from_name("size")
        editor.alter_field(Note, size, big)
        editor.alter_db_table(Note, "django_shop_note", "notes")
        Note._meta.db_table = "notes"
        editor.delete_model(Note)
