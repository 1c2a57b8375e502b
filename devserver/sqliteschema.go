package devserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"time"

	"go.temporal.io/server/schema"
	sqliteversion "go.temporal.io/server/schema/sqlite"
)

// A large database must not delay the start. A check that does not finish in time has found nothing.
const quickCheckBudget = time.Second

// ensureSQLiteSchema refuses every file without exactly the schema of the embedded server: SQLite schemas cannot be
// upgraded in place, and a server on the wrong one fails much later.
func ensureSQLiteSchema(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && info.Mode().IsRegular() && info.Size() == 0) {
		return createSQLiteSchema(ctx, path)
	}
	if err != nil {
		return fmt.Errorf("database %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("database %s: is not a regular file; choose another --db-filename", path)
	}
	return checkSQLiteFile(ctx, path)
}

// One transaction: a crash halfway leaves an empty database, which the next start treats as new. Only the owner may
// read the files: they have all data of workflows.
func createSQLiteSchema(ctx context.Context, path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return fmt.Errorf("database %s: %w", path, err)
	}
	err = withSQLite(ctx, sqliteFileDSN(path), func(conn *sql.Conn) error {
		return setupSQLiteSchema(ctx, conn)
	})
	if err != nil {
		return fmt.Errorf("database %s: create schema: %w", path, err)
	}
	return nil
}

func setupSQLiteSchema(ctx context.Context, conn *sql.Conn) error {
	ddl := "BEGIN;\n"
	for _, part := range []string{"temporal", "visibility"} {
		text, err := fs.ReadFile(schema.Assets(), "sqlite/v3/"+part+"/schema.sql")
		if err != nil {
			return fmt.Errorf("read embedded schema: %w", err)
		}
		ddl += string(text) + "\n"
	}
	_, err := conn.ExecContext(ctx, ddl+"COMMIT;")
	return err
}

func checkSQLiteFile(ctx context.Context, path string) error {
	want, err := expectedSchema(ctx)
	if err != nil {
		return err
	}
	var got map[string]string
	err = withSQLite(ctx, sqliteFileDSN(path), func(conn *sql.Conn) error {
		if got, err = readSchema(ctx, conn); err != nil {
			return err
		}
		return quickCheck(ctx, conn)
	})
	if err != nil {
		return fmt.Errorf("database %s cannot be used: %w; the file was left as it is: restore it from a copy, or choose another --db-filename", path, err)
	}
	if len(got) == 0 {
		return createSQLiteSchema(ctx, path)
	}
	return compareSchemas(path, want, got)
}

func expectedSchema(ctx context.Context) (map[string]string, error) {
	var want map[string]string
	err := withSQLite(ctx, ":memory:", func(conn *sql.Conn) error {
		if err := setupSQLiteSchema(ctx, conn); err != nil {
			return err
		}
		var err error
		want, err = readSchema(ctx, conn)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("build the expected schema: %w", err)
	}
	return want, nil
}

func readSchema(ctx context.Context, conn *sql.Conn) (map[string]string, error) {
	rows, err := conn.QueryContext(ctx, "SELECT type || ' ' || name, COALESCE(sql, '') FROM sqlite_master")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	objects := map[string]string{}
	for rows.Next() {
		var name, ddl string
		if err := rows.Scan(&name, &ddl); err != nil {
			return nil, err
		}
		objects[name] = ddl
	}
	return objects, rows.Err()
}

func quickCheck(ctx context.Context, conn *sql.Conn) error {
	checkCtx, cancel := context.WithTimeout(ctx, quickCheckBudget)
	defer cancel()
	var verdict string
	err := conn.QueryRowContext(checkCtx, "PRAGMA quick_check(1)").Scan(&verdict)
	if checkCtx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("it is damaged (%s)", verdict)
	}
	return nil
}

func compareSchemas(path string, want, got map[string]string) error {
	if maps.Equal(want, got) {
		return nil
	}
	if _, ours := got["table executions_visibility"]; !ours {
		return fmt.Errorf("database %s was not made by this server (it holds no Temporal tables); the file was left as it is: choose another --db-filename", path)
	}
	return fmt.Errorf("database %s was made by a Temporal server with another schema than this one's %s (differing: %s); "+
		"SQLite files cannot be upgraded in place and this one was left as it is: "+
		"finish its workflows with the server that made it, or choose another --db-filename, or --postgres, which is upgraded",
		path, sqliteversion.Version, differences(want, got))
}

func differences(want, got map[string]string) string {
	var names []string
	for name, ddl := range want {
		if got[name] != ddl {
			names = append(names, name)
		}
	}
	for name := range got {
		if _, known := want[name]; !known {
			names = append(names, name)
		}
	}
	return strings.Join(shorten(names), ", ")
}

// After a clean stop the one file is complete and can be copied.
func checkpoint(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err := withSQLite(ctx, sqliteFileDSN(path), func(conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
		return err
	})
	if err != nil {
		return fmt.Errorf("database %s: checkpoint: %w", path, err)
	}
	return nil
}

func sqliteFileDSN(path string) string { return "file:" + escapeSQLitePath(path) + "?mode=rwc" }

// withSQLite uses the driver that the server's SQLite plugin registers.
func withSQLite(ctx context.Context, dsn string, fn func(*sql.Conn) error) (err error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return fn(conn)
}
