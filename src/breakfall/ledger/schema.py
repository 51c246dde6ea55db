"""The tables of the index: derived from the lines, the same in SQLite and in PostgreSQL."""

from __future__ import annotations

VERSION = 4
"""An index of another version is thrown away and built anew."""

DERIVED = ("bf_segments", "bf_names", "bf_runs", "bf_episodes", "bf_steps", "bf_counts", "bf_verdicts", "bf_worded")
"""The tables of the index."""

STEP_COLUMNS = (
    "id", "run", "episode", "n", "call", "tool", "intent", "agent", "version", "unix_s", "hour", "at_s", "took_s",
    "attempt", "purpose", "strategy", "retried", "effect", "outcome", "status", "error", "severity", "verification",
    "uncertainty", "unverified", "incomplete", "tokens_in", "tokens_cached", "tokens_out", "tokens", "usd", "fault",
    "segment", "seq", "position", "length", "crc",
)  # fmt: skip
"""What is known of a step; the rest is in its line, which `segment`, `position` and `length` lead to."""

TABLES = """
CREATE TABLE bf_segments (
    id {id}, name TEXT NOT NULL UNIQUE, holds TEXT NOT NULL, done BIGINT NOT NULL, seq BIGINT NOT NULL,
    chain TEXT NOT NULL, damaged BIGINT NOT NULL
);
CREATE TABLE bf_names (id {id}, name TEXT NOT NULL UNIQUE);
CREATE TABLE bf_runs (
    id {id}, agent BIGINT NOT NULL, version BIGINT NOT NULL, begun_s DOUBLE PRECISION, ended_s DOUBLE PRECISION,
    steps BIGINT NOT NULL, errors BIGINT NOT NULL, warnings BIGINT NOT NULL, unverified BIGINT NOT NULL,
    incomplete BIGINT NOT NULL, tokens BIGINT NOT NULL, usd DOUBLE PRECISION NOT NULL, seconds DOUBLE PRECISION NOT NULL
);
CREATE INDEX bf_runs_begun ON bf_runs (begun_s);
CREATE TABLE bf_episodes (
    id {id}, run BIGINT NOT NULL, steps BIGINT NOT NULL, world TEXT, condition TEXT, agent TEXT, scenario TEXT,
    task TEXT, seed BIGINT, ending TEXT, passed INTEGER, faults BIGINT, segment BIGINT, position BIGINT, length BIGINT
);
CREATE INDEX bf_episodes_run ON bf_episodes (run);
CREATE TABLE bf_steps (
    id {id}, run BIGINT NOT NULL, episode BIGINT NOT NULL, n BIGINT NOT NULL, call TEXT NOT NULL, tool BIGINT NOT NULL,
    intent BIGINT NOT NULL, agent BIGINT NOT NULL, version BIGINT NOT NULL, unix_s DOUBLE PRECISION, hour BIGINT,
    at_s DOUBLE PRECISION NOT NULL, took_s DOUBLE PRECISION NOT NULL, attempt INTEGER NOT NULL, purpose TEXT NOT NULL,
    strategy TEXT, retried INTEGER NOT NULL, effect TEXT, outcome TEXT NOT NULL, status INTEGER, error TEXT,
    severity TEXT NOT NULL, verification TEXT NOT NULL, uncertainty TEXT NOT NULL, unverified INTEGER NOT NULL,
    incomplete INTEGER NOT NULL, tokens_in BIGINT, tokens_cached BIGINT, tokens_out BIGINT, tokens BIGINT,
    usd DOUBLE PRECISION, fault TEXT, segment BIGINT NOT NULL, seq BIGINT NOT NULL, position BIGINT NOT NULL,
    length BIGINT NOT NULL, crc BIGINT
);
CREATE INDEX bf_steps_run ON bf_steps (run, id);
CREATE INDEX bf_steps_episode ON bf_steps (episode, n, uncertainty);
CREATE INDEX bf_steps_intent ON bf_steps (intent, tokens);
CREATE INDEX bf_steps_grave ON bf_steps (severity, id) WHERE severity <> 'info';
CREATE INDEX bf_steps_unverified ON bf_steps (id) WHERE unverified = 1;
CREATE INDEX bf_steps_retried ON bf_steps (episode, call) WHERE retried = 1;
CREATE INDEX bf_steps_place ON bf_steps (segment, seq);
CREATE TABLE bf_counts (
    hour BIGINT NOT NULL, tool BIGINT NOT NULL, intent BIGINT NOT NULL, agent BIGINT NOT NULL, version BIGINT NOT NULL,
    steps BIGINT NOT NULL, errors BIGINT NOT NULL, warnings BIGINT NOT NULL, unverified BIGINT NOT NULL,
    incomplete BIGINT NOT NULL, failed BIGINT NOT NULL, counted BIGINT NOT NULL, tokens BIGINT NOT NULL,
    tokens_cached BIGINT NOT NULL, usd DOUBLE PRECISION NOT NULL, PRIMARY KEY (hour, tool, intent, agent, version)
);
CREATE TABLE bf_verdicts (
    name TEXT NOT NULL PRIMARY KEY, judgement TEXT NOT NULL, rule TEXT NOT NULL, alarming INTEGER NOT NULL,
    run BIGINT NOT NULL, episode BIGINT NOT NULL, n BIGINT, tool BIGINT NOT NULL, agent BIGINT NOT NULL,
    why TEXT NOT NULL, unix_s DOUBLE PRECISION NOT NULL
);
CREATE INDEX bf_verdicts_run ON bf_verdicts (run);
CREATE TABLE bf_worded (done BIGINT NOT NULL);
"""
"""`{id}` is how the backend writes the primary key. `bf_counts` sums the steps of each hour, tool, intent, agent and
version, so that what is asked of the whole ledger need not look at every step; hour -1 is that of steps without a time.
"""

VIEWS = """
CREATE TEMP VIEW steps AS
    SELECT s.id, run.name AS run, episode.name AS episode, s.n, s.call, tool.name AS tool, intent.name AS intent,
        agent.name AS agent, version.name AS agent_version, s.unix_s, s.hour, s.at_s, s.took_s, s.attempt, s.purpose,
        s.strategy, s.effect, s.outcome, s.status, s.error, s.severity, s.verification, s.uncertainty, s.unverified,
        s.incomplete, s.tokens_in, s.tokens_cached, s.tokens_out, s.tokens, s.usd, s.fault
    FROM bf_steps s JOIN bf_names run ON run.id = s.run JOIN bf_names episode ON episode.id = s.episode
        JOIN bf_names tool ON tool.id = s.tool JOIN bf_names intent ON intent.id = s.intent
        JOIN bf_names agent ON agent.id = s.agent JOIN bf_names version ON version.id = s.version;
CREATE TEMP VIEW runs AS
    SELECT run.name AS run, agent.name AS agent, version.name AS agent_version, r.begun_s, r.ended_s, r.steps, r.errors,
        r.warnings, r.unverified, r.incomplete, r.tokens, r.usd, r.seconds
    FROM bf_runs r JOIN bf_names run ON run.id = r.id JOIN bf_names agent ON agent.id = r.agent
        JOIN bf_names version ON version.id = r.version;
CREATE TEMP VIEW episodes AS
    SELECT episode.name AS episode, run.name AS run, e.steps, e.world, e.condition, e.agent, e.scenario, e.task, e.seed,
        e.ending, e.passed, e.faults
    FROM bf_episodes e JOIN bf_names episode ON episode.id = e.id JOIN bf_names run ON run.id = e.run;
CREATE TEMP VIEW verdicts AS
    SELECT v.name, v.judgement, v.rule, v.alarming, run.name AS run, episode.name AS episode, v.n, tool.name AS tool,
        agent.name AS agent, v.why, v.unix_s
    FROM bf_verdicts v JOIN bf_names run ON run.id = v.run JOIN bf_names episode ON episode.id = v.episode
        JOIN bf_names tool ON tool.id = v.tool JOIN bf_names agent ON agent.id = v.agent;
"""
"""What SQL of one's own is written against."""
