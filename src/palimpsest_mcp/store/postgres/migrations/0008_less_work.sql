-- Version 8: a page of sessions is opened in one statement; whose rows a statement may see is worked out once, not for each row.
-- Servers of version 7 go on with the functions they know.

-- What `session_opened` says of each of these sessions that has no more than so many steps, with its number among them.
create function sessions_opened(whose text, own text, hashes bytea[], most int)
returns table (number int, info bytea, is_written boolean, session_key uuid, buried int, purged bytea, epoch int, seq bigint, w text,
  n bigint, clock bigint, rev bigint, stamped boolean, enc smallint, body bytea, sha256 bytea)
language plpgsql as $$
declare one record;
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  for one in select h.at::int as at, h.hash from unnest(hashes) with ordinality as h (hash, at)
      join name e on e.tenant = whose and e.name_hash = h.hash join session s on s.session_key = e.session_key and s.steps <= most loop
    return query select one.at, o.* from session_opened(whose, own, one.hash) o;
  end loop;
end $$;

do $$ declare t text; f text; begin
  foreach f in array array['sessions_opened(text, text, bytea[], int)'] loop
    execute format('alter function %s set search_path = %I, pg_temp', f, current_schema());
    execute format('alter function %s set plan_cache_mode = force_generic_plan', f);
    execute format('revoke all on function %s from public', f);
  end loop;
  -- What stands in a query of its own is asked once a statement. A role's owner is no hexadecimal number where it is everybody.
  foreach t in array array['name', 'session', 'step', 'record', 'summary', 'aside', 'entry', 'lease', 'handoff', 'handoff_removed', 'unsearched', 'checkpoint'] loop
    execute format($p$alter policy own on %I using (
      tenant = (select current_setting('palimpsest.tenant', true))
      and (owner = (select case when own ~ '^([0-9a-f]{2})*$' then decode(own, 'hex') end from current_setting('palimpsest.owner', true) own)
        or (select current_setting('palimpsest.owner', true)) = '*'))$p$, t);
  end loop;
  alter policy own on tenant using (tenant = (select current_setting('palimpsest.tenant', true)));
end $$;
