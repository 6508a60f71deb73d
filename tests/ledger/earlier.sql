-- SPDX-License-Identifier: GPL-2.0-or-later
-- A ledger as kernsmith made it before boots were recorded (PostgreSQL; SQLite has INTEGER for
-- SERIAL), with one trial that has run, and the path of its console as it was written then.
CREATE TABLE builds (
	id SERIAL NOT NULL, study TEXT NOT NULL, variant TEXT NOT NULL, kernel VARCHAR(64) NOT NULL,
	status VARCHAR(16) NOT NULL, reason TEXT NOT NULL, compiler TEXT NOT NULL, linker TEXT NOT NULL,
	objects INTEGER, compiled INTEGER, seconds DOUBLE PRECISION, text_bytes INTEGER,
	recorded_at VARCHAR(32) NOT NULL,
	PRIMARY KEY (id), UNIQUE (study, variant, kernel, status, reason)
);
CREATE INDEX ix_builds_study ON builds (study);
CREATE TABLE studies (
	digest VARCHAR(64) NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL,
	recorded_at VARCHAR(32) NOT NULL,
	PRIMARY KEY (digest)
);
CREATE TABLE trials (
	digest VARCHAR(64) NOT NULL, kernel VARCHAR(64) NOT NULL, variant TEXT NOT NULL,
	layout TEXT NOT NULL, workload TEXT NOT NULL, machine TEXT NOT NULL, cpu TEXT NOT NULL,
	replicate INTEGER NOT NULL, conditions JSON NOT NULL,
	PRIMARY KEY (digest)
);
CREATE INDEX ix_trials_kernel ON trials (kernel);
CREATE TABLE claims (
	trial VARCHAR(64) NOT NULL, attempt INTEGER NOT NULL, owner TEXT NOT NULL,
	taken_at VARCHAR(32) NOT NULL,
	PRIMARY KEY (trial, attempt), FOREIGN KEY(trial) REFERENCES trials (digest)
);
CREATE TABLE runs (
	id SERIAL NOT NULL, trial VARCHAR(64) NOT NULL, attempt INTEGER NOT NULL,
	status VARCHAR(16) NOT NULL, reason TEXT NOT NULL, console TEXT NOT NULL,
	started_at VARCHAR(32) NOT NULL, wall_seconds DOUBLE PRECISION NOT NULL, provenance JSON NOT NULL,
	PRIMARY KEY (id), UNIQUE (trial, attempt), FOREIGN KEY(trial) REFERENCES trials (digest)
);
CREATE INDEX ix_runs_trial ON runs (trial);
CREATE TABLE study_trials (
	study VARCHAR(64) NOT NULL, position INTEGER NOT NULL, trial VARCHAR(64) NOT NULL,
	variant TEXT NOT NULL, block INTEGER NOT NULL,
	PRIMARY KEY (study, position), FOREIGN KEY(study) REFERENCES studies (digest),
	FOREIGN KEY(trial) REFERENCES trials (digest)
);
CREATE INDEX ix_study_trials_trial ON study_trials (trial);
CREATE TABLE metrics (
	run INTEGER NOT NULL, name VARCHAR(64) NOT NULL, value DOUBLE PRECISION NOT NULL,
	unit VARCHAR(16) NOT NULL,
	PRIMARY KEY (run, name), FOREIGN KEY(run) REFERENCES runs (id)
);
INSERT INTO studies VALUES ('5e', 'march', '[study]', '2026-01-02T03:04:05.678+00:00');
INSERT INTO trials VALUES ('7a', 'ce', 'v', 'default', 'pipe', 'tcg', 'skylake', 0, '{}');
INSERT INTO study_trials VALUES ('5e', 0, '7a', 'v', 0);
INSERT INTO claims VALUES
	('7a', 1, '{"boot": "b", "host": "h", "pid": 1, "started": 1}', '2026-01-02T03:04:05.678+00:00');
INSERT INTO runs (trial, attempt, status, reason, console, started_at, wall_seconds, provenance) VALUES
	('7a', 1, 'ok', '', '/home/x/.cache/kernsmith/runs/1/console.log',
	 '2026-01-02T03:04:05.678+00:00', 2.5, '{}');
INSERT INTO metrics VALUES (1, 'model_cycles', 1000.0, 'cycles');
INSERT INTO builds (study, variant, kernel, status, reason, compiler, linker, recorded_at) VALUES
	('march', 'v', '', 'failed', 'no memory', 'clang', 'lld', '2026-01-02T03:04:05.678+00:00');
