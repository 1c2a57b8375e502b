package values

import (
	"math"
	"slices"

	"github.com/roundsman/roundsman/contract"
)

// Trend is one number over the last runs of a job type.
type Trend struct {
	Key  string `json:"key,omitempty"`
	Name string `json:"name"`
	// Points are the values of the last runs, oldest first; Last is the newest.
	Points []float64 `json:"points"`
	Last   float64   `json:"last"`
	// Difference of Last to the median of the earlier points in percent, if that is not 0.
	Change *float64 `json:"change,omitempty"`
	// Current is false if the last run with numbers did not return this one.
	Current bool `json:"current"`
}

// TrendsOf returns the trends of a record, by key and name.
func TrendsOf(values *contract.Values) []Trend {
	if values == nil {
		return nil
	}
	var trends []Trend
	for _, s := range values.Series {
		if len(s.Points) == 0 {
			continue
		}
		last := len(s.Points) - 1
		t := Trend{Key: s.Key, Name: s.Name, Points: s.Points, Last: s.Points[last], Current: s.Run == values.Runs}
		if usual, known := median(s.Points[:last]); known && usual != 0 {
			if change := (t.Last - usual) / math.Abs(usual) * 100; !math.IsInf(change, 0) {
				t.Change = &change
			}
		}
		trends = append(trends, t)
	}
	return trends
}

func median(points []float64) (float64, bool) {
	if len(points) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(points))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle], true
	}
	return sorted[middle-1]/2 + sorted[middle]/2, true
}
