package explain_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/engine/explain"
)

func TestRebootText(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]explain.Reboot{
		"FREE: nothing runs there":                                             {Code: "FREE", Worker: "a", Reported: true},
		"DRAIN_FIRST: 1 job runs there: `roundsman drain a`":                   {Code: "DRAIN_FIRST", Worker: "a", Reported: true, Running: 1},
		"DRAINING: 1 job runs there; it takes no new work":                     {Code: "DRAINING", Worker: "a", Reported: true, Running: 1, Draining: true},
		"WORK_WAITS: 1 job runs there, only it serves x; it takes no new work": {Code: "WORK_WAITS", Worker: "a", Reported: true, Running: 1, Draining: true, Alone: []string{"x"}},
		"WORK_WAITS: nothing runs there, only it serves x, y":                  {Code: "WORK_WAITS", Worker: "a", Reported: true, Alone: []string{"x", "y"}},
		"NOT_KNOWN: its process sends no report":                               {Code: "NOT_KNOWN", Worker: "a"},
		"NOT_KNOWN: its process sends no report, 3 jobs run there, 1 lost attempt may still run, only it serves x, y, z and 2 more": {Code: "NOT_KNOWN", Worker: "a", Running: 3, Lost: 1, Alone: []string{"x", "y", "z", "v", "w"}},
		"NOT_KNOWN: its process sends no report, not all runs were searched":                                                        {Code: "NOT_KNOWN", Worker: "a", Unsearched: true},
	} {
		assert.Equal(t, want, r.Text())
		assert.Equal(t, want, r.Code+": "+r.Why())
	}
}
