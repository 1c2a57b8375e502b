package draw

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
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

// word is a text of a picture: its baseline, and its first and last column in pixels.
type word struct {
	text            string
	y, begins, ends float64
}

// placesOf returns the texts of a picture, and all x and y of its elements.
func placesOf(t require.TestingT, svg string) (words []word, xs, ys []float64) {
	decoder := xml.NewDecoder(strings.NewReader(svg))
	var at map[string]string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return words, xs, ys
		}
		require.NoError(t, err)
		switch v := token.(type) {
		case xml.StartElement:
			at = map[string]string{}
			for _, attr := range v.Attr {
				at[attr.Name.Local] = attr.Value
				number, err := strconv.ParseFloat(attr.Value, 64)
				if strings.HasPrefix(attr.Name.Local, "x") && err == nil {
					xs = append(xs, number)
				}
				if strings.HasPrefix(attr.Name.Local, "y") && err == nil {
					ys = append(ys, number)
				}
			}
			if v.Name.Local != "text" {
				at = nil
			}
		case xml.CharData:
			if at == nil {
				continue
			}
			x, _ := strconv.ParseFloat(at["x"], 64)
			y, _ := strconv.ParseFloat(at["y"], 64)
			width := float64(columns(string(v))) * columnSize
			if at["text-anchor"] == "middle" {
				x -= width / 2
			}
			words = append(words, word{string(v), y, x, x + width})
		case xml.EndElement:
			at = nil
		}
	}
}

// Whatever the times: no text covers another, and nothing is outside the picture.
func TestGanttProperty(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)
	rapid.Check(t, func(rt *rapid.T) {
		longest := rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, time.Hour, 90 * 24 * time.Hour}).Draw(rt, "longest")
		at := func(name string) time.Time {
			return start.Add(time.Duration(rapid.Int64Range(0, int64(longest)).Draw(rt, name)))
		}
		bars := make([]Bar, rapid.IntRange(0, 8).Draw(rt, "bars"))
		for i := range bars {
			bars[i] = Bar{ID: rapid.StringMatching(`[a-z日]{1,12}`).Draw(rt, "id"), State: "running"}
			if rapid.IntRange(0, 3).Draw(rt, "began") > 0 {
				bars[i].Began = at("begin")
			}
			if rapid.Bool().Draw(rt, "waited") {
				bars[i].Ready = at("ready")
			}
			if rapid.Bool().Draw(rt, "ended") && !bars[i].Began.IsZero() {
				bars[i].Ended = bars[i].Began.Add(at("length").Sub(start))
			}
		}
		var out strings.Builder
		heading := strings.Repeat("dag ", rapid.IntRange(0, 60).Draw(rt, "heading"))
		require.NoError(rt, Gantt(&out, heading, bars, at("now")))
		var width, height float64
		_, err := fmt.Sscanf(out.String(), `<svg xmlns="http://www.w3.org/2000/svg" width="%f" height="%f"`, &width, &height)
		require.NoError(rt, err)
		words, xs, ys := placesOf(rt, out.String())
		for _, x := range xs {
			require.True(rt, x >= 0 && x <= width, "x %f of %f", x, width)
		}
		for _, y := range ys {
			require.True(rt, y >= 0 && y <= height, "y %f of %f", y, height)
		}
		for i, a := range words {
			require.True(rt, a.begins >= 0 && a.ends <= width, "%q from %f to %f of %f", a.text, a.begins, a.ends, width)
			for _, b := range words[:i] {
				apart := max(b.begins-a.ends, a.begins-b.ends) >= 0 || math.Abs(a.y-b.y) >= fontSize
				require.True(rt, apart, "%q covers %q", a.text, b.text)
			}
		}
	})
}

// A label is a round time, close to its line.
func TestGanttLabels(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)
	for span, want := range map[time.Duration]string{
		time.Hour:                    "+0s +10m0s +20m0s +30m0s +40m0s +50m0s +1h0m0s",
		90 * 24 * time.Hour:          "+0s +360h0m0s +720h0m0s +1080h0m0s +1440h0m0s +1800h0m0s +2160h0m0s",
		3723456 * time.Millisecond:   "+0s +10m20s +20m40s +31m0s +41m20s +51m40s +1h2m0s",
		7 * time.Second:              "+0s +1.17s +2.33s +3.5s +4.67s +5.83s +7s",
		time.Millisecond:             "+0s +170µs +330µs +500µs +670µs +830µs +1ms",
		350 * time.Millisecond:       "+0s +58ms +117ms +175ms +233ms +292ms +350ms",
		11*time.Minute + time.Second: "+0s +1m50s +3m40s +5m31s +7m21s +9m11s +11m1s",
	} {
		var out strings.Builder
		require.NoError(t, Gantt(&out, "x", []Bar{{ID: "a", State: "completed", Began: start, Ended: start.Add(span)}}, start))
		words, _, _ := placesOf(t, out.String())
		var labels []string
		for _, w := range words {
			if strings.HasPrefix(w.text, "+") {
				labels = append(labels, w.text)
			}
		}
		assert.Equal(t, want, strings.Join(labels, " "), span)
	}
}
