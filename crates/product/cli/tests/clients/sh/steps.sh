# Steps of a client, to be sourced: each prints `ok STEP` or `failed STEP: SQLSTATE MESSAGE`, and the next one runs either way.

# The distribution's wrappers leave some programs out.
PATH="$PATH:/usr/lib/postgresql/15/bin"

# step NAME FUNCTION
step() {
    if ("$2") >output 2>&1; then
        echo "ok $1"
    else
        code=$(sed -n 's/.*ERROR:  *\([0-9A-Z]\{5\}\): .*/\1/p' output | head -n 1)
        echo "failed $1: ${code:------} $(tr '\n' ' ' <output | cut -c 1-300)"
        cat output >&2
    fi
}

ask() {
    psql --no-psqlrc --quiet --no-align --tuples-only --set ON_ERROR_STOP=1 --set VERBOSITY=verbose "$@"
}

# has LINE: whether a line of the input is this one.
has() {
    tee all | grep -Fx -e "$1" || { cat all; exit 1; }
}
