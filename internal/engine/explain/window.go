package explain

import (
	"strings"

	"github.com/roundsman/roundsman/contract"
)

// Closed names the closed calendars and the causes; "" if both are open.
func Closed(jobType string, own contract.Closure, lane string, lanes contract.Closure) string {
	var parts []string
	if text := closure(own); text != "" {
		parts = append(parts, "job type "+jobType+": "+text)
	}
	if text := closure(lanes); text != "" {
		parts = append(parts, "lane "+lane+": "+text)
	}
	return strings.Join(parts, "; ")
}

func closure(c contract.Closure) string {
	switch c.Code {
	case contract.ClosedOutside:
		return "outside its windows"
	case contract.ClosedBlackout:
		return noted("a blackout", c.Note)
	}
	return string(c.Code)
}

func noted(text, note string) string {
	if note == "" {
		return text
	}
	return text + ": " + note
}
