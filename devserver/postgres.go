package devserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/iancoleman/strcase"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jmoiron/sqlx"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql/driver"
)

const (
	postgresReach = 5 * time.Second
	// visibilitySuffix is appended to the name of the database for the second one, which serves lists and queries.
	visibilitySuffix = "_visibility"
	// postgresShards is fixed when the database is set up. Four keep one busy workflow from delaying all others.
	postgresShards = 4
	// Eight pools (four services, two databases) fit PostgreSQL's usual limit of 100.
	postgresMaxConns = 10
)

const (
	codeNoDatabase   = "3D000"
	codeDuplicate    = "42P04"
	codeNoPermission = "42501"
)

func preparePostgres(ctx context.Context, text string, logger log.Logger) (store, error) {
	dsn, err := parseDSN(text)
	if err != nil {
		return store{}, err
	}
	for _, database := range []string{dsn.database, dsn.database + visibilitySuffix} {
		if err := ensureDatabase(ctx, dsn, database); err != nil {
			return store{}, err
		}
	}
	guard, err := acquireGuard(ctx, dsn, logger)
	if err != nil {
		return store{}, err
	}
	err = refuseLiveCluster(ctx, guard.conn, dsn)
	if err == nil {
		err = ensurePostgresSchema(ctx, dsn, logger)
	}
	if err != nil {
		return store{}, errors.Join(err, guard.release())
	}
	guard.watch()
	return store{
		kind:        StorePostgres,
		persistence: postgresPersistence(dsn),
		lost:        guard.lost,
		close:       guard.release,
	}, nil
}

func postgresPersistence(d dsn) config.Persistence {
	const executions, visibility = "postgres", "postgres-visibility"
	return config.Persistence{
		DefaultStore:     executions,
		VisibilityStore:  visibility,
		NumHistoryShards: postgresShards,
		DataStores: map[string]config.DataStore{
			executions: {SQL: postgresConfig(d, d.database)},
			visibility: {SQL: postgresConfig(d, d.database+visibilitySuffix)},
		},
	}
}

// postgresConfig uses the DSN itself rather than its parts, so that every DSN works (sockets, TLS, several hosts).
func postgresConfig(d dsn, database string) *config.SQL {
	return &config.SQL{
		PluginName:   postgresql.PluginNamePGX,
		DatabaseName: database,
		Connect: func(cfg *config.SQL) (*sqlx.DB, error) {
			db, err := (&driver.PGXDriver{}).CreateConnection(d.connString(cfg.DatabaseName))
			if err != nil {
				return nil, err
			}
			db.SetMaxOpenConns(postgresMaxConns)
			db.SetMaxIdleConns(postgresMaxConns)
			db.SetConnMaxLifetime(time.Hour)
			// The server's row types carry no tags: columns are their field names.
			db.MapperFunc(strcase.ToSnake)
			return db, nil
		},
	}
}

func connect(ctx context.Context, d dsn, database string) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, postgresReach)
	defer cancel()
	return pgx.Connect(ctx, d.connString(database))
}

func ensureDatabase(ctx context.Context, d dsn, database string) error {
	conn, err := connect(ctx, d, database)
	if err == nil {
		return conn.Close(ctx)
	}
	if !hasCode(err, codeNoDatabase) {
		return fmt.Errorf("cannot connect to PostgreSQL at %s: %w; check that it runs, and host, port, user and password", d.redacted(database), err)
	}
	if err := createDatabase(ctx, d, database); err != nil {
		return fmt.Errorf("database %s does not exist on %s and cannot be created: %w; "+
			`let an administrator run: CREATE DATABASE "%s" OWNER "%s"`,
			database, d.redacted(database), err, database, d.user)
	}
	return nil
}

func createDatabase(ctx context.Context, d dsn, database string) error {
	conn, err := connect(ctx, d, "postgres")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{database}.Sanitize())
	if hasCode(err, codeDuplicate) {
		// Somebody else was faster; that is as good.
		return nil
	}
	return err
}

// refuseLiveCluster keeps away from the database of a running Temporal cluster, which records a heartbeat every few
// seconds; this server records none.
func refuseLiveCluster(ctx context.Context, conn *pgx.Conn, d dsn) error {
	var known bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass('cluster_membership') IS NOT NULL").Scan(&known); err != nil {
		return fmt.Errorf("inspect database %s: %w", d.database, err)
	}
	if !known {
		return nil
	}
	rows, err := conn.Query(ctx, `SELECT DISTINCT rpc_address || ':' || rpc_port FROM cluster_membership
		WHERE last_heartbeat > (now() AT TIME ZONE 'utc') - interval '1 minute' ORDER BY 1`)
	if err != nil {
		return fmt.Errorf("inspect database %s: %w", d.database, err)
	}
	hosts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("inspect database %s: %w", d.database, err)
	}
	if len(hosts) > 0 {
		return fmt.Errorf("database %s belongs to a running Temporal cluster (%s): point clients at that cluster, or choose another database",
			d.redacted(d.database), strings.Join(hosts, ", "))
	}
	return nil
}

func hasCode(err error, code string) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == code
}
