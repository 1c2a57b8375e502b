package launch

import (
	"fmt"
	"strings"
)

// ParseEnvFile parses the format of systemd's EnvironmentFile: NAME=VALUE lines, comments with # or ;, quotes, and
// backslashes.
func ParseEnvFile(text string) ([]string, error) {
	var variables []string
	if before, _, found := strings.Cut(text, "\x00"); found {
		return nil, fmt.Errorf("line %d has a NUL byte: save the file as UTF-8", strings.Count(before, "\n")+1)
	}
	p := envParser{rest: strings.TrimPrefix(text, "\ufeff"), line: 1}
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
			end := strings.IndexAny(p.rest, "\r\n")
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
	end := strings.IndexAny(p.rest, "=\r\n")
	if end <= 0 || p.rest[end] != '=' {
		return "", false
	}
	name := strings.TrimRight(p.rest[:end], " \t")
	p.rest = p.rest[end+1:]
	return name, name != "" && !strings.ContainsAny(name, " \t\"'")
}

// value reads to the end of the line. Blanks at both ends that are not quoted are dropped. A quote opens only before the
// first character without quotes: it is a character in A=it's.
func (p *envParser) value() (string, error) {
	var out strings.Builder
	kept, bare := 0, false // kept is the length without the blanks at the end.
	for p.rest != "" && p.rest[0] != '\n' && p.rest[0] != '\r' {
		switch c := p.take(); {
		case !bare && (c == '"' || c == '\''):
			if err := p.quoted(&out, c); err != nil {
				return "", err
			}
		case c == '\\':
			p.escaped(&out)
			bare = true
		case c == ' ' || c == '\t':
			if bare {
				out.WriteByte(c)
			}
			continue
		default:
			out.WriteByte(c)
			bare = true
		}
		kept = out.Len()
	}
	return out.String()[:kept], nil
}

func (p *envParser) take() byte {
	c := p.rest[0]
	p.rest = p.rest[1:]
	if c == '\n' {
		p.line++
	}
	return c
}

// escaped reads the character after a backslash. A line break is dropped.
func (p *envParser) escaped(out *strings.Builder) {
	if p.rest == "" {
		return
	}
	if c := p.take(); c != '\n' && c != '\r' {
		out.WriteByte(c)
	}
}

func (p *envParser) quoted(out *strings.Builder, quote byte) error {
	for p.rest != "" {
		c := p.take()
		if c == quote {
			return nil
		}
		if c == '\\' && quote == '"' && p.rest != "" {
			if c = p.take(); c == '\n' {
				continue
			}
			if !strings.ContainsRune("\"\\`$", rune(c)) {
				out.WriteByte('\\')
			}
		}
		out.WriteByte(c)
	}
	return fmt.Errorf("the quote %c is not closed", quote)
}
