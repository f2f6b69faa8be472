package peerhistory

import "github.com/openmuse/muse/internal/store/sqldb"

// Names of the files beside the log. The second is used where the first was
// written by another program.
const (
	fileName = "session.peer-history.sqlite3"
	ownName  = "session.peer-history.openmuse.sqlite3"
	lockName = fileName + ".rebuild.lock"
)

// schema has the tables and columns that Muse Code's index is known to have
// (seed 000, Peer history index), and one table that says that it is ours.
const schema = `
CREATE TABLE schema_meta (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO schema_meta VALUES ('schema_version', '1');
CREATE TABLE source_snapshot (
	source_identity TEXT NOT NULL,
	source_len INTEGER NOT NULL,
	source_modified_ns INTEGER NOT NULL,
	target_stream_id TEXT NOT NULL,
	target_records_complete INTEGER NOT NULL,
	anchor_start INTEGER NOT NULL,
	anchor_end INTEGER NOT NULL,
	anchor_sha256 BLOB NOT NULL
);
CREATE TABLE retained_records (
	line_start INTEGER NOT NULL,
	line_end INTEGER NOT NULL,
	event_id TEXT NOT NULL,
	stream_kind TEXT NOT NULL,
	stream_id TEXT NOT NULL,
	sequence INTEGER NOT NULL,
	raw_sha256 BLOB NOT NULL,
	PRIMARY KEY (line_start, sequence)
) WITHOUT ROWID;
CREATE INDEX retained_records_sequence ON retained_records (sequence);
CREATE TABLE stable_ids (
	kind TEXT NOT NULL,
	stable_id TEXT NOT NULL,
	target_session_id TEXT NOT NULL,
	event_id TEXT NOT NULL,
	line_start INTEGER NOT NULL,
	PRIMARY KEY (kind, stable_id, line_start)
) WITHOUT ROWID;
CREATE INDEX stable_ids_line ON stable_ids (kind, line_start);
CREATE TABLE openmuse_meta (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO openmuse_meta VALUES ('schema', '1');
` + replaySchema

func options() sqldb.Options {
	return sqldb.Options{
		Schema: schema,
		Marker: `SELECT r.raw_sha256, s.stable_id, p.anchor_sha256, m.value, k.survives, o.hash_state, n.records
			FROM retained_records r, stable_ids s, source_snapshot p, openmuse_meta m, openmuse_kept k, openmuse_position o, openmuse_runs n LIMIT 0`,
	}
}
