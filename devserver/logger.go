package devserver

import (
	"io"
	"strings"

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
	return log.NewZapLogger(zap.New(expectedFilter{core}))
}

// expectedFilter drops warnings about choices that were made on purpose.
type expectedFilter struct{ zapcore.Core }

// With keeps the filter around the derived core.
func (f expectedFilter) With(fields []zapcore.Field) zapcore.Core {
	return expectedFilter{f.Core.With(fields)}
}

// Check implements zapcore.Core.
func (f expectedFilter) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	// The HTTP API would be one more port, and nothing here uses it.
	if strings.HasPrefix(entry.Message, "HTTP API port has not been set") {
		return checked
	}
	return f.Core.Check(entry, checked)
}
