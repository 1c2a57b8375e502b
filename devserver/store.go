package devserver

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"
)

// retention is how long a closed workflow can still be looked at. Temporal's
// own default for a new namespace; `temporal operator namespace update
// --retention` changes it, and it stays changed.
const retention = 72 * time.Hour

// store is a prepared place for the server's state: reachable, with the right
// schema, and locked where two servers could meet.
type store struct {
	// kind is one of the Store constants.
	kind string
	// persistence is the part of the server's configuration that names it.
	persistence config.Persistence
	// lost delivers an error when the store stops being ours while the server
	// runs; nil when that cannot happen.
	lost <-chan error
	// close releases the resources of prepareStore. It is safe to call once the server has stopped, never before.
	close func() error
}

// prepareStore opens, checks and, when it is new, creates the store.
func prepareStore(ctx context.Context, o Options, logger log.Logger) (store, error) {
	switch {
	case o.DBFilename != "":
		return prepareSQLite(ctx, o.DBFilename)
	case o.Postgres != "":
		return preparePostgres(ctx, o.Postgres, logger)
	default:
		return memoryStore(), nil
	}
}

// createNamespace writes the namespace into the store before the server starts. A registration over gRPC would work as
// well, but the server would need up to ten seconds to notice it. A repetition changes nothing. The function also serves
// PostgreSQL, despite the name of its package.
func createNamespace(s store, namespace string) error {
	ns, err := sqliteschema.NewNamespaceConfig(clusterName, namespace, false, searchAttributes())
	if err != nil {
		return fmt.Errorf("describe namespace %s: %w", namespace, err)
	}
	ns.Detail.Config.Retention = durationpb.New(retention)
	sql := s.persistence.DataStores[s.persistence.DefaultStore].SQL
	if err := sqliteschema.CreateNamespaces(sql, ns); err != nil {
		return fmt.Errorf("create namespace %s: %w", namespace, err)
	}
	return nil
}
