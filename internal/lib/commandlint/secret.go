package commandlint

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// endings are the last words of a secret's name.
	endings = regexp.MustCompile(`(?:^|_)(?:token|(?:client|webhook|app|api|jwt|shared)_secret|api_?key|secret_(?:access_)?key)$|(?:password|passwd|passphrase)$|^(?:sshpass|mysql_pwd)$`)
	// switches begin the names of options that choose a behavior, and of tokens that are positions.
	switches = regexp.MustCompile(`^(?:no|without|with|ask|prompt|use|require|skip|force|reset|show|change|need|has|allow|(?:next_)?page|next|continue|continuation|sync|cancel|fencing|fence|max|min|num)_`)
	hump     = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	template = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	// reference begins a value that names the place of a secret.
	reference = regexp.MustCompile(`^(?:[/~@<]|\.{1,2}/|(?:file|env|fd|vault|credential|cmd|command|op|arn|sops|ssm|secret|secretsmanager|k8s|keyring|systemd):)|://`)
)

// states are values of options that choose a behavior.
var states = []string{ //nolint:gochecknoglobals // constant table
	"", "-", "true", "false", "yes", "no", "on", "off", "none", "null", "never", "always", "auto", "ask", "prompt", "required", "optional", "stdin", "(hidden)",
}

// Secret reports whether a setting of this name holds a literal secret.
func Secret(name, value string) bool { return secretName(name) && literal(value) }

// Verbatim reports whether a variable of this name holds a secret, in which a dollar sign or a slash is literal.
func Verbatim(name, value string) bool {
	return secretName(name) && !slices.Contains(states, strings.ToLower(strings.TrimSpace(value)))
}

func secretName(name string) bool {
	snake := strings.ToLower(hump.ReplaceAllString(name, "${1}_$2"))
	snake = strings.NewReplacer("-", "_", ".", "_").Replace(snake)
	return endings.MatchString(snake) && !switches.MatchString(snake)
}

// literal reports whether a value is a secret itself, not a variable, a template or the place of one.
func literal(value string) bool {
	value = strings.TrimSpace(value)
	if strings.ContainsAny(value, "$`") || strings.Contains(value, "{{") || strings.Trim(value, "*") == "" {
		return false
	}
	return !slices.Contains(states, strings.ToLower(value)) && !reference.MatchString(value)
}

// opaque replaces templates by a variable, which is no literal and has no spaces.
func opaque(text string) string { return template.ReplaceAllLiteralString(text, "$T") }
