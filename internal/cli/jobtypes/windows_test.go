package jobtypes

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

func TestWhatIsLearnedIsShown(t *testing.T) {
	t.Parallel()
	for want, learned := range map[string]jobtypes.Learned{
		"":                                  {},
		"12 runs known":                     {Of: 12},
		"learned p95 of 34 runs: 12m":       {Of: 34, P95: jobtype.Duration(12 * time.Minute)},
		"2 stopped jobs in the next run: a": {Checkpoints: []string{"a", "b"}},
	} {
		shown := &ui.Fields{}
		addLearned(shown, learned)
		var text strings.Builder
		shown.Write(&text, false)
		assert.Contains(t, text.String(), want)
	}
}
