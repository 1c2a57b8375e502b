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

// retention is Temporal's default for a new namespace; `temporal operator namespace update --retention` changes it.
const retention = 72 * time.Hour

type store struct {
	// kind is one of the Store constants.
	kind        string
	persistence config.Persistence
	// lost delivers an error when another server takes the store; nil when that cannot happen.
	lost <-chan error
	// close releases the resources of prepareStore. It is safe to call once the server has stopped, never before.
	close func() error
}

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

// createNamespace also serves PostgreSQL. A registration over gRPC would need up to ten seconds to be noticed. A
// repetition changes nothing.
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
