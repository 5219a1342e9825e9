-- Version 2: an append, and a read of one record, are one statement each, and take as long in a large session as in a small one.
-- The functions keep one plan each (`force_generic_plan`): which partition a key is in is then found when they run.

-- Rows of sessions change with every append: room for the new ones beside the old.
do $$ declare t regclass; begin
  for t in select inhrelid::regclass from pg_inherits where inhparent = 'session'::regclass loop
    execute format('alter table %s set (fillfactor = 50)', t);
  end loop;
end $$;

create or replace function make_month(first date) returns boolean language plpgsql as $$
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
    execute format('create table %I partition of %I for values from (%L) to (%L)%s', name, t, low, high,
      case t when 'session' then ' with (fillfactor = 50)' else '' end);
  end loop;
  return true;
end $$;

-- A session's handle, by which its principal asks for it; that of old rows is in their info.
alter table session add column handle bytea;
alter table session no force row level security;  -- the owner reads everybody's once
update session set handle = convert_to(substring(convert_from(info, 'UTF8') from '"handle":"([a-z0-9]+)"'), 'UTF8')
  where info is not null;
alter table session force row level security;
create index on session (tenant, owner, handle);

create function session_named(whose text, own text, hashed bytea) returns table (info bytea) language plpgsql as $$
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  return query select s.info from name n join session s on s.session_key = n.session_key
    where n.tenant = whose and n.name_hash = hashed and s.steps + s.records > 0;
end $$;

create function session_of_handle(whose text, own text, asked bytea) returns table (info bytea, name bytea) language plpgsql as $$
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  return query select s.info, s.name from session s where s.tenant = whose and s.owner = decode(own, 'hex') and s.handle = asked
    and s.steps + s.records > 0 limit 1;
end $$;

-- Records of a session, read back: numbered, written and compared in one statement. Null where something was buried since.
create or replace function add_records(whose text, own text, asked uuid, known int, writer text, first bigint, ids bytea[],
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
  select count(*) into same from record r where r.tenant = whose and r.session_key = asked
    and r.seq > last - many and r.seq <= last and sha256(r.body) = stored[r.seq - last + many];
  if same <> many then raise exception 'other bytes than were sent' using errcode = 'data_corrupted'; end if;
  return last - many + 1;
end $$;

-- The events of one append. Null where another revision, a purge or a newer pass came between, and nothing is written.
--   want: the revision that has to be the session's last, or null.   held, lease: of the pass that decides, or null.
--   lasting: flushed before it returns.   wait_ms: the longest wait for another writer of the session, or null.
create function add_step(whose text, own text, asked uuid, known int, want bigint, held bigint, lease_of bytea, many int, revs int,
  writer text, first bigint, coded smallint, bytes bytea, hash bytea, lasting boolean, wait_ms int)
returns bigint language plpgsql as $$
declare step_no bigint; clock_now bigint; rev_now bigint;
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  if not lasting then perform set_config('synchronous_commit', 'off', true); end if;
  if wait_ms is not null then perform set_config('lock_timeout', wait_ms::text, true); end if;
  update session s set steps = s.steps + 1, clock = s.clock + many, rev = s.rev + revs
    where s.tenant = whose and s.session_key = asked and s.buried = known and (want is null or s.rev = want)
      and (held is null or not exists (select from lease l where l.tenant = whose and l.name_hash = lease_of and l.token <> held))
    returning s.steps, s.clock, s.rev into step_no, clock_now, rev_now;
  if step_no is null then return null; end if;
  insert into step (tenant, owner, session_key, seq, w, n, events, clock, rev, enc, body, sha256)
    values (whose, decode(own, 'hex'), asked, step_no, writer, first, many, clock_now - many, rev_now - revs, coded, bytes, hash);
  return rev_now;
end $$;

-- Records of a batch, newest first: the newest alone, or all.
create function records_of(whose text, own text, asked uuid, batch bytea, every boolean)
returns table (seq bigint, batch_id bytea, enc smallint, body bytea, sha256 bytea) language plpgsql as $$
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  return query select r.seq, r.batch_id, r.enc, r.body, r.sha256 from record r
    where r.tenant = whose and r.session_key = asked and r.batch_id = batch and r.enc <> -1
    order by r.seq desc limit case when every then null else 1 end;
end $$;

do $$ declare f text; begin
  foreach f in array array['add_records(text, text, uuid, int, text, bigint, bytea[], smallint[], bytea[], int[], bytea[], bytea[])', 'add_step(text, text, uuid, int, bigint, bigint, bytea, int, int, text, bigint, smallint, bytea, bytea, boolean, int)', 'records_of(text, text, uuid, bytea, boolean)', 'session_named(text, text, bytea)', 'session_of_handle(text, text, bytea)', 'steps_after(text, text, uuid, bigint, int)'] loop
    execute format('alter function %s set search_path = %I, pg_temp', f, current_schema());
    execute format('alter function %s set plan_cache_mode = force_generic_plan', f);
    execute format('revoke all on function %s from public', f);
  end loop;
end $$;
