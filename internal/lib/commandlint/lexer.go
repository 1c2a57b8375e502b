package commandlint

import (
	"slices"
	"strings"
)

type simple struct {
	words []string
	// piped: its output goes to the next command.
	piped bool
}

type lexer struct {
	text     string
	at       int
	word     strings.Builder
	quoted   bool // the word has quotes, so it counts even if it is empty
	words    []string
	commands []simple
}

// sure is false if the script has constructs, such as a here-document, in which an operator may be text.
func split(script string) (commands []simple, sure bool) {
	l := &lexer{text: strings.ReplaceAll(script, "\\\n", " ")}
	for l.at < len(l.text) {
		if strings.HasPrefix(l.text[l.at:], "<<") {
			l.endCommand(false)
			return l.commands, false
		}
		l.step()
	}
	l.endCommand(false)
	inCase := func(c simple) bool { return slices.Contains(c.words, "case") }
	return l.commands, !slices.ContainsFunc(l.commands, inCase)
}

func (l *lexer) step() {
	c := l.text[l.at]
	switch c {
	case '\'':
		l.quote(strings.IndexByte(l.text[l.at+1:], '\''))
	case '"':
		l.quote(closing(l.text[l.at+1:]))
	case '`':
		end := strings.IndexByte(l.text[l.at+1:], '`') + 2 // 1: an open one is a character
		l.word.WriteString(l.text[l.at : l.at+end])
		l.at += end
	case '\\':
		if l.at++; l.at < len(l.text) {
			l.word.WriteByte(l.text[l.at])
		}
		l.at++
	case ' ', '\t':
		l.endWord()
		l.at++
	case '#':
		l.comment()
	case '\n', ';', '&', '|', '(', ')':
		l.operator(c)
	default:
		l.word.WriteByte(c)
		l.at++
	}
}

// quote reads a quoted text of n bytes; a negative n means an open quote.
func (l *lexer) quote(n int) {
	if n < 0 {
		n = len(l.text) - l.at - 1
	}
	l.word.WriteString(l.text[l.at+1 : l.at+1+n])
	l.quoted = true
	l.at += n + 2
}

func closing(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '(' && (depth > 0 || i > 0 && text[i-1] == '$'):
			depth++
		case c == ')' && depth > 0:
			depth--
		case c == '"' && depth == 0:
			return i
		}
	}
	return -1
}

// maxOpen bounds the quotes without an end: each costs the rest of the script.
const maxOpen = 8

func balanced(text string) int {
	depth, open := 1, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '\'':
			i += 1 + max(strings.IndexByte(text[i+1:], '\''), 0)
		case '"':
			end := closing(text[i+1:])
			if end < 0 {
				open++
			}
			if open > maxOpen {
				return len(text)
			}
			i += 1 + max(end, 0)
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

func (l *lexer) comment() {
	if l.word.Len() > 0 || l.quoted {
		l.word.WriteByte('#')
		l.at++
		return
	}
	if end := strings.IndexByte(l.text[l.at:], '\n'); end >= 0 {
		l.at += end
		return
	}
	l.at = len(l.text)
}

func (l *lexer) operator(c byte) {
	rest := l.text[l.at+1:]
	ends := func(suffixes string) bool {
		word := l.word.String()
		return word != "" && strings.ContainsRune(suffixes, rune(word[len(word)-1]))
	}
	switch {
	case (c == '&' || c == '|') && ends("<>"), c == '&' && strings.HasPrefix(rest, ">"): // 2>&1, >|, &>
		l.word.WriteByte(c)
	case c == '|' && strings.HasPrefix(rest, "|"):
		l.at++
		l.endCommand(false)
	case c == '|':
		l.endCommand(true)
		if strings.HasPrefix(rest, "&") {
			l.at++
		}
	case c == '(' && (ends("$<>") || strings.HasPrefix(rest, "(")): // a substitution, or arithmetic
		end := balanced(rest)
		l.word.WriteString(l.text[l.at : l.at+1+end])
		l.at += end
	case c == ')':
		next := strings.TrimLeft(rest, " \t")
		l.endCommand(strings.HasPrefix(next, "|") && !strings.HasPrefix(next, "||"))
	default:
		l.endCommand(false)
	}
	l.at++
}

func (l *lexer) endWord() {
	if l.word.Len() > 0 || l.quoted {
		l.words = append(l.words, l.word.String())
	}
	l.word.Reset()
	l.quoted = false
}

func (l *lexer) endCommand(piped bool) {
	l.endWord()
	if len(l.words) > 0 {
		l.commands = append(l.commands, simple{words: l.words, piped: piped})
	}
	l.words = nil
}
