package figure

import (
	"fmt"
	"slices"
)

// Value and Ratio name the two figures that a line has outside of its further ones.
const (
	Value = "value"
	Ratio = "ratio"
)

// Verdict is a target and whether a figure meets it.
type Verdict struct {
	// Of is [Value], [Ratio] or a further figure of the line.
	Of string `json:"of"`
	// Most is the largest figure that meets the target, Least the smallest one. One of them is set.
	Most  *float64 `json:"most,omitempty"`
	Least *float64 `json:"least,omitempty"`
	Met   bool     `json:"met"`
}

// String is the bound in words.
func (v Verdict) String() string {
	if v.Least != nil {
		return fmt.Sprintf("at least %v", *v.Least)
	}
	return fmt.Sprintf("at most %v", *v.Most)
}

type target struct {
	rows []string
	// n is the only size with this target; 0 means all.
	n           int
	of          string
	most, least float64
}

// targets are explained in docs/performance.md.
func targets() []target {
	wholeGroups := []string{"group_million", "group_keyed"}
	return []target{
		{rows: []string{"group_control_plane_ms_per_job_64_at_once"}, of: Value, most: 0.35},
		{rows: []string{"group_control_plane_ms_per_job_4_at_once"}, of: Value, most: 1},
		{rows: wholeGroups, of: "cost_to_smallest", most: 1.1},
		{rows: wholeGroups, of: "control_plane_ms_per_job", most: 0.35},
		{rows: wholeGroups, n: 60_000, of: "control_plane_peak_mb", most: 100},
		{rows: wholeGroups, n: 100_000, of: "control_plane_peak_mb", most: 120},
		{rows: wholeGroups, n: 1_000_000, of: "control_plane_peak_mb", most: 300},
		{rows: wholeGroups, of: "longest_workflow_task_s", most: 0.5},
		{rows: wholeGroups, of: "longest_task_cpu_s", most: 0.5},
		{rows: wholeGroups, of: "longest_replay_cpu_s", most: 3},
		{rows: wholeGroups, of: "history_bytes_per_job_without_activities", most: 60},
		{rows: wholeGroups, of: "list_s", most: 0.5},
		{rows: wholeGroups, of: "list_end_s", most: 0.5},
		{rows: wholeGroups, of: "list_state_s", most: 0.5},
		{rows: wholeGroups, of: "find_number_s", most: 0.5},
		{rows: []string{"fanout_worker"}, of: Ratio, least: 0.95},
		{rows: []string{"fanout_shared"}, of: Ratio, least: 0.94},
		{rows: []string{"worker_kill"}, of: Value, most: 5.5},
		{rows: []string{"fleet_start"}, of: Value, most: 10},
		{rows: []string{"fleet_kill"}, of: Value, most: 15},
	}
}

// Verdicts returns those on the figures of a line, in the order of the targets.
func Verdicts(row string, n int, figures map[string]float64) []Verdict {
	var verdicts []Verdict
	for _, t := range targets() {
		figure, measured := figures[t.of]
		if !slices.Contains(t.rows, row) || t.n > 0 && t.n != n || !measured {
			continue
		}
		v := Verdict{Of: t.of}
		if t.least > 0 {
			v.Least, v.Met = &t.least, figure >= t.least
		} else {
			v.Most, v.Met = &t.most, figure <= t.most
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}
