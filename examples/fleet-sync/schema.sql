-- The tables besides those of `postgresStorage`, `connections` and `feeds`. Each process runs this when it starts, one
-- after the other. Times are written and compared by the database, because the clocks of machines differ.
SELECT pg_advisory_xact_lock(hashtext('fleet-sync'));

CREATE TABLE IF NOT EXISTS organizations (
  key text PRIMARY KEY, -- of its connection
  name text NOT NULL,
  login bigint NOT NULL, -- whose token is stored, by the clock of its machine: logins are only compared for equality
  ended text, -- why it waits for a login: revoked or no token
  ended_at timestamptz,
  added_at timestamptz NOT NULL DEFAULT now(),
  due_at timestamptz NOT NULL DEFAULT now(),
  lease bigserial, -- another number for each job: only the newest job can write
  passes bigint NOT NULL DEFAULT 0,
  completed_at timestamptz,
  skipped bigint NOT NULL DEFAULT 0, -- conversations that the last pass could not read
  problem text,
  requests bigint NOT NULL DEFAULT 0,
  refused bigint NOT NULL DEFAULT 0 -- requests that got a 429
);
CREATE INDEX IF NOT EXISTS organizations_due ON organizations (due_at);

-- The replica: conversations and messages as the service sent them.
CREATE TABLE IF NOT EXISTS items (
  organization text NOT NULL,
  resource text NOT NULL,
  id text NOT NULL,
  conversation text NOT NULL,
  data json,
  deleted_at timestamptz,
  PRIMARY KEY (organization, resource, id)
);
CREATE INDEX IF NOT EXISTS items_deleted ON items (deleted_at) WHERE deleted_at IS NOT NULL;

-- What has changed. Within an organization, the numbers rise.
CREATE TABLE IF NOT EXISTS changes (
  organization text NOT NULL,
  key text NOT NULL, -- of the change, which stays the same if the change comes again
  number bigint GENERATED ALWAYS AS IDENTITY,
  resource text NOT NULL,
  id text NOT NULL,
  kind text NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization, key)
);
CREATE INDEX IF NOT EXISTS changes_number ON changes (organization, number);
CREATE INDEX IF NOT EXISTS changes_at ON changes (at);

-- Revoked logins. Each has one row, from which you can ask the customer to connect again.
CREATE TABLE IF NOT EXISTS notices (
  organization text NOT NULL,
  login bigint NOT NULL,
  PRIMARY KEY (organization, login)
);

-- Counters for the metrics: failures of all organizations by remedy, and the counts of erased organizations.
CREATE TABLE IF NOT EXISTS failures (remedy text PRIMARY KEY, count bigint NOT NULL);
CREATE TABLE IF NOT EXISTS erased (passes bigint NOT NULL, requests bigint NOT NULL, refused bigint NOT NULL);

-- The service that all processes use.
CREATE TABLE IF NOT EXISTS settings (base_url text PRIMARY KEY);
