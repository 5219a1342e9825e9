-- Version 4: what is asked together goes together. A look at a session is one statement, and an append says where in the
-- ledger it stands, so that nobody has to read it again. Servers of the version before go on with the functions they know.

-- What a session is, in the first row, and then what came to its ledger since a step.
create function session_since(whose text, own text, hashed bytea, after bigint, known int)
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
  if epoch is distinct from known then after := 0; end if;
  if last > after then
    return query select null::bytea, null::boolean, null::uuid, null::int, null::bytea, null::int, t.seq, t.w, t.n, t.clock, t.rev,
      t.stamped, t.enc, t.body, t.sha256
      from step t where t.tenant = whose and t.session_key = session_since.session_key and t.seq > after order by t.seq;
  end if;
end $$;

-- As `add_step`; it gives the last revision and clock, the number of the step and the ledger's epoch.
create function add_step_at(whose text, own text, asked uuid, known int, want bigint, held bigint, lease_of bytea, many int, revs int,
  writer text, first bigint, coded smallint, bytes bytea, hash bytea, lasting boolean, wait_ms int)
returns bigint[] language plpgsql as $$
declare step_no bigint; clock_now bigint; rev_now bigint; epoch_now bigint;
begin
  perform set_config('palimpsest.tenant', whose, true), set_config('palimpsest.owner', own, true);
  if not lasting then perform set_config('synchronous_commit', 'off', true); end if;
  if wait_ms is not null then perform set_config('lock_timeout', wait_ms::text, true); end if;
  update session s set steps = s.steps + 1, clock = s.clock + many, rev = s.rev + revs
    where s.tenant = whose and s.session_key = asked and s.buried = known and (want is null or s.rev = want)
      and (held is null or not exists (select from lease l where l.tenant = whose and l.name_hash = lease_of and l.token <> held))
    returning s.steps, s.clock, s.rev, s.epoch into step_no, clock_now, rev_now, epoch_now;
  if step_no is null then return null; end if;
  insert into step (tenant, owner, session_key, seq, w, n, events, clock, rev, enc, body, sha256)
    values (whose, decode(own, 'hex'), asked, step_no, writer, first, many, clock_now - many, rev_now - revs, coded, bytes, hash);
  return array[rev_now, clock_now, step_no, epoch_now];
end $$;

do $$ declare f text; begin
  foreach f in array array['session_since(text, text, bytea, bigint, int)', 'add_step_at(text, text, uuid, int, bigint, bigint, bytea, int, int, text, bigint, smallint, bytea, bytea, boolean, int)'] loop
    execute format('alter function %s set search_path = %I, pg_temp', f, current_schema());
    execute format('alter function %s set plan_cache_mode = force_generic_plan', f);
    execute format('revoke all on function %s from public', f);
  end loop;
end $$;
