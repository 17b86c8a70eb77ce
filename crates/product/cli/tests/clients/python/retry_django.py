"""A transaction that is run again after a conflict, with Django. docs/retries.md shows the function."""

import django
from django.conf import settings
from steps import DATABASE, HOST, PORT, USER, equal, step, version

from psycopg import IsolationLevel

settings.configure(DATABASES={"default": {
    "ENGINE": "django.db.backends.postgresql", "HOST": HOST, "PORT": PORT, "USER": USER, "NAME": DATABASE,
    "OPTIONS": {"isolation_level": IsolationLevel.SERIALIZABLE},
}, "other": {"ENGINE": "django.db.backends.postgresql", "HOST": HOST, "PORT": PORT, "USER": USER, "NAME": DATABASE}})
django.setup()

# shown: begin
import functools
import random
import time

from django.db import OperationalError, transaction


def retried(attempts=10):
    """Runs a function in a transaction, again after a conflict. Not for use inside another atomic block."""
    def decorate(body):
        @functools.wraps(body)
        def run(*args, **kwargs):
            for attempt in range(1, attempts + 1):
                try:
                    with transaction.atomic(durable=True):
                        return body(*args, **kwargs)
                except OperationalError as error:
                    state = getattr(error.__cause__, "sqlstate", None)
                    if state not in ("40001", "40P01") or attempt == attempts:
                        raise
                    time.sleep(random.uniform(0, 0.01 * 2**attempt))
        return run
    return decorate
# shown: end


from django.db import connections, models  # noqa: E402: after setup


class Stock(models.Model):
    n = models.IntegerField()

    class Meta:
        app_label = "shop"


version("Django", "psycopg")
with connections["default"].schema_editor() as editor:
    editor.create_model(Stock)
Stock.objects.create(id=1, n=10)
with step("runs again after a conflict"):
    seen = []

    @retried()
    def sell(identity):
        stock = Stock.objects.get(id=identity)
        seen.append(stock.n)
        if len(seen) == 1:
            Stock.objects.using("other").update(n=models.F("n") - 1)
        stock.n -= 1
        stock.save()
        return stock.n

    equal(sell(1), 8)
    equal(seen, [10, 9])
