-- Version 7: a search looks through all months in one statement that keeps its plan, and where that finds much, month by month in
-- another; the batches of a long session come in one row. Servers of version 6 go on with the functions they know.

-- How many entries have what a scope and a query say, at most so many: each is an index condition of its own, since that takes a
-- fraction of the time of one that says both.
create function count_having(whose text, own text, scope text, query text, keys uuid[], most int) returns bigint
language plpgsql security definer as $$
declare mine bytea := decode(own, 'hex'); within tsquery := scope::tsquery; asked tsquery := query::tsquery;
begin
  return (select count(*) from (select from entry e where e.tenant = whose and e.owner = mine and e.words @@ within
    and e.words @@ asked and (keys is null or e.session_key = any (keys)) limit most) hits);
end $$;

-- The likeliest entries that have all of a scope and what is asked, out of `most` that it finds, and how many it found. Where
-- there are more than that, they are of the newest months.
--   few: sessions that the scope names, or null for all.   is_small: they have so little that it is read, and not looked for.
--   keys: more sessions than a scope names, or null.
create function likeliest(whose text, own text, scope text, query text, ranking text, few uuid[], keys uuid[], is_small boolean,
  most int, likely int)
returns table (hits bigint, session_key uuid, name bytea, stands smallint, enc smallint, body bytea, entry_hash bytea)
language plpgsql security definer as $$
declare
  mine bytea := decode(own, 'hex'); asked tsquery := query::tsquery; within tsquery := scope::tsquery; ranked tsquery := ranking::tsquery;
  many bigint; more bigint; k uuid[]; h bytea[]; r real[]; k2 uuid[]; h2 bytea[]; r2 real[];
  month date := date_trunc('month', now()); low uuid; high uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
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
  else
    -- Where there are more, only that is of interest: nothing is ranked, unless sessions were named.
    select max(l.hits), array_agg(l.session_key), array_agg(l.entry_hash), array_agg(l.rank) into many, k, h, r
      from (select f.*, case when few is not null or keys is not null or f.hits < most then ts_rank(f.words, ranked, 1) end as rank from (
          select g.*, count(*) over () as hits from (
            select e.session_key, e.entry_hash, e.words from entry e
            where e.tenant = whose and e.owner = mine and e.words @@ within and e.words @@ asked
              and (keys is null or e.session_key = any (keys)) limit most) g) f
        order by rank desc, f.session_key, f.entry_hash limit likely) l;
  end if;
  if many is null then return; end if;
  if few is null and keys is null and many >= most then
    many := 0; k := null; h := null; r := null;
    for back in 0 .. 48 loop
      low := case when back < 48 then key_at((month - make_interval(months => back))::date)
        else '00000000-0000-0000-0000-000000000000' end;
      -- Both queries for themselves: a planner that does not know them takes them for rare, and asks no other index for the month.
      select max(l.hits), array_agg(l.session_key), array_agg(l.entry_hash), array_agg(l.rank) into more, k2, h2, r2
        from (select f.*, ts_rank(f.words, ranked, 1) as rank from (
            select g.*, count(*) over () as hits from (
              select e.session_key, e.entry_hash, e.words from entry e
              where e.tenant = whose and e.owner = mine and e.words @@ within and e.words @@ asked
                and e.session_key >= low and e.session_key < high limit most - many) g) f
          order by rank desc, f.session_key, f.entry_hash limit likely) l;
      high := low;
      continue when more is null;
      many := many + more; k := k || k2; h := h || h2; r := r || r2;
      exit when many >= most;
    end loop;
  end if;
  return query select many, l.session_key, n.name, e.stands, e.enc, e.body, l.entry_hash
    from (select * from unnest(k, h, r) as u (session_key, entry_hash, rank)
      order by u.rank desc, u.session_key, u.entry_hash limit likely) l
    join entry e on e.session_key = l.session_key and e.entry_hash = l.entry_hash and e.tenant = whose
    join session n on n.session_key = l.session_key and n.tenant = whose
    order by l.rank desc, l.session_key, l.entry_hash;
end $$;

-- How many entries have what a query needs, and the likeliest of them.
--   queries: what all entries have that may be found, and each need within it.   known: counts by the same numbers, or null.
--   needs, begins: of each need what says how likely an entry is, and the same as a beginning; empty where that is out of
--     question.   nears: what finds entries that may have what resembles the need of this number in `near_of`, one way each, and
--     `resembling`, how much they do. Those `inside` cost most, and are asked where the others find nothing.
--   terms: of so many needs an entry has to have every one, while any has; 0 for none of them.
--   few, keys: as in `likeliest`.   all_counted, counted, most, likely, alike, telling, small: limits. Only so many are counted
--     of a need in all sessions, where these have `all_counted`.
-- One row has the counts, and which of them are of beginnings. Rows with a number are what resembles that need, and then there
-- are no others: who asked has to say which words stand for it; `begun` says whether they were found inside. Of a single need the count is of what was found.
create or replace function search_words(whose text, own text, queries text[], known bigint[], needs text[], begins text[], nears text[],
  near_of int[], resembling text[], inside boolean[], terms int, few uuid[], keys uuid[], all_counted int, counted int, most int, likely int, alike int, telling int, small int)
returns table (number int, counts bigint[], begun boolean[], session_key uuid, name bytea, stands smallint, enc smallint, body bytea,
  entry_hash bytea)
language plpgsql security definer as $$
declare
  scope text := queries[1]; many bigint[] := known; beginning boolean[] := array_fill(false, array[cardinality(needs)]);
  n int; ranking text; query text; hits bigint := 0; one record; counted_here bigint[]; is_small boolean := false; mine bytea := decode(own, 'hex'); is_near boolean := false; is_misspelt boolean := false;
  is_single boolean := terms = 1 and cardinality(needs) = 1;
begin
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
      for one in select * from likeliest(whose, own, scope, needs[1], needs[1], few, keys, false, most, likely) loop
        hits := one.hits;
        number := 0; session_key := one.session_key; name := one.name; stands := one.stands; enc := one.enc; body := one.body;
        entry_hash := one.entry_hash;
        return next;
      end loop;
      many[2] := hits;
      exit when hits > 0 or beginning[1] or begins[1] = '';
      beginning[1] := true; needs[1] := begins[1];
    end loop;
  end if;
  return query select 0, many, beginning, null::uuid, null::bytea, null::smallint, null::smallint, null::bytea, null::bytea;
  if many[1] = 0 or hits > 0 then return; end if;
  for n in 1 .. cardinality(nears) loop
    if many[near_of[n] + 1] = 0 and not (inside[n] and is_misspelt) then
      return query select near_of[n], null::bigint[], array[inside[n]], f.session_key, f.name, f.stands, f.enc, f.body, f.entry_hash
        from likeliest(whose, own, scope, substr(nears[n], length(scope) + 4), resembling[n], few, keys, is_small, most, alike) f;
      is_near := is_near or found; is_misspelt := is_misspelt or (found and not inside[n]);
    end if;
  end loop;
  if is_near or (is_single and not is_small) then return; end if;
  if terms > 0 then
    select string_agg('(' || needs[i] || ')', ' | ' order by i) into ranking from generate_subscripts(needs, 1) i;
    if not exists (select from generate_series(1, terms) i where many[i + 1] = 0) then
      select string_agg('(' || needs[i] || ')', ' & ' order by i) into query from generate_series(1, terms) i;
      return query select 0, null::bigint[], null::boolean[], f.session_key, f.name, f.stands, f.enc, f.body, f.entry_hash
        from likeliest(whose, own, scope, query, ranking, few, keys, is_small, most, likely) f;
      if found then return; end if;
    end if;
  else
    select string_agg('(' || needs[i] || ')', ' | ' order by i) into ranking from (
      select i from generate_subscripts(needs, 1) i where many[i + 1] > 0 order by many[i + 1], i limit telling) rarest;
  end if;
  if ranking is not null and exists (select from generate_subscripts(needs, 1) i where many[i + 1] > 0) then
    return query select 0, null::bigint[], null::boolean[], f.session_key, f.name, f.stands, f.enc, f.body, f.entry_hash
      from likeliest(whose, own, scope, ranking, ranking, few, keys, is_small, most, likely) f;
  end if;
end $$;

-- The batch of each of a session's records, in one row: of thousands each row of its own costs more than what is in it.
create function batches_archived(whose text, own text, hashed bytea) returns table (batch_ids bytea[]) language plpgsql as $$
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  return query select array(select r.batch_id from name n join record r on r.session_key = n.session_key and r.tenant = whose
    where n.tenant = whose and n.name_hash = hashed and r.enc <> -1);
end $$;

do $$ declare f text; begin
  foreach f in array array['count_having(text, text, text, text, uuid[], int)', 'batches_archived(text, text, bytea)', 'likeliest(text, text, text, text, text, uuid[], uuid[], boolean, int, int)', 'search_words(text, text, text[], bigint[], text[], text[], text[], int[], text[], boolean[], int, uuid[], uuid[], int, int, int, int, int, int, int)'] loop
    execute format('alter function %s set search_path = %I, pg_temp', f, current_schema());
    execute format('alter function %s set plan_cache_mode = force_generic_plan', f);
    execute format('revoke all on function %s from public', f);
  end loop;
end $$;
