package commandlint

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

// Argv examines a program and its arguments. A script of `sh -c` is examined, too.
func Argv(argv []string) []Finding {
	plain := lists.Map(argv, opaque)
	var found []Finding
	if name, ok := oneElement(plain); ok {
		found = append(found, Finding{Code: OneElement, Name: name})
		for _, secret := range secrets(strings.Fields(plain[0])) {
			found = append(found, Finding{Code: LiteralSecret, Name: secret.Name})
		}
	}
	found = append(found, secrets(plain)...)
	if at, options, ok := shellScript(plain); ok {
		found = append(found, script(plain[at], options, at)...)
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return a.Index - b.Index })
	return slices.Compact(found)
}

// A path with a space, such as "/opt/My Tools/run", is no program with arguments.
func oneElement(argv []string) (string, bool) {
	if len(argv) == 0 || strings.Contains(argv[0], `\`) {
		return "", false
	}
	words := strings.Fields(argv[0])
	if len(words) < 2 || strings.HasPrefix(words[0], "$") {
		return "", false
	}
	inPath := func(word string) bool { return strings.Contains(word, "/") && !strings.HasPrefix(word, "/") }
	option := func(word string) bool { return strings.HasPrefix(word, "-") }
	if strings.Contains(words[0], "/") && slices.ContainsFunc(words[1:], inPath) && !slices.ContainsFunc(words[1:], option) {
		return "", false
	}
	for _, word := range words {
		if !strings.Contains(word, "=") {
			return word, true // Not a variable, whose value may be secret.
		}
	}
	return "", false
}

var (
	// mysql are programs whose option -pVALUE is a password.
	mysql = regexp.MustCompile(`^(?:mysql(?:dump|admin|check|import|show|slap|binlog|pump|sh)?|mariadb(?:-(?:dump|admin|check|import|show|slap|binlog|backup))?|mariabackup|xtrabackup)$`)
	// prompts are programs whose option --password takes no separate value.
	prompts = regexp.MustCompile(`^(?:pg_\w+|psql|(?:create|drop)(?:db|user)|(?:vacuum|reindex|cluster)db)$`)
	mongo   = regexp.MustCompile(`^(?:mongo(?:sh|dump|restore|export|import|stat|top)?)$`)
	// wrappers are programs that run the program among their arguments.
	wrappers = regexp.MustCompile(`^(?:sudo|doas|env|nice|ionice|chrt|taskset|timeout|setsid|nohup|docker|podman|kubectl|runuser|su|ssh|chroot|stdbuf|flock|systemd-run|time|exec|sshpass)$`)
	// patterns are programs whose arguments are texts to search for.
	patterns = regexp.MustCompile(`^(?:[efz]?grep|rg|sed|g?awk|find)$`)
	assigned = regexp.MustCompile(`^-{0,2}([A-Za-z_][\w.-]*)=((?s:.*))$`)
	spaced   = regexp.MustCompile(`^--((?:[a-z]+-)?(?:password|passwd|passphrase|token|api-?key|client-secret|secret-key))$`)
)

func separate(program string) []string {
	switch {
	case program == "sshpass":
		return []string{"-p"}
	case program == "redis-cli":
		return []string{"-a", "--pass"}
	case mongo.MatchString(program):
		return []string{"-p"}
	}
	return nil
}

func secrets(words []string) []Finding {
	var found []Finding
	program := ""
	for i, word := range words {
		if name := path.Base(word); program == "" || wrappers.MatchString(program) {
			if program == "" && !assigned.MatchString(word) || known(name) {
				program = name
			}
		}
		if patterns.MatchString(program) {
			return found
		}
		next := ""
		if i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			next = words[i+1]
		}
		if at, name, ok := secretAt(program, word, next); ok {
			found = append(found, Finding{Code: LiteralSecret, Index: i + at, Name: name})
		}
	}
	return found
}

func known(name string) bool {
	return mysql.MatchString(name) || prompts.MatchString(name) || name == "openssl" || separate(name) != nil
}

// secretAt reports a secret in a word, or in the next one, which is empty if it is an option.
func secretAt(program, word, next string) (at int, name string, ok bool) {
	if m := assigned.FindStringSubmatch(word); m != nil {
		return 0, strings.TrimSuffix(word, "="+m[2]), Secret(m[1], m[2])
	}
	if value, ok := strings.CutPrefix(word, "-p"); ok && value != "" && (mysql.MatchString(program) || program == "sshpass") {
		return 0, "-p…", literal(value)
	}
	if value, ok := strings.CutPrefix(next, "pass:"); ok && program == "openssl" && strings.HasPrefix(word, "-pass") {
		return 1, word, literal(value)
	}
	if slices.Contains(separate(program), word) {
		return 1, word, literal(next)
	}
	if m := spaced.FindStringSubmatch(word); m != nil && !prompts.MatchString(program) && !mysql.MatchString(program) {
		return 1, word, Secret(m[1], next)
	}
	return 0, "", false
}
