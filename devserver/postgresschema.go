package devserver

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/server/common/log"
	schematool "go.temporal.io/server/tools/common/schema"
	sqltool "go.temporal.io/server/tools/sql"
)

// schemaDir is where the server's embedded PostgreSQL schemas are.
const schemaDir = "postgresql/v12/"

// ensurePostgresSchema sets up or upgrades both databases. Every step records
// itself, so an interrupted run is continued by the next start.
func ensurePostgresSchema(d dsn, logger log.Logger) error {
	for database, part := range map[string]string{
		d.database:                    "temporal",
		d.database + visibilitySuffix: "visibility",
	} {
		if err := migrate(d, database, schemaDir+part, logger); err != nil {
			return fmt.Errorf("schema of database %s: %w", d.redacted(database), err)
		}
	}
	return nil
}

func migrate(d dsn, database, schemaName string, logger log.Logger) error {
	db, err := sqltool.NewConnection(postgresConfig(d, database), logger)
	if err != nil {
		return err
	}
	defer db.Close()
	tables, err := db.ListTables()
	if err != nil {
		return err
	}
	if err := setupVersioning(db, tables, logger); err != nil {
		return err
	}
	task := schematool.NewUpdateSchemaTask(db, &schematool.UpdateConfig{DBName: database, SchemaName: schemaName}, logger)
	return task.Run()
}

// setupVersioning starts a new database at version 0.0. It refuses one that
// holds anything else.
func setupVersioning(db *sqltool.Connection, tables []string, logger log.Logger) error {
	if _, err := db.ReadSchemaVersion(); err == nil {
		return nil
	}
	versioning := []string{"schema_version", "schema_update_history"}
	foreign := slices.DeleteFunc(slices.Clone(tables), func(table string) bool {
		return slices.Contains(versioning, table)
	})
	if len(foreign) > 0 {
		return fmt.Errorf("it holds tables of another application (%s) and was left as it is: choose an empty or a new database",
			strings.Join(shorten(foreign), ", "))
	}
	return schematool.NewSetupSchemaTask(db, &schematool.SetupConfig{InitialVersion: "0.0"}, logger).Run()
}

// shorten sorts names and keeps the first few, for messages.
func shorten(names []string) []string {
	const enough = 3
	slices.Sort(names)
	if len(names) > enough {
		return append(names[:enough:enough], fmt.Sprintf("and %d more", len(names)-enough))
	}
	return names
}
