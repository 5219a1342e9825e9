-- Version 3: what the archive has and search has not yet is in a table, so that a search over all sessions looks at no more
-- of them than it must. A row comes with a record, and goes when its entries are there.

create table unsearched (
  tenant text not null, owner bytea not null, session_key uuid not null, batch_id bytea not null,
  primary key (session_key, batch_id)
);
create index on unsearched (tenant, owner);

alter table record no force row level security;  -- the owner reads everybody's once
insert into unsearched select distinct r.tenant, r.owner, r.session_key, r.batch_id from record r
  where r.enc <> -1 and not exists (select from entry e where e.session_key = r.session_key and e.batch_id = r.batch_id);
alter table record force row level security;

create function note_unsearched() returns trigger language plpgsql as $$
begin
  insert into unsearched (tenant, owner, session_key, batch_id) values (new.tenant, new.owner, new.session_key, new.batch_id)
    on conflict do nothing;
  return null;
end $$;
create trigger unsearched after insert on record for each row execute function note_unsearched();

alter table unsearched enable row level security;
alter table unsearched force row level security;
create policy own on unsearched using (
  tenant = current_setting('palimpsest.tenant', true)
  and (encode(owner, 'hex') = current_setting('palimpsest.owner', true) or current_setting('palimpsest.owner', true) = '*'));

do $$ begin
  execute format('alter function note_unsearched() set search_path = %I, pg_temp', current_schema());
  revoke all on function note_unsearched() from public;
end $$;
