// Package values keeps the numbers that jobs return, and their trend over the last runs of a job type. It is pure.
package values

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/roundsman/roundsman/contract"
)

// maxOfRun bounds the numbers of one run. With [contract.MaxSeries] series it leaves room for the known ones.
const maxOfRun = 1000

// Run has the numbers of one run. The zero value has none.
type Run struct {
	Points  []Point `json:"p,omitempty"`
	Dropped int     `json:"d,omitempty"`
}

// Point is one number.
type Point struct {
	Key   string  `json:"k"`
	Name  string  `json:"n"`
	Value float64 `json:"v"`
}

// Take notes the numbers in the result of the job with this key. It returns the data of the job as JSON, without exit
// code and summary; empty if larger than [contract.MaxJobData].
func (r *Run) Take(key string, result json.RawMessage) string {
	fields := decode(result)
	delete(fields, contract.ExitCode)
	r.add(key, fields)
	return own(fields)
}

func own(fields map[string]json.RawMessage) string {
	delete(fields, "summary")
	if len(fields) == 0 {
		return ""
	}
	data, err := json.Marshal(fields)
	if err != nil || len(data) > contract.MaxJobData {
		return ""
	}
	return string(data)
}

func (r *Run) add(key string, fields map[string]json.RawMessage) {
	names := make([]string, 0, len(fields))
	//workflowcheck:ignore the names are sorted
	for name, field := range fields {
		if _, number := numberOf(field); number {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		value, _ := numberOf(fields[name])
		if len(r.Points) >= maxOfRun || !fits(key, contract.MaxValueKey) || !fits(name, contract.MaxValueName) {
			r.Dropped++
			continue
		}
		r.Points = append(r.Points, Point{Key: key, Name: name, Value: value})
	}
}

func decode(result json.RawMessage) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if len(result) == 0 || json.Unmarshal(result, &fields) != nil {
		return nil
	}
	return fields
}

func numberOf(field json.RawMessage) (float64, bool) {
	field = bytes.TrimSpace(field)
	if len(field) == 0 || field[0] != '-' && (field[0] < '0' || field[0] > '9') {
		return 0, false
	}
	var value float64
	if json.Unmarshal(field, &value) != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		return 0, false
	}
	return value, true
}

func fits(text string, most int) bool {
	return len(text) <= most && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// Extend adds the numbers of a run. Known series come first, new ones by key and name while there is room. A series
// without a number in [contract.MaxPoints] such runs ends.
func Extend(before *contract.Values, run Run, ended time.Time) *contract.Values {
	if len(run.Points) == 0 && run.Dropped == 0 {
		return before
	}
	next := contract.Values{Dropped: run.Dropped, Runs: 1, At: ended}
	if before != nil {
		next.Runs += before.Runs
		for _, s := range before.Series {
			if next.Runs-s.Run < contract.MaxPoints {
				s.Points = slices.Clone(s.Points)
				next.Series = append(next.Series, s)
			}
		}
	}
	var fresh []Point
	for _, p := range latest(run.Points) {
		if i, known := find(next.Series, p); known {
			s := &next.Series[i]
			s.Points, s.Run = append(s.Points, p.Value), next.Runs
			s.Points = s.Points[max(0, len(s.Points)-contract.MaxPoints):]
		} else {
			fresh = append(fresh, p)
		}
	}
	for _, p := range fresh {
		if len(next.Series) >= contract.MaxSeries {
			next.Dropped++
			continue
		}
		i, _ := find(next.Series, p)
		next.Series = slices.Insert(next.Series, i, contract.ValueSeries{Key: p.Key, Name: p.Name, Points: []float64{p.Value}, Run: next.Runs})
	}
	return &next
}

func latest(points []Point) []Point {
	sorted := slices.Clone(points)
	slices.SortStableFunc(sorted, func(a, b Point) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Name, b.Name)) })
	kept := sorted[:0]
	for _, p := range sorted {
		if n := len(kept); n > 0 && kept[n-1].Key == p.Key && kept[n-1].Name == p.Name {
			kept[n-1] = p
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

func find(series []contract.ValueSeries, p Point) (int, bool) {
	return slices.BinarySearchFunc(series, p, func(s contract.ValueSeries, p Point) int {
		return cmp.Or(cmp.Compare(s.Key, p.Key), cmp.Compare(s.Name, p.Name))
	})
}
