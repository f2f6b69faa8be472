package index

import "github.com/openmuse/muse/internal/store/sqldb"

// Names of the files in the data root. The second is used where the first is
// the index of another program (seed 000, Session index).
const (
	fileName  = "session-index.db"
	ownName   = "session-index.openmuse.db"
	layout    = "session_jsonl"
	valid     = "valid"
	unread    = "unreadable"
	schemaVer = "1"
)

// schema is the table that Muse Code's index is known to have, and beside its
// columns ours, which begin with openmuse_: how far the log was read and in
// which state the reading was left.
const schema = `
CREATE TABLE sessions (
	session_id TEXT PRIMARY KEY NOT NULL,
	session_dir TEXT NOT NULL,
	session_log_path TEXT NOT NULL,
	layout TEXT NOT NULL,
	workspace_root TEXT NOT NULL,
	workspace_key TEXT NOT NULL,
	provider_id TEXT NOT NULL,
	model_id TEXT NOT NULL,
	git_branch TEXT NOT NULL,
	title TEXT NOT NULL,
	first_user_prompt TEXT NOT NULL,
	search_text TEXT NOT NULL,
	created_at_us INTEGER NOT NULL,
	updated_at_us INTEGER NOT NULL,
	prompt_count INTEGER NOT NULL,
	status TEXT NOT NULL,
	session_name TEXT NOT NULL,
	msp_forked_from_session_id TEXT NOT NULL,
	msp_fork_command_id TEXT NOT NULL,
	msp_fork_cut_cursor TEXT NOT NULL,
	msp_fork_cut_explicit INTEGER NOT NULL,
	openmuse_side_from TEXT NOT NULL,
	openmuse_side_command TEXT NOT NULL,
	openmuse_side_cursor TEXT NOT NULL,
	openmuse_name_folded TEXT NOT NULL,
	openmuse_name_source TEXT NOT NULL,
	openmuse_title_folded TEXT NOT NULL,
	openmuse_description TEXT NOT NULL,
	openmuse_workspace TEXT NOT NULL,
	openmuse_cwd TEXT NOT NULL,
	openmuse_intents INTEGER NOT NULL,
	openmuse_turns INTEGER NOT NULL,
	openmuse_active_us INTEGER NOT NULL,
	openmuse_end TEXT NOT NULL,
	openmuse_client TEXT NOT NULL,
	openmuse_client_title TEXT NOT NULL,
	openmuse_client_version TEXT NOT NULL,
	openmuse_mode TEXT NOT NULL,
	openmuse_mode_source TEXT NOT NULL,
	openmuse_mode_command TEXT NOT NULL,
	openmuse_shard TEXT NOT NULL,
	openmuse_size INTEGER NOT NULL,
	openmuse_written_ns INTEGER NOT NULL,
	openmuse_through INTEGER NOT NULL,
	openmuse_head BLOB NOT NULL,
	openmuse_tail BLOB NOT NULL,
	openmuse_whole INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_updated ON sessions (updated_at_us DESC, session_id DESC);
CREATE INDEX sessions_workspace ON sessions (workspace_key, updated_at_us DESC, session_id DESC);
CREATE INDEX openmuse_sources ON sessions (session_id, openmuse_shard, openmuse_size, openmuse_written_ns, openmuse_whole);
CREATE INDEX openmuse_partial ON sessions (updated_at_us) WHERE NOT openmuse_whole;
CREATE TABLE openmuse_meta (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO openmuse_meta VALUES ('schema', '` + schemaVer + `');
`

// columns are all columns of a row in the order in which they are read and
// written.
const columns = `session_id, session_dir, session_log_path, layout, workspace_root, workspace_key, provider_id, model_id,
	git_branch, title, first_user_prompt, search_text, created_at_us, updated_at_us, prompt_count, status, session_name,
	msp_forked_from_session_id, msp_fork_command_id, msp_fork_cut_cursor, msp_fork_cut_explicit,
	openmuse_side_from, openmuse_side_command, openmuse_side_cursor, openmuse_name_folded, openmuse_name_source,
	openmuse_title_folded, openmuse_description, openmuse_workspace, openmuse_cwd, openmuse_intents, openmuse_turns,
	openmuse_active_us, openmuse_end, openmuse_client, openmuse_client_title, openmuse_client_version,
	openmuse_mode, openmuse_mode_source, openmuse_mode_command, openmuse_shard, openmuse_size, openmuse_written_ns,
	openmuse_through, openmuse_head, openmuse_tail, openmuse_whole`

// drop makes room for the tables of this version.
const drop = `DROP TABLE IF EXISTS sessions; DROP TABLE IF EXISTS openmuse_meta;`

func options() sqldb.Options {
	return sqldb.Options{
		Schema: schema, Readers: 2,
		Marker: "SELECT s.session_id, s.openmuse_through, m.value FROM sessions s, openmuse_meta m LIMIT 0",
	}
}
