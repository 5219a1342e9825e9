-- Version 9: of a single need that nothing has, who asks may say so in `known`, and then it is not looked for again. Servers of version
-- 8 go on as before.
create or replace function search_entries(whose text, own text, queries text[], known bigint[], needs text[], begins text[], nears text[],
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
  if is_single and many[1] > 0 and not is_small and many[2] is distinct from 0 then
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

do $$ declare f text := 'search_entries(text, text, text[], bigint[], text[], text[], text[], int[], text[], int[], int, uuid[], uuid[], int, int, int, int, int, int, int, boolean)'; begin
  execute format('alter function %s set search_path = %I, pg_temp', f, current_schema());
  execute format('alter function %s set plan_cache_mode = force_generic_plan', f);
  execute format('alter function %s set jit = off', f);
end $$;
