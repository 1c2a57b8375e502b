package devserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
)

const lockSuffix = ".lock"

// A random name: the driver shares a database of one name between all servers of a process.
func memoryStore() store {
	return store{
		kind: StoreMemory,
		persistence: sqlitePersistence(&config.SQL{
			DatabaseName:      "roundsman-" + rand.Text(),
			ConnectAttributes: map[string]string{"mode": "memory", "cache": "shared"},
		}),
		close: func() error { return nil },
	}
}

// An existing file is never altered before it has been recognised.
func prepareSQLite(ctx context.Context, name string) (store, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return store{}, fmt.Errorf("database %s: %w", name, err)
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return store{}, fmt.Errorf("database %s: %w; create the directory first", path, err)
	}
	lock, err := acquireLock(ctx, path+lockSuffix)
	if err != nil {
		return store{}, err
	}
	if err := ensureSQLiteSchema(ctx, path); err != nil {
		return store{}, errors.Join(err, lock.release())
	}
	return store{
		kind:        StoreSQLite,
		persistence: sqlitePersistence(fileConfig(path)),
		close:       func() error { return errors.Join(checkpoint(path), lock.release()) },
	}, nil
}

// In WAL mode readers do not wait for the writer. synchronous=1 syncs at checkpoints only: a killed process loses
// nothing, a power cut may lose the last transactions but never the file's integrity.
func fileConfig(path string) *config.SQL {
	return &config.SQL{
		DatabaseName: escapeSQLitePath(path),
		ConnectAttributes: map[string]string{
			"mode": "rwc", "journal_mode": "wal", "synchronous": "1",
		},
	}
}

func escapeSQLitePath(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
}

// One shard suffices: SQLite has one writer anyway.
func sqlitePersistence(sql *config.SQL) config.Persistence {
	sql.PluginName = sqlite.PluginName
	return config.Persistence{
		DefaultStore:     sqlite.PluginName,
		VisibilityStore:  sqlite.PluginName,
		NumHistoryShards: 1,
		DataStores:       map[string]config.DataStore{sqlite.PluginName: {SQL: sql}},
	}
}
