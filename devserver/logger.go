package devserver

import (
	"io"
	"strings"
	"time"

	"go.temporal.io/server/common/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger writes the server's log as JSON lines to w.
func newLogger(level zapcore.LevelEnabler, w io.Writer) log.Logger {
	core := zapcore.NewCore(
		zapcore.NewJSONEncoder(log.DefaultZapEncoderConfig),
		zapcore.Lock(zapcore.AddSync(w)),
		level,
	)
	return log.NewZapLogger(zap.New(expectedFilter{core, time.Now()}))
}

// expectedFilter drops warnings about deliberate choices, and at first those of services that wait for another one to start.
type expectedFilter struct {
	zapcore.Core
	begun time.Time
}

// The errors of calls to a frontend that is still starting, and of queues that read before their shard has started.
const (
	frontendStarts = "Frontend is not healthy yet"
	shardStarts    = "shard status unknown"
	startsWithin   = time.Minute
)

// With keeps the filter around the derived core.
func (f expectedFilter) With(fields []zapcore.Field) zapcore.Core {
	return expectedFilter{f.Core.With(fields), f.begun}
}

// Check implements zapcore.Core.
func (f expectedFilter) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	// The HTTP API would be one more port, and nothing here uses it.
	if strings.HasPrefix(entry.Message, "HTTP API port has not been set") || !f.Enabled(entry.Level) {
		return checked
	}
	return checked.AddCore(entry, f)
}

// Write implements zapcore.Core.
func (f expectedFilter) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	for _, field := range fields {
		text := field.String
		if err, is := field.Interface.(error); is {
			text = err.Error()
		}
		if entry.Time.Sub(f.begun) < startsWithin && (strings.Contains(text, frontendStarts) || strings.Contains(text, shardStarts)) {
			return nil
		}
	}
	return f.Core.Write(entry, fields)
}
