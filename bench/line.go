package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
)

// bench holds the settings and outputs of a measurement.
type bench struct {
	options
	out, log io.Writer
}

type line struct {
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
}

func (b *bench) print(l line) error {
	encoded, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(b.out, "%s\n", encoded)
	return err
}

func (b *bench) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(b.log, format+"\n", args...)
}

// values prints figures without a baseline.
func (b *bench) values(name string, n int, unit string, values []float64, more map[string]float64) error {
	return b.print(line{
		Name: name, N: n, Unit: unit, Value: round(median(values)), Reps: len(values),
		Min: round(slices.Min(values)), Max: round(slices.Max(values)), More: more,
	})
}

// compared prints figures with their baselines, paired by run.
func (b *bench) compared(name string, n int, unit string, values, baseline []float64, more map[string]float64) error {
	ratios := make([]float64, len(values))
	for i := range values {
		ratios[i] = values[i] / baseline[i]
	}
	return b.print(line{
		Name: name, N: n, Unit: unit, Value: round(median(values)), Baseline: round(median(baseline)), Ratio: round(median(ratios)),
		Reps: len(values), Min: round(slices.Min(values)), Max: round(slices.Max(values)), More: more,
	})
}

func median(values []float64) float64 {
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

// percentile of values, p from 0 to 1.
func percentile(values []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

func round(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}
