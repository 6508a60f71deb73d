# SPDX-License-Identifier: GPL-2.0-or-later
# postgresql.sh start: PostgreSQL with pgbench's tables. postgresql.sh: pgbench's transactions (TPC-B) from two
# clients, over TCP on the loopback device.
programs=$(echo /usr/lib/postgresql/*/bin) data=/tmp/data
as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups env HOME=/tmp "$@"; }
if [ "$1" = start ]; then
    settings='-c autovacuum=off -c shared_buffers=16MB -c jit=off'
    mkdir -p "$data" /run/postgresql && chown postgres:postgres "$data" /run/postgresql && chmod 1777 /tmp &&
        as_postgres "$programs/initdb" --pgdata="$data" --auth=trust --no-sync --locale=C >/dev/null &&
        as_postgres "$programs/pg_ctl" start --wait --pgdata="$data" --log=/tmp/postgresql.log \
            --options="-c listen_addresses=127.0.0.1 $settings" >/dev/null ||
        { tail -n 3 /tmp/postgresql.log; exit 1; }
    exec setpriv --reuid=postgres --regid=postgres --clear-groups \
        "$programs/pgbench" --host=127.0.0.1 --initialize --scale=1 --quiet postgres
fi
as_postgres "$programs/pgbench" --host=127.0.0.1 --client=2 --transactions=25 --random-seed=1 --no-vacuum postgres |
    grep -E '^number of (transactions actually|failed transactions)'
