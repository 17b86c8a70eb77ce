"""Steps of a client: each prints `ok STEP` or `failed STEP: SQLSTATE MESSAGE`, and the next one runs either way."""

import contextlib
import importlib.metadata
import os
import traceback

HOST = os.environ["PGHOST"]
PORT = int(os.environ["PGPORT"])
USER = os.environ["PGUSER"]
DATABASE = os.environ["PGDATABASE"]
URL = os.environ["DATABASE_URL"]


def version(*packages):
    print("version", ", ".join(f"{package} {importlib.metadata.version(package)}" for package in packages), flush=True)


@contextlib.contextmanager
def step(name):
    try:
        yield
    except Exception as error:
        message = " ".join(str(error).split())[:300]
        print(f"failed {name}: {sqlstate(error)} {type(error).__name__}: {message}", flush=True)
        traceback.print_exc()
    else:
        print(f"ok {name}", flush=True)


def sqlstate(error):
    """SQLSTATE of an error, or of the driver's error that it wraps."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        code = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
        if code:
            return code
        error = getattr(error, "orig", None) or error.__cause__ or error.__context__
    return "-----"


def equal(found, wanted):
    assert found == wanted, f"found {found!r}, wanted {wanted!r}"


def saw(what, text):
    """Shows what a step has seen, which must be the same on every server. The step's own line follows."""
    print(f"saw {what}: {' '.join(text.split())}", flush=True)
