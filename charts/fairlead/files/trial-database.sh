# Start the trial database: create the cluster once, set the logins' passwords, serve.
# Reads PGDATA and the folder PASSWORDS, one file for each login. FOR TRIALS ONLY.
set -eu

# Created under another name and then renamed, so that an interrupted start leaves no half cluster.
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  rm -rf "$PGDATA.new"
  initdb --pgdata="$PGDATA.new" --username=postgres --encoding=UTF8 --locale=C \
    --auth-local=trust --auth-host=scram-sha-256 >/dev/null
  echo "host all all all scram-sha-256" >>"$PGDATA.new/pg_hba.conf"
  {
    for role in enqueue reader viewer worker operator scheduler autoscaler admin; do
      printf 'create role fairlead_%s nologin;\n\n' "$role"
    done
    # Logins get their passwords below, at every start.
    for role in scheduler worker autoscaler enqueue admin; do
      printf 'create role trial_%s login in role fairlead_%s;\n\n' "$role" "$role"
    done
    printf 'create role trial_owner login;\n\n'
    printf 'create database fairlead owner trial_owner;\n\n'
  } | postgres --single -j -D "$PGDATA.new" postgres >/dev/null
  mv "$PGDATA.new" "$PGDATA"
fi

# A cluster that an earlier release made has no logins of the console.
postgres --single -j -D "$PGDATA" postgres >/dev/null <<'END'
do $$ begin create role trial_console login in role fairlead_viewer; exception when duplicate_object then null; end $$;

do $$ begin create role trial_operator login in role fairlead_operator; exception when duplicate_object then null; end $$;

END

for file in "$PASSWORDS"/*; do
  printf "alter role trial_%s password '%s';\n\n" "$(basename "$file")" "$(cat "$file")"
done | postgres --single -j -D "$PGDATA" postgres >/dev/null

exec postgres -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/tmp
