package commandlint

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	shells = regexp.MustCompile(`^(?:sh|bash|dash|ash|ksh|zsh)$`)
	dashC  = regexp.MustCompile(`^-[a-zA-Z]*c[a-zA-Z]*$`)
)

// shellScript returns the position of the script of `sh -c`, and the shell's options before it.
func shellScript(argv []string) (at int, options string, ok bool) {
	first := slices.IndexFunc(argv, func(word string) bool { return shells.MatchString(path.Base(word)) })
	if first < 0 {
		return 0, "", false
	}
	option := ""
	for i := first + 1; i < len(argv)-1; i++ {
		word := argv[i]
		switch {
		case dashC.MatchString(word):
			at = i + 1
			for at < len(argv)-1 && (strings.HasPrefix(argv[at], "-") || argv[at] == "pipefail") {
				at++ // bash -c -o pipefail SCRIPT
			}
			return at, strings.Join(argv[first:at], " "), true
		case !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "+") && !strings.HasSuffix(option, "o"):
			return 0, "", false
		}
		option = word
	}
	return 0, "", false
}

func script(text, options string, at int) []Finding {
	var found []Finding
	commands, sure := split(text)
	for _, c := range commands {
		for _, secret := range secrets(c.words) {
			found = append(found, Finding{Code: LiteralSecret, Index: at, Name: secret.Name})
		}
	}
	handled := strings.Contains(options+text, "pipefail") || strings.Contains(text, "PIPESTATUS")
	if sure && !handled && slices.ContainsFunc(slices.Collect(pairs(commands)), losesFailure) {
		found = append(found, Finding{Code: LostFailure, Index: at})
	}
	return found
}

func pairs(commands []simple) func(func([2]simple) bool) {
	return func(yield func([2]simple) bool) {
		for i := range len(commands) - 1 {
			if commands[i].piped && !yield([2]simple{commands[i], commands[i+1]}) {
				return
			}
		}
	}
}

// Conditions judge the last program, some programs cannot fail, and some readers end before their writers.
func losesFailure(pair [2]simple) bool {
	left, right := pair[0].words, pair[1].words
	for len(left) > 0 && slices.Contains([]string{"then", "do", "else", "{", "time"}, left[0]) {
		left = left[1:]
	}
	if len(left) == 0 || len(right) == 0 {
		return false
	}
	if slices.Contains([]string{"if", "elif", "while", "until", "!", "[[", "case", "echo", "printf", "yes", "true", ":"}, left[0]) {
		return false
	}
	return right[0] != "head" && (right[0] != "grep" || len(right) < 2 || !strings.HasPrefix(right[1], "-q"))
}
