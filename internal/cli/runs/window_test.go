package runs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

func TestWindowStates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 5, 12, 0, 0, 0, time.UTC)
	for want, view := range map[string]*jobtypes.WindowView{
		"-":                             nil,
		"open":                          {Open: true},
		"open, closes in 2h":            {Open: true, Until: now.Add(2 * time.Hour)},
		"closed":                        {},
		"closed, opens in 8h30m":        {Until: now.Add(8*time.Hour + 30*time.Minute)},
		"FAULT: no such zone":           {Fault: "no such zone"},
		"FAULT: it cannot be worked on": {Fault: "it cannot be worked on", Open: true},
	} {
		assert.Equal(t, want, WindowState(view, now).Text)
	}
	assert.Equal(t, "2 checkpoints could not be kept, their jobs begin again: a, b", droppedText(contract.DroppedCheckpoints{Count: 2, Keys: []string{"a", "b"}}))
	assert.Equal(t, "1 checkpoint could not be kept, their jobs begin again", droppedText(contract.DroppedCheckpoints{Count: 1}))
}
