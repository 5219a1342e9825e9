-- Version 8: a search looks from the newest month on, and in no more of them than it must; it says itself whether something is not
-- to be found yet, and what the sessions' handles are. A page of sessions is opened in one statement, and whose rows a statement may
-- see is worked out once, not for each row. Servers of version 7 go on with the functions they know.

-- What `session_opened` says of each of these sessions that has no more than so many steps and bytes, with its number among them.
create function sessions_opened(whose text, own text, hashes bytea[], most int, most_bytes int)
returns table (number int, info bytea, is_written boolean, session_key uuid, buried int, purged bytea, epoch int, seq bigint, w text,
  n bigint, clock bigint, rev bigint, stamped boolean, enc smallint, body bytea, sha256 bytea)
language plpgsql as $$
declare one record;
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  for one in select h.at::int as at, h.hash from unnest(hashes) with ordinality as h (hash, at)
      join name e on e.tenant = whose and e.name_hash = h.hash join session s on s.session_key = e.session_key and s.steps <= most
      where (select coalesce(sum(octet_length(t.body)), 0) from step t where t.tenant = whose and t.session_key = s.session_key) <= most_bytes loop
    return query select one.at, o.* from session_opened(whose, own, one.hash) o;
  end loop;
end $$;

-- The likeliest entries that have all of a scope and what is asked, out of `most` that it finds, and how many it found. In all
-- sessions it looks from the newest month on, until there are as many: the index brings all of a month before the first of them
-- can be read. What two months have next to nothing of is looked for in the others at once.
--   few: sessions that the scope names, or null for all.   is_small: they have so little that it is read, and not looked for.
--   keys: more sessions than a scope names, or null.
create function likeliest_entries(whose text, own text, scope text, query text, ranking text, few uuid[], keys uuid[], is_small boolean,
  most int, likely int)
returns table (hits bigint, name bytea, handle bytea, stands smallint, enc smallint, body bytea)
language plpgsql security definer as $$
declare
  mine bytea := decode(own, 'hex'); asked tsquery := query::tsquery; within tsquery := scope::tsquery; ranked tsquery := ranking::tsquery;
  many bigint := 0; more bigint; k uuid[]; h bytea[]; r real[]; k2 uuid[]; h2 bytea[]; r2 real[];
  oldest constant uuid := '00000000-0000-0000-0000-000000000000'; low uuid; high uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  month timestamp := date_trunc('month', now()); back int := 0; looked int := 0; at_once boolean := false;
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  if is_small then
    select max(l.hits), array_agg(l.session_key), array_agg(l.entry_hash), array_agg(l.rank) into many, k, h, r
      from (select f.*, ts_rank(f.words, ranked, 1) as rank from (
          select g.*, count(*) over () as hits from (
            select e.session_key, e.entry_hash, e.words from unnest(few) as named (key) cross join lateral (
                select * from entry a where a.tenant = whose and a.owner = mine and a.session_key = named.key offset 0) e
            where e.words @@ within and e.words @@ asked limit most) g) f
        order by rank desc, f.session_key, f.entry_hash limit likely) l;
  elsif few is not null or keys is not null then
    select max(l.hits), array_agg(l.session_key), array_agg(l.entry_hash), array_agg(l.rank) into many, k, h, r
      from (select f.*, ts_rank(f.words, ranked, 1) as rank from (
          select g.*, count(*) over () as hits from (
            select e.session_key, e.entry_hash, e.words from entry e
            where e.tenant = whose and e.owner = mine and e.words @@ within and e.words @@ asked
              and (keys is null or e.session_key = any (keys)) limit most) g) f
        order by rank desc, f.session_key, f.entry_hash limit likely) l;
  else
    while back <= 48 and many < most loop
      at_once := looked = 2 and many * 20 < most;
      if back < 48 and not at_once then
        back := back + 1;
        low := key_at((month - make_interval(months => back - 1))::date);
        continue when to_regclass('entry_' || to_char(month - make_interval(months => back - 1), 'YYYYMM')) is null;
      else
        low := oldest;
      end if;
      looked := looked + 1;
      -- Both queries for themselves: a planner that does not know them takes them for rare, and asks no other index for the month.
      select max(l.hits), array_agg(l.session_key), array_agg(l.entry_hash), array_agg(l.rank) into more, k2, h2, r2
        from (select f.*, ts_rank(f.words, ranked, 1) as rank from (
            select g.*, count(*) over () as hits from (
              select e.session_key, e.entry_hash, e.words from entry e
              where e.tenant = whose and e.owner = mine and e.words @@ within and e.words @@ asked
                and e.session_key >= low and e.session_key < high limit most - many) g) f
          order by rank desc, f.session_key, f.entry_hash limit likely) l;
      continue when at_once and more >= most - many;  -- they are many after all: the newest of them
      high := low;
      if more is not null then
        many := many + more; k := k || k2; h := h || h2; r := r || r2;
      end if;
      exit when low = oldest;
    end loop;
  end if;
  if many is null or many = 0 then return; end if;
  return query select many, n.name, n.handle, e.stands, e.enc, e.body
    from (select * from unnest(k, h, r) as u (session_key, entry_hash, rank)
      order by u.rank desc, u.session_key, u.entry_hash limit likely) l
    join entry e on e.session_key = l.session_key and e.entry_hash = l.entry_hash and e.tenant = whose
    join session n on n.session_key = l.session_key and n.tenant = whose
    order by l.rank desc, l.session_key, l.entry_hash;
end $$;

-- As `search_words`, with the session's handle.
--   near_kinds: of each way to find what resembles a need: 0 is for less than `all_counted` entries, 1 for more, 2 where these
--     find nothing; of 1 there are three where of 0 there are two, so each gives less.   unless_behind: there is no row at all where the archive has something that search has not.
create function search_entries(whose text, own text, queries text[], known bigint[], needs text[], begins text[], nears text[],
  near_of int[], resembling text[], near_kinds int[], terms int, few uuid[], keys uuid[], all_counted int, counted int, most int, likely int, alike int, telling int, small int,
  unless_behind boolean)
returns table (number int, counts bigint[], begun boolean[], name bytea, handle bytea, stands smallint, enc smallint, body bytea)
language plpgsql security definer as $$
declare
  scope text := queries[1]; many bigint[] := known; beginning boolean[] := array_fill(false, array[cardinality(needs)]);
  n int; ranking text; query text; hits bigint := 0; one record; counted_here bigint[]; is_small boolean := false; mine bytea := decode(own, 'hex'); is_near boolean := false; is_misspelt boolean := false;
  is_single boolean := terms = 1 and cardinality(needs) = 1;
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  if unless_behind and exists (select from unsearched u where u.tenant = whose and u.owner = mine) then return; end if;
  if few is not null then
    is_small := small >= (select count(*) from (select from unnest(few) as named (key) cross join lateral (
        select from entry e where e.tenant = whose and e.owner = mine and e.session_key = named.key limit small + 1) e limit small + 1) few_entries);
  end if;
  if is_small then
    with few_words as materialized (select e.words from unnest(few) as named (key) cross join lateral (
          select * from entry a where a.tenant = whose and a.owner = mine and a.session_key = named.key offset 0) e
        where e.words @@ scope::tsquery)
      select (select count(*) from few_words),
        array_agg((select count(*) from few_words w where q.asked is not null and w.words @@ q.asked) order by q.at)
      into hits, counted_here
      from (select nullif(a.query, '')::tsquery as asked, a.at from unnest(needs || begins) with ordinality a (query, at)) q;
    many[1] := hits; hits := 0;
  elsif many[1] is null then
    many[1] := count_having(whose, own, scope, scope, keys, all_counted);
  end if;
  if few is null and many[1] < all_counted then counted := all_counted; end if;
  for n in 1 .. cardinality(needs) loop
    if many[1] = 0 then
      many[n + 1] := 0;
    elsif is_small then
      many[n + 1] := counted_here[n];
      if many[n + 1] = 0 and begins[n] <> '' then
        many[n + 1] := counted_here[cardinality(needs) + n];
        beginning[n] := true; needs[n] := begins[n];
      end if;
    elsif is_single then
      exit;
    elsif many[n + 1] is null then
      many[n + 1] := count_having(whose, own, scope, needs[n], keys, counted);
    end if;
    if many[n + 1] = 0 and many[1] > 0 and begins[n] <> '' and not beginning[n] then
      many[n + 1] := count_having(whose, own, scope, begins[n], keys, counted);
      beginning[n] := true; needs[n] := begins[n];
    end if;
  end loop;
  if is_single and many[1] > 0 and not is_small then
    loop
      for one in select * from likeliest_entries(whose, own, scope, needs[1], needs[1], few, keys, false, most, likely) loop
        hits := one.hits;
        number := 0; name := one.name; handle := one.handle; stands := one.stands; enc := one.enc; body := one.body;
        return next;
      end loop;
      many[2] := hits;
      exit when hits > 0 or beginning[1] or begins[1] = '';
      beginning[1] := true; needs[1] := begins[1];
    end loop;
  end if;
  return query select 0, many, beginning, null::bytea, null::bytea, null::smallint, null::smallint, null::bytea;
  if many[1] = 0 or hits > 0 then return; end if;
  for n in 1 .. cardinality(nears) loop
    if many[near_of[n] + 1] = 0 and not (near_kinds[n] = 2 and is_misspelt) and near_kinds[n] <> (many[1] < all_counted)::int then
      return query select near_of[n], null::bigint[], array[near_kinds[n] = 2], f.name, f.handle, f.stands, f.enc, f.body
        from likeliest_entries(whose, own, scope, substr(nears[n], length(scope) + 4), resembling[n], few, keys, is_small, most,
          case near_kinds[n] when 1 then alike * 2 / 3 else alike end) f;
      is_near := is_near or found; is_misspelt := is_misspelt or (found and near_kinds[n] < 2);
    end if;
  end loop;
  if is_near or (is_single and not is_small) then return; end if;
  if terms > 0 then
    select string_agg('(' || needs[i] || ')', ' | ' order by i) into ranking from generate_subscripts(needs, 1) i;
    if not exists (select from generate_series(1, terms) i where many[i + 1] = 0) then
      select string_agg('(' || needs[i] || ')', ' & ' order by i) into query from generate_series(1, terms) i;
      return query select 0, null::bigint[], null::boolean[], f.name, f.handle, f.stands, f.enc, f.body
        from likeliest_entries(whose, own, scope, query, ranking, few, keys, is_small, most, likely) f;
      if found then return; end if;
    end if;
  else
    select string_agg('(' || needs[i] || ')', ' | ' order by i) into ranking from (
      select i from generate_subscripts(needs, 1) i where many[i + 1] > 0 order by many[i + 1], i limit telling) rarest;
  end if;
  if ranking is not null and exists (select from generate_subscripts(needs, 1) i where many[i + 1] > 0) then
    return query select 0, null::bigint[], null::boolean[], f.name, f.handle, f.stands, f.enc, f.body
      from likeliest_entries(whose, own, scope, ranking, ranking, few, keys, is_small, most, likely) f;
  end if;
end $$;

do $$ declare t text; f text; begin
  foreach f in array array['sessions_opened(text, text, bytea[], int, int)', 'likeliest_entries(text, text, text, text, text, uuid[], uuid[], boolean, int, int)', 'search_entries(text, text, text[], bigint[], text[], text[], text[], int[], text[], int[], int, uuid[], uuid[], int, int, int, int, int, int, int, boolean)'] loop
    execute format('alter function %s set search_path = %I, pg_temp', f, current_schema());
    execute format('alter function %s set plan_cache_mode = force_generic_plan', f);
    execute format('revoke all on function %s from public', f);
  end loop;
  -- All of them take milliseconds, whatever a planner makes of so many partitions: to compile one takes hundreds.
  for f in select p.oid::regprocedure from pg_proc p where p.pronamespace = current_schema()::regnamespace and p.proconfig is not null loop
    execute format('alter function %s set jit = off', f);
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
