package draft

import (
	"regexp"
	"slices"
	"strings"
)

// plainSigns are the characters of a word that needs no quotes in a shell, besides letters and digits.
const plainSigns = "-_./:=@,+%^"

// shellLine returns a line of ExecStart= as a shell must read it. systemd expands only variables, so all else is quoted.
func shellLine(line string) (string, error) {
	words, err := split(line)
	if err != nil {
		return "", err
	}
	for i, word := range words {
		words[i] = shellWord(word)
	}
	return strings.Join(words, " "), nil
}

var (
	// wholeVariable is a word that systemd replaces by the words of a value.
	wholeVariable = regexp.MustCompile(`^\$[A-Za-z_][A-Za-z0-9_]*$`)
	// dollars are the parts of another word that systemd replaces: a variable in braces, and $$ by a $.
	dollars = regexp.MustCompile(`\$\$|\$\{[A-Za-z_][A-Za-z0-9_]*\}`)
)

// inDoubleQuotes escapes text within double quotes.
var inDoubleQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", "$", `\$`) //nolint:gochecknoglobals // constant table

// hasVariable reports whether systemd replaces a variable in the word. Any other $ is a plain character.
func hasVariable(word string) bool {
	braced := func(found string) bool { return found != "$$" }
	return wholeVariable.MatchString(word) || slices.ContainsFunc(dollars.FindAllString(word, -1), braced)
}

// literal is a word without variables as the program receives it.
func literal(word string) string { return strings.ReplaceAll(word, "$$", "$") }

// shellWord quotes one word. A word that is a variable is left alone: systemd splits its value, too.
func shellWord(word string) string {
	isSpecial := func(r rune) bool {
		return (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r) && (r < '0' || '9' < r) && !strings.ContainsRune(plainSigns, r)
	}
	switch {
	case wholeVariable.MatchString(word), word != "" && strings.IndexFunc(word, isSpecial) < 0:
		return word
	case !hasVariable(word):
		return "'" + strings.ReplaceAll(literal(word), "'", `'\''`) + "'"
	}
	var quoted strings.Builder
	end := 0
	for _, at := range dollars.FindAllStringIndex(word, -1) {
		quoted.WriteString(inDoubleQuotes.Replace(word[end:at[0]]))
		if found := word[at[0]:at[1]]; found == "$$" {
			quoted.WriteString(`\$`)
		} else {
			quoted.WriteString(found)
		}
		end = at[1]
	}
	return `"` + quoted.String() + inDoubleQuotes.Replace(word[end:]) + `"`
}
