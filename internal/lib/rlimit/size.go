package rlimit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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
