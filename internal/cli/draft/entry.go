package draft

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

type entry struct {
	name string
	// from is the original, as a comment.
	from string
	cron []string
	// every is the interval where the original has one.
	every    string
	jitter   string
	timezone string
	timeout  string
	command  []string
	user     string
	group    string
	dir      string
	umask    string
	nice     string
	ionice   string
	stdin    string
	env      [][2]string
	envFiles []string
	// notes name the parts without a translation.
	notes []string
}

func (e *entry) note(format string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

// shellSigns are the characters that a shell interprets.
const shellSigns = "|&;<>()$`\\\"'*?[]#~!{}\n="

// line sets a command line that a shell interprets. A line of plain words needs no shell.
func (e *entry) line(shell, text string) {
	if strings.ContainsAny(text, shellSigns) {
		e.command = []string{cmp.Or(shell, "/bin/sh"), "-c", text}
	} else {
		e.command = strings.Fields(text)
	}
	if strings.Contains(text, "/dev/null") {
		e.note("output goes to /dev/null: without that `roundsman logs` shows it")
	}
	if strings.Contains(text, "flock ") {
		e.note("flock is not needed against a second run of this job type: `overlap: skip` is the default")
	}
}

var (
	notOfName  = regexp.MustCompile(`[^a-z0-9_-]+`)
	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
)

// isPreparation reports whether a command comes before the program that counts.
func isPreparation(word string) bool {
	return slices.Contains([]string{"cd", "test", "[", "umask", "export", "."}, word)
}

// isWrapper reports whether a command starts the program that counts as its argument.
func isWrapper(word string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "env", "sudo", "nice", "ionice", "chronic", "exec", "flock", "timeout", "command"}, word)
}

// nameOf returns the name of the first program of a command line that is neither of them.
func nameOf(text string) string {
	for step := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("|&;\n", r) }) {
		argument := false
		for i, word := range strings.Fields(step) {
			base := path.Base(strings.Trim(word, `"'()`))
			if i == 0 && isPreparation(base) {
				break
			}
			if strings.HasPrefix(word, "-") || assignment.MatchString(word) || argument || isWrapper(base) {
				// The file of flock and the time of timeout come before the program.
				argument = base == "flock" || base == "timeout" || argument && strings.HasPrefix(word, "-")
				continue
			}
			if name := clean(strings.TrimSuffix(base, path.Ext(base))); name != "" && !number.MatchString(name) {
				return name
			}
		}
	}
	return "job"
}

// clean makes a name of a job type out of a word.
func clean(word string) string {
	const longest = 50
	word = strings.Trim(notOfName.ReplaceAllString(strings.ToLower(word), "-"), "-_")
	return strings.TrimRight(word[:min(len(word), longest)], "-_")
}

// distinct gives entries of one name numbers.
func distinct(entries []entry) {
	used := map[string]bool{}
	for i := range entries {
		name := entries[i].name
		for n := 2; used[entries[i].name]; n++ {
			entries[i].name = fmt.Sprintf("%s-%d", name, n)
		}
		used[entries[i].name] = true
	}
}
