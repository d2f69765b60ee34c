-- The ledger of raftscope: what every entry of a raft log was, and what it changed.
--
-- `PRAGMA user_version` is the version of this schema. Only changes are kept, never one row for
-- each job at each index: a row with `until_idx` holds from `idx` on, up to but not including
-- `until_idx`, and for as long as the ledger reaches where that is NULL. What was so right after
-- entry N are the rows with `idx <= N AND (until_idx IS NULL OR until_idx > N)`.
-- Times are RFC 3339 in UTC with nine decimals, so that they sort as text.

-- Tables

CREATE TABLE meta (
    key TEXT PRIMARY KEY,      -- what is told: rules, base_kind, base_idx, base_term, first_idx, last_idx, …
    value                      -- a text or a number
) WITHOUT ROWID;

CREATE TABLE entry (
    idx INTEGER PRIMARY KEY,   -- position in the log
    term INTEGER NOT NULL,     -- term of the leader that wrote it
    log_type TEXT NOT NULL,    -- raft's type: LogCommand, LogNoop, LogBarrier, LogConfiguration, …
    type TEXT,                 -- of a command, the message type's constant; a number where none is known
    bytes INTEGER NOT NULL,    -- size of the payload
    appended_at TEXT,          -- the leader's clock, where the log knows it (Nomad 1.3 and newer)
    outcome TEXT NOT NULL,     -- applied, no_effect, refused, partially_applied, undecodable, empty, unknown_type, not_modelled, raft
    detail TEXT,               -- why, where it was not simply applied
    hash TEXT NOT NULL         -- CRC-64/XZ of the payload, in hexadecimal
);

CREATE TABLE count_change (
    id INTEGER PRIMARY KEY,
    idx INTEGER NOT NULL,      -- the entry, or the base snapshot
    until_idx INTEGER,         -- the next entry that changes these children; the same entry for a step within it
    namespace TEXT NOT NULL,
    parent TEXT NOT NULL,
    child TEXT,                -- the child that moved; NULL where the parent was registered, purged, reconciled or restored
    old_status TEXT,           -- the status that lost one; NULL where none did
    new_status TEXT,           -- the status that gained one
    pending INTEGER,           -- the three counters from here on; NULL where they are gone
    running INTEGER,
    dead INTEGER
);

CREATE TABLE job_change (
    id INTEGER PRIMARY KEY,
    idx INTEGER NOT NULL,      -- the entry, or the base snapshot
    until_idx INTEGER,         -- the next entry that changes this job; the same entry where the job is gone
    namespace TEXT NOT NULL,
    job TEXT NOT NULL,
    life INTEGER NOT NULL,     -- the id of the row in which the job came; it has the same until it is gone
    parent TEXT,               -- ParentID; NULL for a job of its own
    type TEXT,                 -- service, batch, system, sysbatch
    version INTEGER,
    stop INTEGER,              -- 1 when stopped
    old_status TEXT,           -- the status before; NULL where the job was not there
    status TEXT,               -- the status from here on; NULL where the job is gone
    pending INTEGER,           -- the summary's children; NULL without a summary, or where it has none
    running INTEGER,
    dead INTEGER,
    groups INTEGER,            -- how many groups the summary has; NULL without a summary
    in_timeline INTEGER NOT NULL,  -- 1 when status, children or groups changed; 0 when only the rest of this row did
    from_snapshot INTEGER NOT NULL -- 1 for what was restored from a snapshot and not made by the entry
);

CREATE TABLE group_change (
    id INTEGER PRIMARY KEY,
    idx INTEGER NOT NULL,      -- the entry, or the base snapshot
    until_idx INTEGER,         -- the next entry that changes this group's numbers, or with which they are gone
    namespace TEXT NOT NULL,
    job TEXT NOT NULL,
    life INTEGER NOT NULL,     -- that of the job in job_change
    task_group TEXT NOT NULL,
    queued INTEGER,            -- NULL where a scheduler run inside a reconcile decided it
    complete INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    running INTEGER NOT NULL,
    starting INTEGER NOT NULL,
    lost INTEGER NOT NULL,
    unknown INTEGER NOT NULL
);

CREATE TABLE finding (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,        -- negative, drift, snapshot_mismatch, rejected_entry, …
    severity TEXT NOT NULL,    -- error, warning, note
    namespace TEXT,
    parent TEXT,
    job TEXT,                  -- where it is not about a parent's counters
    task_group TEXT,
    counter TEXT,              -- Pending, Running, Dead, or a group's
    value INTEGER,             -- the counter where it began; for a drift, stored minus recount
    min_value INTEGER,
    stored INTEGER,
    recount INTEGER,
    final_value INTEGER,
    idx INTEGER NOT NULL,      -- where it shows
    term INTEGER NOT NULL,
    entry TEXT,                -- that entry's type; NULL for entries that are lost
    until_idx INTEGER,         -- the first entry at which it is gone; NULL while it lasts
    until_entry TEXT,
    lasts INTEGER NOT NULL,    -- 1 while it lasts, 0 when it is over or never lasted
    last_idx INTEGER,          -- the last entry that is lost
    partial INTEGER,           -- 1 where a part of a refused entry took effect
    detail TEXT,               -- what is wrong, for people
    committed TEXT,            -- proven, inferred, unknown, refuted
    leader_idx INTEGER,        -- the leader change before it
    leader_term INTEGER,
    cause_rule TEXT,           -- the mechanism
    cause_idx INTEGER,         -- the entry that made it inevitable
    cause_term INTEGER,
    cause_entry TEXT,
    cause_namespace TEXT,
    cause_job TEXT,
    cause_status TEXT,
    cause_by TEXT,             -- who sent that entry, where known
    cause_detail TEXT
);

CREATE TABLE term_span (
    first_idx INTEGER PRIMARY KEY,
    last_idx INTEGER NOT NULL,
    term INTEGER NOT NULL,
    entries INTEGER NOT NULL
);

CREATE TABLE snapshot (
    id INTEGER PRIMARY KEY,
    idx INTEGER NOT NULL,      -- the last entry in it
    term INTEGER NOT NULL,
    role TEXT NOT NULL,        -- base: the replay starts from it; differs: the replay did, and went on from it; agrees: it did not
    differences INTEGER        -- how many rows differed, where it was compared
);

-- States to go on from, so that not all of the log is replayed again; only raftscope reads them.
CREATE TABLE image (
    idx INTEGER PRIMARY KEY,   -- the entry after which the state was so
    term INTEGER NOT NULL,
    from_idx INTEGER,          -- the image that this one goes on top of; NULL for one of all rows
    stays INTEGER NOT NULL,    -- 0 for the end of the last run, which the next one replaces
    state BLOB,
    audit BLOB                 -- what the audit knew there
);

-- Views

-- The rows of `raftscope timeline`; groups is JSON. Order by idx, namespace, job.
CREATE VIEW v_timeline AS
SELECT j.idx,
       coalesce(e.term, (SELECT s.term FROM snapshot s WHERE s.idx = j.idx)) AS term,
       CASE WHEN j.from_snapshot THEN 'snapshot' ELSE e.type END AS entry,
       j.namespace, j.job, j.status, j.pending, j.running, j.dead,
       CASE WHEN j.groups IS NOT NULL THEN (
           SELECT json_group_object(g.task_group, json_object(
                      'Queued', g.queued, 'Complete', g.complete, 'Failed', g.failed, 'Running', g.running,
                      'Starting', g.starting, 'Lost', g.lost, 'Unknown', g.unknown))
             FROM (SELECT * FROM group_change g
                    WHERE g.life = j.life AND g.idx <= j.idx
                      AND (g.until_idx IS NULL OR g.until_idx > j.idx)
                    ORDER BY g.task_group) g)
       END AS groups,
       j.status IS NULL AS deleted
  FROM job_change j LEFT JOIN entry e ON e.idx = j.idx
 WHERE j.in_timeline;

-- The children counters of each parent, each row for as long as it holds.
CREATE VIEW v_children AS
SELECT namespace, parent, pending, running, dead, idx AS from_idx, until_idx
  FROM count_change
 WHERE pending IS NOT NULL AND (until_idx IS NULL OR until_idx > idx);

-- For each parent and counter that ever went below zero, the first time: until_idx is the entry at
-- which it was zero or more again, or gone.
CREATE VIEW v_first_negative AS
WITH settled AS (
    SELECT * FROM count_change WHERE until_idx IS NULL OR until_idx > idx
), counter AS (
    SELECT idx, namespace, parent, child, 'Pending' AS counter, pending AS value FROM settled
    UNION ALL
    SELECT idx, namespace, parent, child, 'Running', running FROM settled
    UNION ALL
    SELECT idx, namespace, parent, child, 'Dead', dead FROM settled
), first AS (
    SELECT namespace, parent, counter, value, child, min(idx) AS idx
      FROM counter WHERE value < 0 GROUP BY namespace, parent, counter
)
SELECT f.namespace, f.parent, f.counter, f.value, f.idx, e.term, e.type AS entry, f.child,
       (SELECT min(c.idx) FROM counter c
         WHERE c.namespace = f.namespace AND c.parent = f.parent AND c.counter = f.counter
           AND c.idx > f.idx AND coalesce(c.value, 0) >= 0) AS until_idx
  FROM first f LEFT JOIN entry e ON e.idx = f.idx;

-- What the log is made of: one row for each kind of entry.
CREATE VIEW v_entry_types AS
SELECT log_type, type, count(*) AS entries, sum(bytes) AS bytes, max(bytes) AS largest,
       min(idx) AS first_idx, max(idx) AS last_idx,
       sum(outcome IN ('refused', 'partially_applied')) AS refused,
       sum(outcome IN ('undecodable', 'empty', 'unknown_type')) AS undecodable
  FROM entry GROUP BY log_type, type;

-- Terms, with the leader's clock at the first and last entry that has one.
CREATE VIEW v_terms AS
WITH span AS (
    SELECT term, min(first_idx) AS first_idx, max(last_idx) AS last_idx, sum(entries) AS entries
      FROM term_span GROUP BY term
)
SELECT s.term, s.first_idx, s.last_idx, s.entries,
       (SELECT e.appended_at FROM entry e
         WHERE e.idx BETWEEN s.first_idx AND s.last_idx AND e.term = s.term AND e.appended_at IS NOT NULL
         ORDER BY e.idx LIMIT 1) AS started_at,
       (SELECT e.appended_at FROM entry e
         WHERE e.idx BETWEEN s.first_idx AND s.last_idx AND e.term = s.term AND e.appended_at IS NOT NULL
         ORDER BY e.idx DESC LIMIT 1) AS ended_at
  FROM span s;

-- Indexes, made when the rows are there

-- Only where a view would be slow without one. Ids rise with idx, so rows stand in that order.
CREATE INDEX count_change_parent ON count_change (parent, idx);
CREATE INDEX group_change_life ON group_change (life, idx);
