package devserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/server/common/log"
	schematool "go.temporal.io/server/tools/common/schema"
)

const (
	schemaDir = "postgresql/v12/"
	// codeNoTable is SQLSTATE undefined_table.
	codeNoTable = "42P01"
)

// Each database has one transaction: a start that is killed leaves nothing half-made.
func ensurePostgresSchema(ctx context.Context, d dsn, logger log.Logger) error {
	for database, part := range map[string]string{
		d.database:                    "temporal",
		d.database + visibilitySuffix: "visibility",
	} {
		if err := migrate(ctx, d, database, schemaDir+part, logger); err != nil {
			return fmt.Errorf("schema of database %s: %w", d.redacted(database), err)
		}
	}
	return nil
}

func migrate(ctx context.Context, d dsn, database, schemaName string, logger log.Logger) error {
	conn, err := connect(ctx, d, database)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	db := &schemaTx{ctx: ctx, tx: tx, database: database}
	if err := setupVersioning(db, logger); err != nil {
		return err
	}
	task := schematool.NewUpdateSchemaTask(db, &schematool.UpdateConfig{DBName: database, SchemaName: schemaName}, logger)
	if err := task.Run(); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// setupVersioning refuses a new database that holds anything else.
func setupVersioning(db *schemaTx, logger log.Logger) error {
	_, err := db.ReadSchemaVersion()
	if err == nil {
		return nil
	}
	if !hasCode(err, codeNoTable) && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("read its version: %w", err)
	}
	foreign, err := db.tables()
	if err != nil {
		return fmt.Errorf("list its tables: %w", err)
	}
	switch recorded, err := db.recordedAs(); {
	case err != nil:
		return fmt.Errorf("read its version: %w", err)
	case recorded != "":
		return fmt.Errorf("it was set up under the name %s and was left as it is: give the database that name again", recorded)
	case len(foreign) > 0:
		return fmt.Errorf("it holds tables of another application (%s) and was left as it is: choose an empty or a new database",
			strings.Join(shorten(foreign), ", "))
	}
	return schematool.NewSetupSchemaTask(db, &schematool.SetupConfig{InitialVersion: "0.0"}, logger).Run()
}

func shorten(names []string) []string {
	const enough = 3
	slices.Sort(names)
	if len(names) > enough {
		return append(names[:enough:enough], fmt.Sprintf("and %d more", len(names)-enough))
	}
	return names
}
