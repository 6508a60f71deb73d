# SPDX-License-Identifier: GPL-2.0-or-later
"""The ledger's tables. Rows are only ever added.

`trials` says what was planned (by content, so that two studies share a trial), `study_trials` in
which order and block a study planned it, `runs` and `metrics` what came out, `boots` and
`boot_ends` what the runs ran in, `voids` which runs count no longer, `claims` and `heartbeats` who
is running a trial now. Times are UTC in ISO 8601; metrics are numbers in the unit beside them;
files are named by keys (:mod:`kernsmith.ledger.places`). A ledger of an earlier version gets the
tables, columns and indexes that it lacks when it is opened, so a column that is added here may be
null.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

METADATA = MetaData()

STUDIES = Table(
    "studies",
    METADATA,
    Column("digest", String(64), primary_key=True),
    Column("name", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("recorded_at", String(32), nullable=False),
)

TRIALS = Table(
    "trials",
    METADATA,
    Column("digest", String(64), primary_key=True),
    Column("kernel", String(64), nullable=False, index=True),
    Column("variant", Text, nullable=False),
    Column("layout", Text, nullable=False),
    Column("workload", Text, nullable=False),
    Column("machine", Text, nullable=False),
    Column("cpu", Text, nullable=False),
    Column("replicate", Integer, nullable=False),
    Column("conditions", JSON, nullable=False),
)

STUDY_TRIALS = Table(
    "study_trials",
    METADATA,
    Column("study", ForeignKey("studies.digest"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("trial", ForeignKey("trials.digest"), nullable=False, index=True),
    Column("variant", Text, nullable=False),
    Column("block", Integer, nullable=False),
)

CLAIMS = Table(
    "claims",
    METADATA,
    Column("trial", ForeignKey("trials.digest"), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("taken_at", String(32), nullable=False),
)

# Signs of life of who holds a claim: a row every twenty seconds, and a last one when it is given
# back without a run. Only the latest of a claim says anything, and none does once there is a run,
# so the others may be deleted at any time to save space.
HEARTBEATS = Table(
    "heartbeats",
    METADATA,
    Column("trial", String(64), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("at", String(32), nullable=False),
    Column("last", Boolean, nullable=False),
    ForeignKeyConstraint(["trial", "attempt"], ["claims.trial", "claims.attempt"]),
)

# A boot is recorded when it starts, its end when it ends: whoever is killed meanwhile loses no more
# than the end. Runs of a session refer to the boot that they ran in.
BOOTS = Table(
    "boots",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("session", String(64), nullable=False, index=True),
    Column("machine", Text, nullable=False),
    Column("image", Text, nullable=False),
    Column("kernel", String(64), nullable=False, index=True),
    Column("layout", Text, nullable=False),
    Column("command", JSON, nullable=False),
    Column("console", Text, nullable=False),
    Column("started_at", String(32), nullable=False),
)

BOOT_ENDS = Table(
    "boot_ends",
    METADATA,
    Column("boot", ForeignKey("boots.id"), primary_key=True),
    Column("status", String(16), nullable=False),
    Column("reason", Text, nullable=False),
    Column("wall_seconds", Double, nullable=False),
)

RUNS = Table(
    "runs",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("trial", ForeignKey("trials.digest"), nullable=False, index=True),
    Column("attempt", Integer, nullable=False),
    Column("status", String(16), nullable=False),
    Column("reason", Text, nullable=False),
    Column("console", Text, nullable=False),
    Column("started_at", String(32), nullable=False),
    Column("wall_seconds", Double, nullable=False),
    Column("provenance", JSON, nullable=False),
    Column("boot", ForeignKey("boots.id"), index=True),
    UniqueConstraint("trial", "attempt"),
)

# A run that a row here names counts nowhere: its trial is open again.
VOIDS = Table(
    "voids",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("run", ForeignKey("runs.id"), nullable=False, index=True),
    Column("reason", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("at", String(32), nullable=False),
)

METRICS = Table(
    "metrics",
    METADATA,
    Column("run", ForeignKey("runs.id"), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("value", Double, nullable=False),
    Column("unit", String(16), nullable=False),
)

# What became of each variant of a study before it could run: built, failed, or refused at once.
BUILDS = Table(
    "builds",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("study", Text, nullable=False, index=True),
    Column("variant", Text, nullable=False),
    Column("kernel", String(64), nullable=False),
    Column("status", String(16), nullable=False),
    Column("reason", Text, nullable=False),
    Column("compiler", Text, nullable=False),
    Column("linker", Text, nullable=False),
    Column("objects", Integer),
    Column("compiled", Integer),
    Column("seconds", Double),
    Column("text_bytes", Integer),
    Column("recorded_at", String(32), nullable=False),
    # Of study, variant, kernel, status and reason, which are there once. A reason may be long.
    Column("digest", String(64), unique=True, index=True),
)
