package explain

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestADurationHasOneUnit(t *testing.T) {
	t.Parallel()
	for d, row := range map[time.Duration]struct{ span, setting string }{
		0:                                  {"0 ms", "0 h"},
		850 * time.Millisecond:             {"850 ms", "850 ms"},
		120*time.Second + time.Millisecond: {"120 s", "120001 ms"},
		90 * time.Second:                   {"90 s", "90 s"},
		121 * time.Second:                  {"2 min", "121 s"},
		2 * time.Hour:                      {"120 min", "2 h"},
		2*time.Hour + 30*time.Minute:       {"2 h", "150 min"},
		24 * time.Hour:                     {"24 h", "24 h"},
		72 * time.Hour:                     {"3 days", "3 days"},
		30*24*time.Hour + 5*time.Second:    {"30 days", "2592005 s"},
		47*time.Hour + 59*time.Minute:      {"47 h", "2879 min"},
		-time.Minute:                       {"-60 s", "-1 min"},
		math.MaxInt64:                      {"106751 days", "106751 days"},
		math.MinInt64:                      {"-106751 days", "-106751 days"},
	} {
		assert.Equal(t, row.span, Span(d), "%s", d)
		assert.Equal(t, row.setting, Setting(d), "%s", d)
	}
}
