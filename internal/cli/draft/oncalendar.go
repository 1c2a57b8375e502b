package draft

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var shorthands = map[string]string{ //nolint:gochecknoglobals // constant table
	"minutely": "* * * * *", "hourly": "0 * * * *", "daily": "0 0 * * *", "monthly": "0 0 1 * *", "weekly": "0 0 * * 1",
	"yearly": "0 0 1 1 *", "annually": "0 0 1 1 *", "quarterly": "0 0 1 1,4,7,10 *", "semiannually": "0 0 1 1,7 *",
}

var (
	weekdayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} //nolint:gochecknoglobals // constant table
	clockTime    = regexp.MustCompile(`^[^:]+:[^:]+(:[^:]+)?$`)
	number       = regexp.MustCompile(`^[0-9]+$`)
)

// fromCalendar translates an OnCalendar= expression of systemd. The zone is empty if it has none.
func fromCalendar(text string) (cron, zone string, err error) {
	words := strings.Fields(text)
	if n := len(words); n > 1 && (words[n-1] == "UTC" || strings.Contains(words[n-1], "/") && !strings.ContainsAny(words[n-1], ":-*0123456789")) {
		zone, words = words[n-1], words[:n-1]
	}
	if len(words) == 1 {
		if short, ok := shorthands[strings.ToLower(words[0])]; ok {
			return short, zone, nil
		}
	}
	minute, hour, day, month, weekday := "0", "0", "*", "*", "*"
	for _, word := range words {
		switch first := strings.ToLower(word)[:min(3, len(word))]; {
		case slices.Contains(weekdayNames, first):
			weekday, err = weekdays(word)
		case clockTime.MatchString(word):
			minute, hour, err = clock(word)
		case strings.Contains(word, "-"):
			day, month, err = date(word)
		default:
			err = fmt.Errorf("%q has no cron expression", word)
		}
		if err != nil {
			return "", "", err
		}
	}
	if day != "*" && weekday != "*" {
		return "", "", fmt.Errorf("a day of the month that is also a certain weekday has no cron expression")
	}
	return strings.Join([]string{minute, hour, day, month, weekday}, " "), zone, nil
}

func weekdays(word string) (string, error) {
	var parts []string
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.ToLower(word), ","), ",") {
		from, to, isRange := strings.Cut(part, "..")
		first, last := weekday(from), weekday(to)
		switch {
		case first < 0 || isRange && last < 0:
			return "", fmt.Errorf("%q is no weekday", part)
		case !isRange:
			parts = append(parts, strconv.Itoa(first))
		case last == 0: // cron has no Sunday after Saturday.
			parts = append(parts, strconv.Itoa(first)+"-6", "0")
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", first, last))
		}
	}
	return strings.Join(parts, ","), nil
}

func weekday(name string) int {
	return slices.IndexFunc(weekdayNames, func(day string) bool { return len(name) >= len(day) && name[:len(day)] == day })
}

func clock(word string) (minute, hour string, err error) {
	parts := strings.Split(word, ":")
	if len(parts) == 3 && strings.Trim(parts[2], "0") != "" {
		return "", "", fmt.Errorf("seconds %q: a schedule has whole minutes", parts[2])
	}
	if hour, err = component(parts[0], "23"); err == nil {
		minute, err = component(parts[1], "59")
	}
	return minute, hour, err
}

func date(word string) (day, month string, err error) {
	if strings.Contains(word, "~") {
		return "", "", fmt.Errorf("%q counts days from the end of the month", word)
	}
	parts := strings.Split(word, "-")
	if len(parts) == 3 {
		if parts[0] != "*" {
			return "", "", fmt.Errorf("%q is bound to years", word)
		}
		parts = parts[1:]
	}
	if len(parts) != 2 {
		return "", "", fmt.Errorf("%q is no date", word)
	}
	if month, err = component(parts[0], "12"); err == nil {
		day, err = component(parts[1], "31")
	}
	return day, month, err
}

// component translates one field. last is its largest value.
func component(text, last string) (string, error) {
	if text == "*" {
		return "*", nil
	}
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		base, step, hasStep := strings.Cut(part, "/")
		from, to, isRange := strings.Cut(base, "..")
		switch {
		case base == "*" && hasStep:
			base = "*"
		case !number.MatchString(from) || isRange && !number.MatchString(to) || hasStep && !number.MatchString(step):
			return "", fmt.Errorf("%q has no cron expression", part)
		case isRange:
			base = plain(from) + "-" + plain(to)
		case hasStep:
			base = plain(from) + "-" + last
		default:
			base = plain(from)
		}
		if hasStep {
			base += "/" + plain(step)
		}
		parts = append(parts, base)
	}
	return strings.Join(parts, ","), nil
}

func plain(digits string) string {
	if n, err := strconv.Atoi(digits); err == nil {
		return strconv.Itoa(n)
	}
	return digits
}
