package devserver

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.temporal.io/server/common/log/tag"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// TestExpectedWarningsAreDropped: a frontend or shard that is still starting is no fault, other
// errors of the same calls are.
func TestExpectedWarningsAreDropped(t *testing.T) {
	t.Parallel()
	var written strings.Builder
	logger := newLogger(zapcore.WarnLevel, &written)
	logger.Warn("HTTP API port has not been set, so it is off")
	logger.Error("service failures", tag.Error(errors.New("Frontend is not healthy yet")))
	logger.Warn("error creating sdk client", tag.Error(errors.New("failed reaching server: Frontend is not healthy yet")))
	logger.Error("Queue reader unable to retrieve tasks", tag.Error(errors.New("shard status unknown")))
	logger.Info("below the level")
	assert.Empty(t, written.String())

	logger.Error("service failures", tag.Error(errors.New("database is locked")))
	assert.Contains(t, written.String(), "database is locked")
}

// TestALostShardIsLogged: the server has started long ago.
func TestALostShardIsLogged(t *testing.T) {
	t.Parallel()
	core, logged := observer.New(zapcore.WarnLevel)
	zap.New(expectedFilter{core, time.Now().Add(-startsWithin)}).Error("Queue reader unable to retrieve tasks", zap.Error(errors.New("shard status unknown")))
	assert.Equal(t, 1, logged.Len())
}
