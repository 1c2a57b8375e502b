package launch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	Max Size `json:"max,omitempty"`
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
		faults = append(faults, fmt.Errorf("output.max: %s is out of range: use %s to %s", o.Max, Size(jobtype.MinOutputFile), Size(jobtype.MaxOutputFile)))
	}
	return faults
}

// Size is a number of bytes, written like 10MiB.
type Size int64

// units are the units of a [Size], the largest first. Shorter names are those of systemd.
var units = []struct { //nolint:gochecknoglobals // constant table
	names []string
	bytes int64
}{
	{[]string{"TiB", "T"}, 1 << 40}, {[]string{"GiB", "G"}, 1 << 30}, {[]string{"MiB", "M"}, 1 << 20}, {[]string{"KiB", "K"}, 1 << 10}, {[]string{"B", ""}, 1},
}

// ParseSize parses a whole number with a unit.
func ParseSize(text string) (Size, error) {
	digits := strings.TrimRight(text, "BGKMTi ")
	number, err := strconv.ParseInt(digits, 10, 64)
	unit := strings.TrimSpace(text[len(digits):])
	for _, u := range units {
		if err == nil && number >= 0 && slices.Contains(u.names, unit) && number <= (1<<62)/u.bytes {
			return Size(number * u.bytes), nil
		}
	}
	return 0, fmt.Errorf("%.40q is no size: write it like 512KiB, 10MiB or 2GiB", text)
}

// String returns the size in the largest unit in which it is a whole number.
func (s Size) String() string {
	for _, u := range units {
		if int64(s)%u.bytes == 0 && int64(s) >= u.bytes {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.names[0]
		}
	}
	return "0"
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Size) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("%.40s is no size: write it like 512KiB, 10MiB or 2GiB", data)
	}
	var err error
	*s, err = ParseSize(text)
	return err
}

// MarshalJSON implements [json.Marshaler].
func (s Size) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }
