package devserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// guardKey is the key of the advisory lock ("roundsmn"), which is per database.
const guardKey = int64(0x726f756e64736d6e)

// guard keeps a second server away from the same PostgreSQL database: they would take each other's shards for ever.
// PostgreSQL frees its session's lock when the process or its host dies.
type guard struct {
	dsn    dsn
	logger log.Logger
	conn   *pgx.Conn
	lost   chan error
	// cancel ends watch, done is closed when it has ended. Both are nil before.
	cancel context.CancelFunc
	done   chan struct{}
}

// acquireGuard waits up to lockWait for a predecessor that is going away.
func acquireGuard(ctx context.Context, d dsn, logger log.Logger) (*guard, error) {
	g := &guard{dsn: d, logger: logger, lost: make(chan error, 1)}
	return g, g.acquire(ctx)
}

func (g *guard) acquire(ctx context.Context) error {
	conn, err := connect(ctx, g.dsn, g.dsn.database)
	if err != nil {
		return fmt.Errorf("cannot connect to PostgreSQL at %s: %w", g.dsn.redacted(g.dsn.database), err)
	}
	if err := lockSession(ctx, conn); err != nil {
		if errors.Is(err, errLocked) {
			err = fmt.Errorf("database %s is %w by %s (waited %s): stop that server, or choose another database",
				g.dsn.redacted(g.dsn.database), err, guardHolder(ctx, conn), lockWait)
		}
		return errors.Join(err, conn.Close(ctx))
	}
	g.conn = conn
	return nil
}

func lockSession(ctx context.Context, conn *pgx.Conn) error {
	waitCtx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		var locked bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", guardKey).Scan(&locked); err != nil {
			return fmt.Errorf("lock the database: %w", err)
		}
		if locked {
			return nil
		}
		select {
		case <-waitCtx.Done():
			return errors.Join(ctx.Err(), errLocked)
		case <-tick.C:
		}
	}
}

func guardHolder(ctx context.Context, conn *pgx.Conn) string {
	const query = `SELECT coalesce(nullif(a.application_name, ''), 'backend ' || a.pid)
		FROM pg_locks l JOIN pg_stat_activity a USING (pid)
		WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
		AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND (l.classid::bigint << 32) | l.objid::bigint = $1`
	var holder string
	if err := conn.QueryRow(ctx, query, guardKey).Scan(&holder); err != nil {
		return "another server"
	}
	return holder
}

// watch locks again when the session ends (a restart of PostgreSQL, a broken network), unless another was faster.
func (g *guard) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel, g.done = cancel, make(chan struct{})
	go func() {
		defer close(g.done)
		for ctx.Err() == nil {
			// The channel has no sender: the call returns when the connection or ctx ends.
			_, err := g.conn.WaitForNotification(ctx)
			if ctx.Err() != nil || err == nil {
				continue
			}
			g.logger.Warn("lost the lock on the database, locking again", tag.Error(err))
			_ = g.conn.Close(ctx)
			if err := g.reacquire(ctx); err != nil && ctx.Err() == nil {
				g.lost <- err
				return
			}
		}
	}()
}

func (g *guard) reacquire(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		err := g.acquire(ctx)
		if err == nil || errors.Is(err, errLocked) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (g *guard) release() error {
	if g.cancel != nil {
		g.cancel()
		<-g.done
	}
	ctx, cancel := context.WithTimeout(context.Background(), postgresReach)
	defer cancel()
	// A session that is already gone has released its lock.
	_ = g.conn.Close(ctx)
	return nil
}
