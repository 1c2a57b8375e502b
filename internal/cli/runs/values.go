package runs

import (
	"math"
	"strconv"
	"strings"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/values"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) showValues(snapshot starter.Snapshot) {
	if len(snapshot.Values) > 0 {
		listed := ui.NewTable("KEY", "VALUE", "LAST", "CHANGE", "TREND")
		for _, t := range snapshot.Values {
			last := ui.Cell{Text: number(t.Last)}
			if !t.Current {
				last.Paint = ui.Faint
			}
			listed.Add(ui.Text(t.Key), ui.Text(t.Name), last, ui.Text(change(t)), ui.Text(trend(t.Points)))
		}
		c.Print("")
		c.PrintTable(listed, "")
	}
	if snapshot.ValuesDropped > 0 {
		c.Print("and %s without a trend: too many, or too long a key or name", ui.Plural(snapshot.ValuesDropped, "number"))
	}
}

// change is the change against the median of the runs before.
func change(t values.Trend) string {
	if t.Change == nil {
		return ""
	}
	const many = 1000
	if math.Abs(*t.Change) >= many {
		return strconv.FormatFloat(*t.Change, 'e', 1, 64) + "%"
	}
	return strconv.FormatFloat(*t.Change, 'f', 1, 64) + "%"
}

// number writes a number without an exponent where it is readable.
func number(value float64) string {
	const large, small = 1e15, 1e-4
	if size := math.Abs(value); size != 0 && (size >= large || size < small) {
		return strconv.FormatFloat(value, 'g', 6, 64)
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}

// trend draws the points between the smallest and the largest as bars, oldest first.
func trend(points []float64) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	least, most := math.Inf(1), math.Inf(-1)
	for _, p := range points {
		least, most = min(least, p), max(most, p)
	}
	var text strings.Builder
	for _, p := range points {
		at := len(bars) / 2
		if most > least {
			share := (p/2 - least/2) / (most/2 - least/2) // Halves: the span may exceed every number.
			at = int(share * float64(len(bars)-1))
		}
		text.WriteRune(bars[min(max(at, 0), len(bars)-1)])
	}
	return text.String()
}
