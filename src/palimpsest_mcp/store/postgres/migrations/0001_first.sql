-- Version 1. Run in one transaction, with `search_path` naming the schema and nothing else.
-- What a session holds carries its tenant and its owner (a hash of the principal, empty for none), and row-level security
-- lets a statement see those of its transaction's own settings only: where none is set, nothing.
-- A session's key is a UUIDv7, so a range of keys is a range of birth dates: partitions are months, and dropping one is
-- how old sessions go. Bodies are bytea: jsonb orders, drops and rewrites, and is not exact.

create table migration (version int primary key, name text not null, sha256 text not null, at timestamptz not null default now());

create table tenant (tenant text primary key, secret bytea not null);

create table name (
  tenant text not null, owner bytea not null,
  name_hash bytea not null,             -- of principal and id: ids may be of any length
  session_key uuid not null, name bytea not null,
  primary key (tenant, name_hash)
);
create index on name (tenant, owner);
create index on name (session_key);

create table session (
  tenant text not null, owner bytea not null, session_key uuid not null, name bytea not null,
  info bytea,                           -- of the first `opened` event, as JSON
  created double precision,             -- seconds, for lists
  steps bigint not null default 0,      -- number of the last step of the ledger
  records bigint not null default 0,    -- number of the last record of the archive
  clock bigint not null default 0, rev bigint not null default 0,
  epoch int not null default 0,         -- grows when a repair writes steps anew
  buried int not null default 0, purged bytea,
  missed_steps bigint not null default 0, missed_records bigint not null default 0,
  primary key (session_key)
) partition by range (session_key);
create index on session (tenant, owner);

create table step (                     -- the events of one append to a ledger
  tenant text not null, owner bytea not null, session_key uuid not null, seq bigint not null,
  w text not null, n bigint not null,   -- who wrote it, and his first number in it: a repeated append is known by them
  events int not null, clock bigint not null, rev bigint not null, stamped boolean not null default false,
  enc smallint not null, body bytea not null, sha256 bytea not null,
  primary key (session_key, seq), unique (session_key, w, n)
) partition by range (session_key);

create table record (                   -- the archive
  tenant text not null, owner bytea not null, session_key uuid not null, seq bigint not null,
  batch_id bytea not null, w text not null, n bigint not null,
  enc smallint not null, body bytea, body_ref text, body_len int not null, sha256 bytea not null,
  primary key (session_key, seq), unique (session_key, w, n)
) partition by range (session_key);
create index on record (session_key, batch_id, seq);

create table summary (
  tenant text not null, owner bytea not null, session_key uuid primary key, version text not null, body bytea not null
) partition by range (session_key);

create table aside (                    -- what could not be read, kept as it was
  tenant text not null, owner bytea not null, session_key uuid not null, at timestamptz not null default now(),
  name text not null, body bytea not null
) partition by range (session_key);
create index on aside (session_key);

create table entry (                    -- what can be found; made anew from the archive when it is lost
  tenant text not null, owner bytea not null, session_key uuid not null, entry_hash bytea not null,
  batch_id bytea not null, stands smallint not null, enc smallint not null, body bytea not null, words tsvector not null,
  primary key (session_key, entry_hash)
) partition by range (session_key);
create index on entry using gin (words);

create table lease (
  tenant text not null, owner bytea not null, name_hash bytea not null,
  token bigint not null, holder text not null, until timestamptz not null,
  primary key (tenant, name_hash)
);

create table handoff (
  tenant text not null, owner bytea not null, place text not null, name text not null,
  body bytea not null, sha256 text not null, primary key (tenant, owner, place, name)
);
create table handoff_removed (
  tenant text not null, owner bytea not null, at timestamptz not null default clock_timestamp(), note bytea not null
);
create index on handoff_removed (tenant, owner, at);

-- The rest of a session's body: already compressed by whoever writes it.
do $$ declare t text; begin
  foreach t in array array['step', 'record', 'summary', 'aside', 'entry'] loop
    execute format('alter table %I alter column body set storage external', t);
  end loop;
  foreach t in array array['session', 'step', 'record', 'summary', 'aside', 'entry'] loop
    execute format('create table %I partition of %I default', t || '_other', t);
  end loop;
end $$;

-- A month's partitions, if they are not there; sessions of that month that are somewhere else already stay there.
create function make_month(first date) returns boolean language plpgsql as $$
declare t text; name text; low uuid; high uuid; elsewhere boolean;
begin
  low := key_at(first); high := key_at((first + interval '1 month')::date);
  foreach t in array array['session', 'step', 'record', 'summary', 'aside', 'entry'] loop
    execute format('select exists (select from %I where session_key >= %L and session_key < %L)', t || '_other', low, high)
      into elsewhere;
    if elsewhere or to_regclass(format('%I', t || '_' || to_char(first, 'YYYYMM'))) is not null then
      return false;
    end if;
  end loop;
  foreach t in array array['session', 'step', 'record', 'summary', 'aside', 'entry'] loop
    name := t || '_' || to_char(first, 'YYYYMM');
    execute format('create table %I partition of %I for values from (%L) to (%L)', name, t, low, high);
  end loop;
  return true;
end $$;

-- The lowest key of a session that was born on a day.
create function key_at(day date) returns uuid language sql stable as $$
  select (lpad(to_hex((extract(epoch from day::timestamp) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid
$$;

-- Nothing that was written changes, but where a purge or a repair says so in its own transaction.
create function refuse_change() returns trigger language plpgsql as $$
begin
  if current_setting('palimpsest.rewrite', true) is distinct from 'on' then
    raise exception 'ledger and archive are append-only' using errcode = 'insufficient_privilege';
  end if;
  return case tg_op when 'DELETE' then old else new end;
end $$;
create trigger append_only before update or delete on step for each row execute function refuse_change();
create trigger append_only before update or delete on record for each row execute function refuse_change();

do $$ declare t text; begin
  foreach t in array array['name', 'session', 'step', 'record', 'summary', 'aside', 'entry', 'lease', 'handoff', 'handoff_removed'] loop
    execute format('alter table %I enable row level security', t);
    -- The words of entries are looked for by `found`, which runs as the owner and says whose they are itself: no index
    -- of theirs may be asked before a policy, since its operator is not leakproof.
    if t <> 'entry' then
      execute format('alter table %I force row level security', t);
    end if;
    execute format($p$create policy own on %I using (
      tenant = current_setting('palimpsest.tenant', true)
      and (encode(owner, 'hex') = current_setting('palimpsest.owner', true) or current_setting('palimpsest.owner', true) = '*'))$p$, t);
  end loop;
end $$;
alter table tenant enable row level security;
alter table tenant force row level security;
create policy own on tenant using (tenant = current_setting('palimpsest.tenant', true));

-- How many entries each query finds, at most `most` of each.
create function counted(queries text[], keys uuid[], most int) returns bigint[] language sql stable security definer as $$
  select array_agg((select count(*) from (
    select from entry e where e.tenant = current_setting('palimpsest.tenant', true)
      and encode(e.owner, 'hex') = current_setting('palimpsest.owner', true)
      and e.words @@ one.query::tsquery and (keys is null or e.session_key = any (keys)) limit most) hits) order by one.number)
  from unnest(queries) with ordinality as one (query, number)
$$;

-- The likeliest entries of a query, out of `most` that it finds.
create function found(query text, ranking text, keys uuid[], most int, likely int)
returns table (session_key uuid, stands smallint, enc smallint, body bytea, entry_hash bytea) language sql stable security definer as $$
  select hits.session_key, hits.stands, hits.enc, hits.body, hits.entry_hash from (
    select e.session_key, e.stands, e.enc, e.body, e.entry_hash, e.words from entry e
    where e.tenant = current_setting('palimpsest.tenant', true)
      and encode(e.owner, 'hex') = current_setting('palimpsest.owner', true)
      and e.words @@ query::tsquery and (keys is null or e.session_key = any (keys)) limit most) hits
  order by ts_rank(hits.words, ranking::tsquery, 1) desc, hits.session_key, hits.entry_hash limit likely
$$;

-- What came to a ledger since a step: what is asked most, so its settings and the question are one statement.
create function steps_after(whose text, own text, asked uuid, after bigint, known int)
returns table (epoch int, seq bigint, w text, n bigint, clock bigint, rev bigint, stamped boolean, enc smallint, body bytea, sha256 bytea)
language plpgsql as $$
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  return query select s.epoch, t.seq, t.w, t.n, t.clock, t.rev, t.stamped, t.enc, t.body, t.sha256
    from session s left join step t on t.session_key = s.session_key and t.seq > case when s.epoch = known then after else 0 end
    where s.tenant = whose and s.session_key = asked order by t.seq;
end $$;

-- Records of a session, read back: numbered, written and compared in one statement. Null where something was buried since.
create function add_records(whose text, own text, asked uuid, known int, writer text, first bigint, ids bytea[],
  encs smallint[], bodies bytea[], sizes int[], hashes bytea[], stored bytea[]) returns bigint language plpgsql as $$
declare last bigint; many int := cardinality(ids); same int;
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  update session s set records = s.records + many
    where s.tenant = whose and s.session_key = asked and s.buried = known returning s.records into last;
  if last is null then return null; end if;
  insert into record (tenant, owner, session_key, seq, batch_id, w, n, enc, body, body_len, sha256)
    select whose, decode(own, 'hex'), asked, last - many + one.at, one.batch_id, writer, first + one.at - 1,
      one.enc, one.body, one.size, one.sha256
    from unnest(ids, encs, bodies, sizes, hashes) with ordinality as one (batch_id, enc, body, size, sha256, at);
  select count(*) into same from unnest(stored) with ordinality as one (hash, at) join record r
    on r.tenant = whose and r.session_key = asked and r.seq = last - many + one.at and sha256(r.body) = one.hash;
  if same <> many then raise exception 'other bytes than were sent' using errcode = 'data_corrupted'; end if;
  return last - many + 1;
end $$;

do $$ declare f text; begin
  foreach f in array array['add_records(text, text, uuid, int, text, bigint, bytea[], smallint[], bytea[], int[], bytea[], bytea[])', 'steps_after(text, text, uuid, bigint, int)', 'counted(text[], uuid[], int)', 'found(text, text, uuid[], int, int)'] loop
    execute format('alter function %s set search_path = %I, pg_temp', f, current_schema());
    execute format('revoke all on function %s from public', f);
  end loop;
end $$;
