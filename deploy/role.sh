#!/bin/sh
# Runs once, in a new database: the role that servers sign in as. It owns nothing.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$SERVER_PASSWORD" -U "$POSTGRES_USER" "$POSTGRES_DB" <<'SQL'
create role palimpsest_server login password :'password';
SQL
