package draft

import "strings"

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

// shellWord quotes one word. A word that is a variable is left alone: systemd splits its value, too.
func shellWord(word string) string {
	isPlain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(plainSigns, r)
	}
	plain := func(text string) bool {
		return text != "" && strings.IndexFunc(text, func(r rune) bool { return !isPlain(r) }) < 0
	}
	name, variable := strings.CutPrefix(word, "$")
	switch {
	case plain(word), variable && plain(name):
		return word
	case strings.Contains(strings.ReplaceAll(word, "$$", ""), "$"):
		return `"` + strings.NewReplacer("$$", `\$`, `\`, `\\`, `"`, `\"`, "`", "\\`").Replace(word) + `"`
	}
	return "'" + strings.NewReplacer("$$", "$", "'", `'\''`).Replace(word) + "'"
}
