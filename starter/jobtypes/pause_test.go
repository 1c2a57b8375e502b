package jobtypes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPauseTextTellsWho(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ note, by, text, read, readBy string }{
		{"new disks", "ann", "new disks (paused by ann at 2026-03-01T12:00:00Z)", "new disks", "ann"},
		{" until (maybe) Monday ", "ann@host", "until (maybe) Monday (paused by ann@host at 2026-03-01T12:00:00Z)", "until (maybe) Monday", "ann@host"},
		{"", "ann", "paused by ann at 2026-03-01T12:00:00Z", "", "ann"},
	} {
		text := pauseText(c.note, c.by, at)
		assert.Equal(t, c.text, text)
		note, by, read := readPause(text)
		assert.Equal(t, []string{c.read, c.readBy}, []string{note, by})
		assert.Equal(t, at, read)
	}
	for _, foreign := range []string{"by hand", "paused by", "was paused by ann)"} {
		note, by, read := readPause(foreign)
		assert.Equal(t, foreign, note)
		assert.Empty(t, by)
		assert.Zero(t, read)
	}
	note, by, _ := readPause("paused by ann")
	assert.Equal(t, []string{"", "ann"}, []string{note, by})
}
