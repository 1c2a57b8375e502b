package launch

import (
	"fmt"
	"strings"
)

// ParseEnvFile parses the format of systemd's EnvironmentFile: NAME=VALUE lines, comments with # or ;, quotes, and
// backslashes.
func ParseEnvFile(text string) ([]string, error) {
	var variables []string
	p := envParser{rest: text, line: 1}
	for p.skip() {
		line := p.line
		name, found := p.name()
		if !found {
			return nil, fmt.Errorf("line %d is no NAME=VALUE", line) // The text may be a part of a secret.
		}
		value, err := p.value()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		variables = append(variables, name+"="+value)
	}
	return variables, nil
}

type envParser struct {
	rest string
	line int
}

func (p *envParser) skip() bool {
	for {
		p.rest = strings.TrimLeft(p.rest, " \t\r")
		switch {
		case p.rest == "":
			return false
		case p.rest[0] == '\n':
			p.rest, p.line = p.rest[1:], p.line+1
		case p.rest[0] == '#', p.rest[0] == ';':
			end := strings.IndexByte(p.rest, '\n')
			if end < 0 {
				return false
			}
			p.rest = p.rest[end:]
		default:
			return true
		}
	}
}

func (p *envParser) name() (string, bool) {
	end := strings.IndexAny(p.rest, "=\n")
	if end <= 0 || p.rest[end] == '\n' {
		return "", false
	}
	name := strings.TrimRight(p.rest[:end], " \t")
	p.rest = p.rest[end+1:]
	return name, name != "" && !strings.ContainsAny(name, " \t\"'\x00")
}

// value reads to the end of the line. Blanks at both ends that are not quoted are dropped.
func (p *envParser) value() (string, error) {
	var out strings.Builder
	kept := 0 // without the blanks at the end
	quote := byte(0)
	p.rest = strings.TrimLeft(p.rest, " \t")
	for k := 0; k < len(p.rest); k++ {
		c := p.rest[k]
		switch {
		case c == '\n' && quote == 0:
			p.rest = p.rest[k:]
			return out.String()[:kept], nil
		case c == quote && quote != 0:
			quote = 0
			continue
		case quote == 0 && (c == '"' || c == '\''):
			quote, kept = c, out.Len()
			continue
		case c == '\\' && quote != '\'' && k+1 < len(p.rest):
			k++
			if c = p.rest[k]; c == '\n' {
				p.line++
				continue
			}
			if quote == '"' && !strings.ContainsRune("\"\\`$", rune(c)) {
				out.WriteByte('\\')
			}
			out.WriteByte(c)
			kept = out.Len()
			continue
		case c == '\n':
			p.line++
		case c == 0:
			return "", fmt.Errorf("the value has a NUL byte")
		}
		out.WriteByte(c)
		if quote != 0 || c != ' ' && c != '\t' && c != '\r' {
			kept = out.Len()
		}
	}
	p.rest = ""
	if quote != 0 {
		return "", fmt.Errorf("the quote %c is not closed", quote)
	}
	return out.String()[:kept], nil
}
