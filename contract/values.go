package contract

import (
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// MaxJobData bounds the data of a job in lists. Larger data is in the history of the run only.
const MaxJobData = 4 << 10

// ExitCode is the key of a program's exit code in the data of its job.
const ExitCode = "exit_code"

// ResultData returns the fields of a result's Data and, over them, of the last line of its Output if that is a JSON
// object (printed). The map is never nil.
func ResultData(result jobtype.Result) (fields map[string]any, printed bool) {
	fields = map[string]any{}
	maps.Copy(fields, result.Data)
	output := strings.TrimSpace(result.Output)
	last := output[strings.LastIndexByte(output, '\n')+1:]
	if !strings.HasPrefix(last, "{") {
		return fields, false
	}
	var own map[string]json.RawMessage
	if json.Unmarshal([]byte(last), &own) != nil {
		return fields, false
	}
	//workflowcheck:ignore each goes to a place of its own
	for key, value := range own {
		fields[key] = value
	}
	return fields, true
}

// Values are the numbers that the jobs of a job type returned in its last runs.
type Values struct {
	// Series are sorted by key and name; at most MaxSeries.
	Series []ValueSeries `json:"series,omitempty"`
	// Runs counts the runs that returned numbers.
	Runs int64 `json:"runs"`
	// At is the end of the last of these runs.
	At time.Time `json:"at,omitzero"`
	// Dropped counts the numbers of the last of these runs without a series.
	Dropped int `json:"dropped,omitempty"`
}

// ValueSeries is one number over the last runs.
type ValueSeries struct {
	// Key is the dedupe key of the job, Name the key of the number in its data.
	Key  string `json:"key"`
	Name string `json:"name"`
	// Points are the values of the last MaxPoints runs that returned the number, oldest first.
	Points []float64 `json:"points"`
	// Run is the number of the last of these runs.
	Run int64 `json:"run"`
}

// Bounds of [Values]. A longer key or name has no series.
const (
	MaxSeries    = 100
	MaxPoints    = 10
	MaxValueKey  = 128
	MaxValueName = 64
)
