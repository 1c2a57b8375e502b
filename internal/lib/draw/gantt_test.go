package draw

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGantt(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time {
		return time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
	}
	var out strings.Builder
	err := Gantt(&out, "nightly <x>", []Bar{
		{ID: "second", State: "running", Ready: at(30), Began: at(60)},
		{ID: "first", State: "completed", Ready: at(0), Began: at(0), Ended: at(30), Note: "a & b"},
		{ID: "never", State: "upstream_failed"},
	}, at(120))
	require.NoError(t, err)
	svg := out.String()
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err, svg)
	}
	assert.Less(t, strings.Index(svg, ">first<"), strings.Index(svg, ">second<"), "in the order in which they began")
	assert.Contains(t, svg, `width="180.0" height="18.0"`, "a quarter of the time is a quarter of the width")
	assert.Contains(t, svg, `width="360.0" height="18.0"`, "what runs continues until now")
	assert.Contains(t, svg, "and 1 that never began")
	assert.Contains(t, svg, "a &amp; b")
	assert.NotContains(t, svg, ">never<")

	err = Gantt(&out, "x", make([]Bar, 3), at(0))
	require.NoError(t, err, "none has begun")
	many := make([]Bar, maxBoxes+1)
	for i := range many {
		many[i].Began = at(i)
	}
	err = Gantt(&out, "x", many, at(0))
	require.ErrorContains(t, err, "more than a chart shows")
	assert.ErrorContains(t, err, "`roundsman show RUN/TASK -o gantt`", "the next step")
}
