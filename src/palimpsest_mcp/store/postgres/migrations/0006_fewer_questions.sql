-- Version 6: a search is one statement, or two where a word has to be put in the place of another; and a long session is
-- opened without adding up all of its events.

-- How a session's steps add up to some number. It may be deleted at any time: what it is made of is in the steps.
create table checkpoint (
  tenant text not null, owner bytea not null, session_key uuid primary key,
  seq bigint not null,                          -- of the last step that it is made of
  epoch int not null, buried int not null,      -- the session's, when it was made
  enc smallint not null, body bytea not null, sha256 bytea not null
) partition by range (session_key);
alter table checkpoint alter column body set storage external;
create table checkpoint_other partition of checkpoint default;
do $$ declare month text; first date; begin
  for month in select right(inhrelid::regclass::text, 6) from pg_inherits
    where inhparent = 'session'::regclass and inhrelid::regclass::text ~ '_[0-9]{6}$' loop
    first := to_date(month, 'YYYYMM');
    execute format('create table %I partition of checkpoint for values from (%L) to (%L)', 'checkpoint_' || month,
      key_at(first), key_at((first + interval '1 month')::date));
  end loop;
end $$;
alter table checkpoint enable row level security;
alter table checkpoint force row level security;
create policy own on checkpoint using (
  tenant = current_setting('palimpsest.tenant', true)
  and (encode(owner, 'hex') = current_setting('palimpsest.owner', true) or current_setting('palimpsest.owner', true) = '*'));

create or replace function make_month(first date) returns boolean language plpgsql as $$
declare t text; name text; low uuid; high uuid; elsewhere boolean;
begin
  low := key_at(first); high := key_at((first + interval '1 month')::date);
  foreach t in array array['session', 'step', 'record', 'summary', 'aside', 'entry', 'checkpoint'] loop
    execute format('select exists (select from %I where session_key >= %L and session_key < %L)', t || '_other', low, high)
      into elsewhere;
    if elsewhere or to_regclass(format('%I', t || '_' || to_char(first, 'YYYYMM'))) is not null then
      return false;
    end if;
  end loop;
  foreach t in array array['session', 'step', 'record', 'summary', 'aside', 'entry', 'checkpoint'] loop
    name := t || '_' || to_char(first, 'YYYYMM');
    execute format('create table %I partition of %I for values from (%L) to (%L)%s', name, t, low, high,
      case t when 'session' then ' with (fillfactor = 50)' else '' end);
  end loop;
  return true;
end $$;

-- What a session is, in the first row; then its checkpoint, where one may fit, without a writer; then every step.
create function session_opened(whose text, own text, hashed bytea)
returns table (info bytea, is_written boolean, session_key uuid, buried int, purged bytea, epoch int, seq bigint, w text, n bigint,
  clock bigint, rev bigint, stamped boolean, enc smallint, body bytea, sha256 bytea)
language plpgsql as $$
declare last bigint;
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  select s.info, s.steps + s.records > 0, s.session_key, s.buried, s.purged, s.epoch, s.steps
    into info, is_written, session_key, buried, purged, epoch, last
    from name e join session s on s.session_key = e.session_key where e.tenant = whose and e.name_hash = hashed;
  if session_key is null then return; end if;
  return next;
  return query select null::bytea, null::boolean, null::uuid, null::int, null::bytea, null::int, c.seq, null::text, null::bigint,
    null::bigint, null::bigint, null::boolean, c.enc, c.body, c.sha256
    from checkpoint c where c.tenant = whose and c.session_key = session_opened.session_key
      and c.epoch = session_opened.epoch and c.buried = session_opened.buried and c.seq <= last;
  return query select null::bytea, null::boolean, null::uuid, null::int, null::bytea, null::int, t.seq, t.w, t.n, t.clock, t.rev,
    t.stamped, t.enc, t.body, t.sha256
    from step t where t.tenant = whose and t.session_key = session_opened.session_key order by t.seq;
end $$;

-- Where the entries of some sessions are, as a query. With what they all have it reads just these: the index is not asked for
-- words among them, since what begins so, of a whole month, is more than what a small session has.
create function entries_of(few uuid[], scope text) returns text language sql stable as $$
  select string_agg(case when scope is null then format('select * from %s', place)
    else format('select * from (select * from %s a where a.words @@ %L::tsquery offset 0) b', place, scope) end, ' union all ')
  from months_of(few) place
$$;

-- The likeliest entries of a query out of `most` that it finds, and how many it found. Where there are more than that, they are
-- of the newest months.
--   few, keys: as in `count_words`.   small: what all entries of a few sessions have, where they are not many.
--   is_much: there may well be more.
create function find_newest(whose text, own text, query text, ranking text, few uuid[], keys uuid[], small text, is_much boolean,
  most int, likely int)
returns table (hits bigint, session_key uuid, name bytea, stands smallint, enc smallint, body bytea, entry_hash bytea)
language plpgsql security definer as $$
declare
  mine bytea := decode(own, 'hex'); asked tsquery := query::tsquery; ranked tsquery := ranking::tsquery; places text; place regclass;
  many bigint := 0; more bigint; k uuid[]; h bytea[]; s smallint[]; c smallint[]; b bytea[]; r real[];
  k2 uuid[]; h2 bytea[]; s2 smallint[]; c2 smallint[]; b2 bytea[]; r2 real[];
  best text := 'select max(l.hits), array_agg(l.session_key), array_agg(l.entry_hash), array_agg(l.stands), array_agg(l.enc),'
    ' array_agg(l.body), array_agg(l.rank) from (select f.*, count(*) over () as hits, ts_rank(f.words, $4, 1) as rank from ('
    ' select e.session_key, e.entry_hash, e.stands, e.enc, e.body, e.words from (%s) e'
    ' where e.tenant = $1 and e.owner = $2 and e.words @@ $3 limit $5) f order by rank desc, f.session_key, f.entry_hash limit $6) l';
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  if few is not null then
    places := entries_of(few, small);
    if places is null then return; end if;
    execute format(best, places) into many, k, h, s, c, b, r using whose, mine, asked, ranked, most, likely;
  else
    if not is_much or keys is not null then
      select max(l.hits), array_agg(l.session_key), array_agg(l.entry_hash), array_agg(l.stands), array_agg(l.enc), array_agg(l.body),
        array_agg(l.rank) into many, k, h, s, c, b, r
        from (select f.*, count(*) over () as hits, ts_rank(f.words, ranked, 1) as rank from (
            select e.session_key, e.entry_hash, e.stands, e.enc, e.body, e.words from entry e
            where e.tenant = whose and e.owner = mine and e.words @@ asked
              and (keys is null or e.session_key = any (keys)) limit most) f
          order by rank desc, f.session_key, f.entry_hash limit likely) l;
    end if;
    if keys is null and (is_much or many >= most) then
      many := 0; k := null; h := null; s := null; c := null; b := null; r := null;
      for place in select m.oid::regclass from pg_inherits i join pg_class m on m.oid = i.inhrelid
        where i.inhparent = 'entry'::regclass
          and (m.relname !~ '_[0-9]{6}$' or right(m.relname, 6) <= to_char(now() + interval '1 month', 'YYYYMM'))
        order by m.relname desc loop
        execute format(best, 'select * from ' || place) into more, k2, h2, s2, c2, b2, r2
          using whose, mine, asked, ranked, most - many, likely;
        continue when more is null;
        many := many + more;
        k := k || k2; h := h || h2; s := s || s2; c := c || c2; b := b || b2; r := r || r2;
        exit when many >= most;
      end loop;
    end if;
  end if;
  return query select many, l.session_key, n.name, l.stands, l.enc, l.body, l.entry_hash
    from (select * from unnest(k, h, s, c, b, r) as u (session_key, entry_hash, stands, enc, body, rank)
      order by u.rank desc, u.session_key, u.entry_hash limit likely) l
    join session n on n.session_key = l.session_key and n.tenant = whose;
end $$;

-- How many entries have what a query needs, and the likeliest of them.
--   queries: what all entries have that may be found, and each need within it.   known: counts by the same numbers, or null.
--   needs, begins: of each need what says how likely an entry is, and the same as a beginning; empty where that is out of
--     question.   nears: what finds entries that may have what resembles the need of this number in `near_of`, one way each, and
--     `resembling`, how much they do. Those `inside` cost most, and are asked where the others find nothing.
--   terms: of so many needs an entry has to have every one, while any has; 0 for none of them.
--   few, keys: as in `count_words`.   all_counted, counted, most, likely, alike, telling, small: limits. Only so many are counted
--     of a need in all sessions, where these have `all_counted`.
-- One row has the counts, and which of them are of beginnings. Rows with a number are what resembles that need, and then there
-- are no others: who asked has to say which words stand for it; `begun` says whether they were found inside. Of a single need the count is of what was found.
create function search_words(whose text, own text, queries text[], known bigint[], needs text[], begins text[], nears text[],
  near_of int[], resembling text[], inside boolean[], terms int, few uuid[], keys uuid[], all_counted int, counted int, most int, likely int, alike int, telling int, small int)
returns table (number int, counts bigint[], begun boolean[], session_key uuid, name bytea, stands smallint, enc smallint, body bytea,
  entry_hash bytea)
language plpgsql security definer as $$
declare
  scope text := queries[1]; many bigint[] := known; beginning boolean[] := array_fill(false, array[cardinality(needs)]);
  n int; ranking text; query text; hits bigint := 0; one record; counted_here bigint[]; few_of text; is_near boolean := false; is_misspelt boolean := false;
  is_single boolean := terms = 1 and cardinality(needs) = 1;
begin
  if many[1] is null then
    many[1] := (count_words(whose, own, queries[1:1], few, keys, all_counted))[1];
  end if;
  if few is null and many[1] < all_counted then counted := all_counted; end if;
  if few is not null and many[1] <= small then
    few_of := scope;
    execute 'with mine as materialized (select e.words from (' || coalesce(entries_of(few, scope), 'select * from entry where false') || ') e'
      ' where e.tenant = $1 and e.owner = $2)'
      ' select array_agg((select count(*) from mine m where length(q.query) > 0 and m.words @@ q.query::tsquery) order by q.at)'
      ' from unnest($3) with ordinality q (query, at)' into counted_here using whose, decode(own, 'hex'), needs || begins;
  end if;
  for n in 1 .. cardinality(needs) loop
    if many[1] = 0 then
      many[n + 1] := 0;
    elsif few_of is not null then
      many[n + 1] := counted_here[n];
      if many[n + 1] = 0 and begins[n] <> '' then
        many[n + 1] := counted_here[cardinality(needs) + n];
        beginning[n] := true; needs[n] := begins[n];
      end if;
    elsif is_single then
      exit;
    elsif many[n + 1] is null then
      many[n + 1] := (count_words(whose, own, queries[n + 1 : n + 1], few, keys, counted))[1];
    end if;
    if many[n + 1] = 0 and many[1] > 0 and begins[n] <> '' and not beginning[n] then
      many[n + 1] := (count_words(whose, own, array[scope || ' & (' || begins[n] || ')'], few, keys, counted))[1];
      beginning[n] := true; needs[n] := begins[n];
    end if;
  end loop;
  if is_single and many[1] > 0 and few_of is null then
    loop
      for one in select * from find_newest(whose, own, scope || ' & (' || needs[1] || ')', needs[1], few, keys, null, false, most, likely) loop
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
        from find_newest(whose, own, nears[n], resembling[n], few, keys, few_of, not inside[n], most, alike) f;
      is_near := is_near or found; is_misspelt := is_misspelt or (found and not inside[n]);
    end if;
  end loop;
  if is_near or (is_single and few_of is null) then return; end if;
  if terms > 0 then
    select string_agg('(' || needs[i] || ')', ' | ' order by i) into ranking from generate_subscripts(needs, 1) i;
    if not exists (select from generate_series(1, terms) i where many[i + 1] = 0) then
      select scope || ' & ' || string_agg('(' || needs[i] || ')', ' & ' order by i) into query from generate_series(1, terms) i;
      return query select 0, null::bigint[], null::boolean[], f.session_key, f.name, f.stands, f.enc, f.body, f.entry_hash
        from find_newest(whose, own, query, ranking, few, keys, few_of,
          not exists (select from generate_series(1, terms) i where many[i + 1] < counted), most, likely) f;
      if found then return; end if;
    end if;
  else
    select string_agg('(' || needs[i] || ')', ' | ' order by i) into ranking from (
      select i from generate_subscripts(needs, 1) i where many[i + 1] > 0 order by many[i + 1], i limit telling) rarest;
  end if;
  if ranking is not null and exists (select from generate_subscripts(needs, 1) i where many[i + 1] > 0) then
    return query select 0, null::bigint[], null::boolean[], f.session_key, f.name, f.stands, f.enc, f.body, f.entry_hash
      from find_newest(whose, own, scope || ' & (' || ranking || ')', ranking, few, keys, few_of,
        exists (select from generate_subscripts(needs, 1) i where many[i + 1] >= counted), most, likely) f;
  end if;
end $$;

-- What these sessions are, and which of them have what search has not, or nothing there at all.
create function sessions_searched(whose text, own text, hashes bytea[])
returns table (name_hash bytea, name bytea, session_key uuid, buried int, purged bytea, is_behind boolean) language plpgsql as $$
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  return query select n.name_hash, s.name, s.session_key, s.buried, s.purged, s.records > 0
      and (exists (select from unsearched u where u.tenant = whose and u.session_key = n.session_key)
        or not exists (select from entry e where e.tenant = whose and e.session_key = n.session_key))
    from name n join session s on s.session_key = n.session_key where n.tenant = whose and n.name_hash = any (hashes);
end $$;

-- Of each of these sessions what is another one after every step, purge and repair.
create function session_marks(whose text, own text, hashes bytea[]) returns table (name bytea, mark text) language plpgsql as $$
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  return query select s.name, concat_ws('.', s.session_key, s.steps, s.epoch, s.buried)
    from name n join session s on s.session_key = n.session_key where n.tenant = whose and n.name_hash = any (hashes);
end $$;

do $$ declare f text; begin
  foreach f in array array['session_opened(text, text, bytea)', 'session_marks(text, text, bytea[])', 'entries_of(uuid[], text)', 'find_newest(text, text, text, text, uuid[], uuid[], text, boolean, int, int)', 'search_words(text, text, text[], bigint[], text[], text[], text[], int[], text[], boolean[], int, uuid[], uuid[], int, int, int, int, int, int, int)', 'sessions_searched(text, text, bytea[])'] loop
    execute format('alter function %s set search_path = %I, pg_temp', f, current_schema());
    execute format('alter function %s set plan_cache_mode = force_generic_plan', f);
    execute format('revoke all on function %s from public', f);
  end loop;
end $$;
