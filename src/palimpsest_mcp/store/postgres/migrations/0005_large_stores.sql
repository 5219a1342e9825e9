-- Version 5: lists and searches that stay as quick when there are millions of rows. What is asked about is counted and found
-- by functions that keep their plans (one of all partitions takes longer to make than to run), and pages are cut here.

create index on name (tenant, owner, substring(name for 100));
create index on session (tenant, owner, created nulls first);

-- Where the entries of some sessions are: in few of the months. Every index has every word, so each that is not asked saves
-- as many looks as a query has words.
create function months_of(sessions uuid[]) returns setof regclass language sql stable as $$
  select distinct one.place::regclass from unnest(sessions) as named (session_key)
    cross join lateral (select e.tableoid as place from entry e where e.session_key = named.session_key limit 1) one
$$;

-- How many entries each query finds, at most `most` of each. The queries name up to some forty sessions themselves.
--   few: those, or null for all.   keys: more sessions than a query names, or null.
create function count_words(whose text, own text, queries text[], few uuid[], keys uuid[], most int)
returns bigint[] language plpgsql security definer as $$
declare mine bytea := decode(own, 'hex'); counts bigint[] := '{}'; asked text; many bigint; more bigint; place regclass;
begin
  foreach asked in array queries loop
    many := 0;
    if few is null then
      select count(*) into many from (select from entry e
        where e.tenant = whose and e.owner = mine and e.words @@ asked::tsquery and (keys is null or e.session_key = any (keys))
        limit most) hits;
    else
      for place in select * from months_of(few) loop
        execute format('select count(*) from (select from %s e where e.tenant = $1 and e.owner = $2 and e.words @@ $3::tsquery'
          ' limit $4) hits', place) into more using whose, mine, asked, most;
        many := least(many + more, most);
      end loop;
    end if;
    counts := counts || many;
  end loop;
  return counts;
end $$;

-- The likeliest entries of each query, out of `most` that it finds, with the number of the query.
create function find_words(whose text, own text, queries text[], rankings text[], few uuid[], keys uuid[], most int, likely int)
returns table (number int, session_key uuid, name bytea, stands smallint, enc smallint, body bytea, entry_hash bytea)
language plpgsql security definer as $$
declare mine bytea := decode(own, 'hex'); at int; places text;
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  if few is not null then
    select string_agg(format('select * from %s', place), ' union all ') into places from months_of(few) place;
    if places is null then return; end if;
  end if;
  for at in 1 .. coalesce(cardinality(queries), 0) loop
    if few is null then
      return query select at, likeliest.session_key, s.name, likeliest.stands, likeliest.enc, likeliest.body, likeliest.entry_hash
        from (select hits.* from (
            select e.session_key, e.stands, e.enc, e.body, e.entry_hash, e.words from entry e
            where e.tenant = whose and e.owner = mine and e.words @@ queries[at]::tsquery
              and (keys is null or e.session_key = any (keys)) limit most) hits
          order by ts_rank(hits.words, rankings[at]::tsquery, 1) desc, hits.session_key, hits.entry_hash limit likely) likeliest
        join session s on s.session_key = likeliest.session_key and s.tenant = whose;
    else
      return query execute format('select $1, likeliest.session_key, s.name, likeliest.stands, likeliest.enc, likeliest.body,'
        ' likeliest.entry_hash from (select hits.* from ('
        ' select e.session_key, e.stands, e.enc, e.body, e.entry_hash, e.words from (%s) e'
        ' where e.tenant = $2 and e.owner = $3 and e.words @@ $4::tsquery limit $5) hits'
        ' order by ts_rank(hits.words, $6::tsquery, 1) desc, hits.session_key, hits.entry_hash limit $7) likeliest'
        ' join session s on s.session_key = likeliest.session_key and s.tenant = $2', places)
        using at, whose, mine, queries[at], most, rankings[at], likely;
    end if;
  end loop;
end $$;

-- Sessions of which the archive has what search has not.
create function unsearched_sessions(whose text, own text) returns table (name bytea) language plpgsql as $$
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  return query select distinct s.name from unsearched u join session s on s.session_key = u.session_key
    where u.tenant = whose and u.owner = decode(own, 'hex');
end $$;

-- Whether search has anything of a session, in the first row alone, and then the batches that it has not.
create function unsearched_batches(whose text, own text, hashed bytea) returns table (has_any boolean, batch_id bytea)
language plpgsql as $$
declare asked uuid;
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  select n.session_key into asked from name n where n.tenant = whose and n.name_hash = hashed;
  return query select exists (select from entry e where e.tenant = whose and e.session_key = asked), null::bytea;
  return query select null::boolean, u.batch_id from unsearched u where u.tenant = whose and u.session_key = asked;
end $$;

-- Batches of a session that the archive has.
create function archived_batches(whose text, own text, hashed bytea) returns table (batch_id bytea) language plpgsql as $$
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  return query select distinct r.batch_id from name n join record r on r.session_key = n.session_key and r.tenant = whose
    where n.tenant = whose and n.name_hash = hashed and r.enc <> -1;
end $$;

-- The newest record of each of these batches.
create function newest_records(whose text, own text, hashed bytea, batches bytea[])
returns table (seq bigint, batch_id bytea, enc smallint, body bytea, sha256 bytea) language plpgsql as $$
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  return query select newest.* from name n cross join unnest(batches) asked cross join lateral (
      select r.seq, r.batch_id, r.enc, r.body, r.sha256 from record r
      where r.tenant = whose and r.session_key = n.session_key and r.batch_id = asked and r.enc <> -1
      order by r.seq desc limit 1) newest
    where n.tenant = whose and n.name_hash = hashed;
end $$;

-- What several sessions are.
create function sessions_named(whose text, own text, hashes bytea[]) returns table (info bytea, name bytea) language plpgsql as $$
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  return query select s.info, case when s.info is null then s.name end from name n join session s on s.session_key = n.session_key
    where n.tenant = whose and n.name_hash = any (hashes) and s.steps + s.records > 0;
end $$;

-- Sessions whose name begins so. Names may be longer than an index takes: it has how they begin.
create function sessions_beginning(whose text, own text, beginning bytea) returns table (info bytea, name bytea) language plpgsql as $$
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  return query select s.info, case when s.info is null then s.name end from name n join session s on s.session_key = n.session_key
    where n.tenant = whose and n.owner = decode(own, 'hex')
      and substring(n.name for 100) >= substring(beginning for 100) and substring(n.name for 100) <= substring(beginning for 100) || '\xff'
      and substring(n.name for length(beginning)) = beginning and s.steps + s.records > 0;
end $$;

-- Some sessions, by birth: how many there are, in the first row alone, and then what they are.
create function sessions_by_birth(whose text, own text, skip int, many int, newest boolean)
returns table (total bigint, info bytea, name bytea) language plpgsql as $$
declare mine bytea := decode(own, 'hex');
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  return query select count(*), null::bytea, null::bytea from session s
    where s.tenant = whose and s.owner = mine and s.steps + s.records > 0;
  if newest then
    return query select null::bigint, s.info, s.name from session s
      where s.tenant = whose and s.owner = mine and s.steps + s.records > 0
      order by s.created desc nulls last, s.name desc offset skip limit many;
  else
    return query select null::bigint, s.info, s.name from session s
      where s.tenant = whose and s.owner = mine and s.steps + s.records > 0
      order by s.created nulls first, s.name offset skip limit many;
  end if;
end $$;

do $$ declare f text; begin
  foreach f in array array['months_of(uuid[])', 'count_words(text, text, text[], uuid[], uuid[], int)', 'find_words(text, text, text[], text[], uuid[], uuid[], int, int)', 'unsearched_sessions(text, text)', 'unsearched_batches(text, text, bytea)', 'archived_batches(text, text, bytea)', 'newest_records(text, text, bytea, bytea[])', 'sessions_named(text, text, bytea[])', 'sessions_beginning(text, text, bytea)', 'sessions_by_birth(text, text, int, int, boolean)'] loop
    execute format('alter function %s set search_path = %I, pg_temp', f, current_schema());
    execute format('alter function %s set plan_cache_mode = force_generic_plan', f);
    execute format('revoke all on function %s from public', f);
  end loop;
end $$;
