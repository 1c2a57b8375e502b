package main

import (
	"fmt"
	"io"

	"github.com/roundsman/roundsman/bench/figure"
)

// bench holds the settings and outputs of a measurement.
type bench struct {
	options
	out, log io.Writer
}

func (b *bench) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(b.log, format+"\n", args...)
}

// values prints figures without a baseline.
func (b *bench) values(name string, n int, unit string, values []float64, more map[string]float64) error {
	return figure.Values(name, n, unit, values, more).Print(b.out, b.log)
}

// compared prints figures with their baselines, paired by run.
func (b *bench) compared(name string, n int, unit string, values, baseline []float64, more map[string]float64) error {
	return figure.Compared(name, n, unit, values, baseline, more).Print(b.out, b.log)
}
