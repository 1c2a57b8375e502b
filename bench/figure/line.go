// Package figure has the lines that benchmarks print: medians, ratios, and whether they meet their targets.
package figure

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// Line is one row.
type Line struct {
	Name  string  `json:"name"`
	N     int     `json:"n"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Baseline is the bare SDK's median, Ratio the median of value/baseline per run. Both are absent without a
	// comparison.
	Baseline float64 `json:"baseline,omitempty"`
	Ratio    float64 `json:"ratio,omitempty"`
	Reps     int     `json:"reps"`
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
	// More are further figures of the same runs.
	More map[string]float64 `json:"more,omitempty"`
	// Targets are the figures with a target, and whether they meet it.
	Targets []Verdict `json:"targets,omitempty"`
}

// Values is a line without a baseline.
func Values(name string, n int, unit string, values []float64, more map[string]float64) Line {
	return Line{
		Name: name, N: n, Unit: unit, Value: Round(Median(values)), Reps: len(values),
		Min: Round(slices.Min(values)), Max: Round(slices.Max(values)), More: more,
	}
}

// Compared is a line of figures with their baselines, paired by run.
func Compared(name string, n int, unit string, values, baseline []float64, more map[string]float64) Line {
	ratios := make([]float64, len(values))
	for i := range values {
		ratios[i] = values[i] / baseline[i]
	}
	l := Values(name, n, unit, values, more)
	l.Baseline, l.Ratio = Round(Median(baseline)), Round(Median(ratios))
	return l
}

// Print writes the line with its verdicts as JSON. Missed targets are also written to faults.
func (l Line) Print(out, faults io.Writer) error {
	figures := map[string]float64{Value: l.Value}
	if l.Baseline != 0 {
		figures[Ratio] = l.Ratio
	}
	maps.Copy(figures, l.More)
	l.Targets = Verdicts(l.Name, l.N, figures)
	for _, v := range l.Targets {
		if !v.Met {
			_, _ = fmt.Fprintf(faults, "%s %d misses a target: %s is %v, %s\n", l.Name, l.N, v.Of, figures[v.Of], v)
		}
	}
	encoded, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", encoded)
	return err
}

// Median of values; NaN without any.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Percentile of values, p from 0 to 1.
func Percentile(values []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

// Round keeps four digits.
func Round(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}
