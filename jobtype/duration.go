package jobtype

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration written as text: "45s", "30m", "2h30m", "7d" or "1d12h". A day has 24h.
type Duration time.Duration

// Std returns d as a time.Duration.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String returns d in the format of ParseDuration without trailing zero units: "30m", not "30m0s".
func (d Duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// maxDays bounds the days of a duration: a hundred years.
const maxDays = 36500

// ParseDuration parses the format of [Duration]. Days come first and may have a fraction ("1.5d").
// Only a duration without days may have a sign.
func ParseDuration(text string) (Duration, error) {
	fault := fmt.Errorf("duration %q: write it like 45s, 30m, 2h30m or 7d", text)
	head, rest, found := strings.Cut(strings.TrimSpace(text), "d")
	if !found {
		parsed, err := time.ParseDuration(head)
		if err != nil {
			return 0, fault
		}
		return Duration(parsed), nil
	}
	days, err := parseDays(head)
	if err != nil {
		return 0, fault
	}
	if rest == "" {
		return days, nil
	}
	parsed, err := time.ParseDuration(rest)
	if err != nil || parsed < 0 || parsed > 24*time.Hour*maxDays || rest[0] == '+' {
		return 0, fault
	}
	return days + Duration(parsed), nil
}

// parseDays accepts plain decimals only. ParseFloat alone would accept "NaN", "1e3" and "0x10".
func parseDays(head string) (Duration, error) {
	if strings.Trim(head, "0123456789.") != "" {
		return 0, strconv.ErrSyntax
	}
	count, err := strconv.ParseFloat(head, 64)
	if err != nil {
		return 0, err
	}
	if count > maxDays {
		return 0, strconv.ErrRange
	}
	return Duration(count * float64(24*time.Hour)), nil
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := ParseDuration(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// UnmarshalJSON accepts a JSON string. It refuses a bare number, which has no unit.
func (d *Duration) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("duration %s: write it as text with a unit, like \"45s\"", data)
	}
	return d.UnmarshalText([]byte(text))
}
