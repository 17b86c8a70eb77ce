"""Takes the templates of queries out of pgAdmin's package, and leaves the rest: nothing of it is installed.

The argument is the folder of the clients' Python.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

VERSION = "9.18"
home = pathlib.Path(sys.argv[1])
kept = home / "pgadmin"


def take_out(package):
    with zipfile.ZipFile(package) as archive:
        for name in archive.namelist():
            _, is_template, path = name.partition("/templates/")
            if is_template and path.endswith((".sql", ".macro", ".macros")):
                target = kept / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(name))


if not (kept / "version").is_file() or (kept / "version").read_text() != VERSION:
    shutil.rmtree(kept, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=home) as folder:
        download = [home / "bin/pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--dest", folder, f"pgadmin4=={VERSION}"]
        subprocess.run(download, check=True)
        take_out(next(pathlib.Path(folder).iterdir()))
    (kept / "version").write_text(VERSION)
