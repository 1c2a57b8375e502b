package launch

import (
	"fmt"
	"slices"

	"github.com/roundsman/roundsman/internal/lib/rlimit"
	"github.com/roundsman/roundsman/jobtype"
)

// OfJobs are the keys of jobs only: detections and receivers keep no output and have no programs around their own.
var OfJobs = []string{"output", "guard", "artifacts", "hooks"} //nolint:gochecknoglobals // constant table

// KeysOfAll returns the keys of every program, sorted.
func KeysOfAll() []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return slices.Contains(OfJobs, key) })
}

// BlockOf names the block of a job type that has a key of programs; empty for other keys.
func BlockOf(key string) string {
	switch {
	case slices.Contains([]string{"before", "on_failure", "finally"}, key):
		return "execute.hooks"
	case slices.Contains(OfJobs, key):
		return "execute"
	case slices.Contains(keys, key), key == "command", key == "shell":
		return "execute or detect"
	}
	return ""
}

// Output is the policy for the stored output of each attempt.
type Output struct {
	// Keep is the time after the end of the attempt; nil: [jobtype.DefaultOutputKeep].
	Keep *jobtype.Duration `json:"keep,omitempty"`
	// Max is the number of bytes; 0: [jobtype.DefaultOutputMax].
	Max rlimit.Size `json:"max,omitempty"`
}

// Policy returns the policy with its defaults.
func (o Output) Policy() jobtype.OutputPolicy {
	policy := jobtype.OutputPolicy{Max: int64(o.Max)}
	if o.Keep != nil {
		policy.Keep = *o.Keep
	}
	return policy.WithDefaults()
}

func (o Output) faults() []error {
	var faults []error
	if o.Keep != nil && (*o.Keep <= 0 || *o.Keep > jobtype.MaxOutputKeep) {
		faults = append(faults, fmt.Errorf("output.keep: %s is out of range: use 1s to %s", *o.Keep, jobtype.MaxOutputKeep))
	}
	if o.Max != 0 && (o.Max < jobtype.MinOutputFile || o.Max > jobtype.MaxOutputFile) {
		faults = append(faults, fmt.Errorf("output.max: %s is out of range: use %s to %s", o.Max, rlimit.Size(jobtype.MinOutputFile), rlimit.Size(jobtype.MaxOutputFile)))
	}
	return faults
}
