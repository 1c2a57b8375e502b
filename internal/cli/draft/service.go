package draft

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// translated are the keys of a service that have a translation or no meaning for a job.
var translated = []string{ //nolint:gochecknoglobals // constant table
	"Type", "ExecStart", "User", "Group", "WorkingDirectory", "Environment", "EnvironmentFile", "UMask", "Nice", "IOSchedulingClass",
	"IOSchedulingPriority", "TimeoutStartSec", "TimeoutSec", "RuntimeMaxSec", "StandardOutput", "StandardError", "SyslogIdentifier", "RemainAfterExit",
}

// service translates the section Service. It returns the reason if there is no program.
func (e *entry) service(service unit) (problem string) {
	if err := e.program(service["Service.ExecStart"]); err != nil {
		return err.Error()
	}
	e.user, e.group, e.umask, e.nice = service.last("Service.User"), service.last("Service.Group"), service.last("Service.UMask"), service.last("Service.Nice")
	e.dir = strings.TrimPrefix(service.last("Service.WorkingDirectory"), "-")
	e.envFiles = service["Service.EnvironmentFile"]
	for _, line := range service["Service.Environment"] {
		words, err := split(line)
		if err != nil {
			e.note("not translated: Environment=%s: %v", line, err)
		}
		for _, word := range words {
			if name, value, ok := strings.Cut(word, "="); ok {
				e.env = append(e.env, [2]string{name, value})
			}
		}
	}
	if class := service.last("Service.IOSchedulingClass"); class != "" {
		e.ionice = map[string]string{"1": "realtime", "2": "best-effort", "3": "idle"}[class]
		if e.ionice == "" {
			e.ionice = class
		}
		if level := service.last("Service.IOSchedulingPriority"); level != "" && e.ionice != "idle" {
			e.ionice += ":" + level
		} else if e.ionice != "idle" {
			e.ionice += ":4"
		}
	}
	for _, key := range []string{"TimeoutStartSec", "TimeoutSec", "RuntimeMaxSec"} {
		if limit, ok := span(service.last("Service." + key)); ok {
			e.timeout = limit
		}
	}
	e.rest(service)
	return ""
}

func (e *entry) rest(service unit) {
	var keys []string
	for key := range service {
		section, name, _ := strings.Cut(key, ".")
		if section == "Service" && !slices.Contains(translated, name) || section == "Unit" && slices.Contains([]string{"Requires", "Wants", "After", "Before", "OnFailure"}, name) ||
			section == "Unit" && strings.HasPrefix(name, "Condition") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		_, name, _ := strings.Cut(key, ".")
		e.note("not translated: %s=%s", name, strings.Join(service[key], " "))
	}
}

func (e *entry) program(lines []string) error {
	if len(lines) == 0 {
		return errors.New("it has no ExecStart=")
	}
	var all, steps []string
	for _, line := range lines {
		all = append(all, divided(line)...)
	}
	for _, line := range all {
		signs := line[:len(line)-len(strings.TrimLeft(line, "@-:+!|"))]
		line = line[len(signs):]
		if strings.Contains(signs, ":") {
			line = strings.ReplaceAll(line, "$", "$$") // No variable of the line is replaced.
			signs = strings.ReplaceAll(signs, ":", "")
		}
		if signs != "" {
			e.note("not translated: the signs %s before ExecStart=%s", signs, line)
		}
		steps = append(steps, strings.ReplaceAll(line, "%%", "%"))
	}
	if all := strings.ReplaceAll(strings.Join(lines, " "), "%%", ""); strings.Contains(all, "%") {
		e.note("specifiers such as %%i are not replaced: write the value into the command")
	}
	shell := make([]string, len(steps))
	for i, step := range steps {
		line, err := shellLine(step)
		if err != nil {
			return fmt.Errorf("ExecStart=%s: %w", step, err)
		}
		shell[i] = line
	}
	if len(steps) > 1 {
		e.note("%d commands of ExecStart= are joined by &&", len(steps))
		e.command = []string{"/bin/sh", "-c", strings.Join(shell, " && ")}
		return nil
	}
	words, err := split(steps[0])
	if err != nil {
		return fmt.Errorf("ExecStart=%s: %w", steps[0], err)
	}
	e.command = words
	if slices.ContainsFunc(words, hasVariable) {
		e.note("systemd replaced variables ($) in this line, so a shell does it now")
		e.command = []string{"/bin/sh", "-c", "exec " + shell[0]}
		return nil
	}
	for i := range e.command {
		e.command[i] = literal(e.command[i])
	}
	return nil
}

// divided divides a line at each ; that is a word of its own, as systemd does.
func divided(line string) (all []string) {
	quote, begun := rune(0), 0
	for at, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case quote == 0 && strings.HasPrefix(line[at:], " ; "):
			all, begun = append(all, line[begun:at]), at+len(" ; ")
		}
	}
	return append(all, strings.TrimSuffix(line[begun:], " ;"))
}

// split divides a line into words as systemd does: quotes group, a backslash takes the next sign.
func split(line string) (words []string, err error) {
	var word strings.Builder
	quote, begun := rune(0), false
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped, begun = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, begun = r, true
		case quote == 0 && (r == ' ' || r == '\t'):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote is not closed")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
