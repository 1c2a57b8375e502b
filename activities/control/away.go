package control

import (
	"context"
	"time"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// ServerAway is [contract.ServerAwayActivity]: the view of this process.
func (*Control) ServerAway(_ context.Context, within time.Duration) (bool, error) {
	return time.Since(rpc.Server.Last()) < within, nil
}
