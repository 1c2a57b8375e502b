package devserver

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// schemaTx is one transaction of one session. Its version tables are those of Temporal's own tools.
type schemaTx struct {
	ctx      context.Context //nolint:containedctx // the schema tool's interface has none
	tx       pgx.Tx
	database string
}

// Exec omits a statement whose effect exists: a tool without transactions was interrupted. It drops CONCURRENTLY,
// which a transaction refuses.
func (db *schemaTx) Exec(stmt string, args ...any) error {
	stmt = strings.Replace(stmt, "CREATE INDEX CONCURRENTLY", "CREATE INDEX", 1)
	err := pgx.BeginFunc(db.ctx, db.tx, func(tx pgx.Tx) error {
		_, err := tx.Exec(db.ctx, stmt, args...)
		return err
	})
	if isDone(stmt, err) {
		return nil
	}
	return err
}

func isDone(stmt string, err error) bool {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return false
	}
	// It exists: a table or index, a column, a function, another object, a row.
	if slices.Contains([]string{"42P07", "42701", "42723", "42710", "23505"}, pgErr.Code) {
		return true
	}
	// A DROP does not find it: a table, a column, another object.
	return strings.Contains(stmt, "DROP") && slices.Contains([]string{codeNoTable, "42703", "42704"}, pgErr.Code)
}

// CreateSchemaVersionTables creates the two tables with the version.
func (db *schemaTx) CreateSchemaVersionTables() error {
	return errors.Join(
		db.Exec(`CREATE TABLE IF NOT EXISTS schema_version (
			version_partition INT NOT NULL, db_name VARCHAR(255) NOT NULL, creation_time TIMESTAMP,
			curr_version VARCHAR(64), min_compatible_version VARCHAR(64),
			PRIMARY KEY (version_partition, db_name))`),
		db.Exec(`CREATE TABLE IF NOT EXISTS schema_update_history (
			version_partition INT NOT NULL, year INT NOT NULL, month INT NOT NULL, update_time TIMESTAMP NOT NULL,
			description VARCHAR(255), manifest_md5 VARCHAR(64), new_version VARCHAR(64), old_version VARCHAR(64),
			PRIMARY KEY (version_partition, year, month, update_time))`))
}

// ReadSchemaVersion fails with codeNoTable or [pgx.ErrNoRows] where there is no version.
func (db *schemaTx) ReadSchemaVersion() (string, error) {
	var version string
	err := pgx.BeginFunc(db.ctx, db.tx, func(tx pgx.Tx) error {
		return tx.QueryRow(db.ctx, "SELECT curr_version FROM schema_version WHERE version_partition = 0 AND db_name = $1", db.database).Scan(&version)
	})
	return version, err
}

// recordedAs is the original name of a database that was renamed or restored from a copy.
func (db *schemaTx) recordedAs() (string, error) {
	var name string
	err := pgx.BeginFunc(db.ctx, db.tx, func(tx pgx.Tx) error {
		return tx.QueryRow(db.ctx, "SELECT db_name FROM schema_version ORDER BY creation_time DESC LIMIT 1").Scan(&name)
	})
	if hasCode(err, codeNoTable) || errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return name, err
}

func (db *schemaTx) tables() ([]string, error) {
	rows, err := db.tx.Query(db.ctx, `SELECT table_name::text FROM information_schema.tables
		WHERE table_schema = 'public' AND table_name NOT IN ('schema_version', 'schema_update_history')`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// UpdateSchemaVersion records the version.
func (db *schemaTx) UpdateSchemaVersion(version, minCompatible string) error {
	_, err := db.tx.Exec(db.ctx, `INSERT INTO schema_version
		(version_partition, db_name, creation_time, curr_version, min_compatible_version) VALUES (0, $1, $2, $3, $4)
		ON CONFLICT (version_partition, db_name) DO UPDATE SET creation_time = excluded.creation_time,
		curr_version = excluded.curr_version, min_compatible_version = excluded.min_compatible_version`,
		db.database, time.Now().UTC(), version, minCompatible)
	return err
}

// WriteSchemaUpdateLog records one step.
func (db *schemaTx) WriteSchemaUpdateLog(from, to, manifestMD5, description string) error {
	now := time.Now().UTC()
	_, err := db.tx.Exec(db.ctx, `INSERT INTO schema_update_history
		(version_partition, year, month, update_time, old_version, new_version, manifest_md5, description)
		VALUES (0, $1, $2, $3, $4, $5, $6, $7)`,
		now.Year(), int(now.Month()), now, from, to, manifestMD5, description)
	return err
}

// DropAllTables is refused: no migration drops existing tables.
func (db *schemaTx) DropAllTables() error { return errors.ErrUnsupported }

// Close does nothing: the session belongs to the migration.
func (db *schemaTx) Close() {}

// Type is the kind of the database.
func (db *schemaTx) Type() string { return "sql" }
