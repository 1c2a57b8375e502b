package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/action"
)

// words splits a documented line as a shell does, as far as documents need it, and
// ends where the command does: at a pipe, a redirection, a comment.
func words(line string) []string {
	var list []string
	word, quote, inside := "", rune(0), false
	flush := func() {
		if inside {
			list = append(list, word)
		}
		word, inside = "", false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '\'' || r == '"':
			quote, inside = r, true
		case r == ' ':
			flush()
		case strings.ContainsRune("|>;&", r), r == '#' && !inside:
			flush()
			return list
		default:
			word, inside = word+string(r), true
		}
	}
	flush()
	return list
}

var (
	fencedLine   = regexp.MustCompile(`(?m)^\s*(?:bin/)?roundsman +(\S.*)$`)
	substitution = regexp.MustCompile(`\$\([^)]*\)`)
	optional     = regexp.MustCompile(`\[[^\]]*\]`)
	format       = regexp.MustCompile(`%[a-z]`)
	joined       = regexp.MustCompile("\" \\+ [^\"`]+ \\+ \"")
	span         = regexp.MustCompile("`([a-z]+) ([a-z-]+)[^`\n]*`")
	inlineCode   = regexp.MustCompile("`roundsman ([a-z][^`\n]*)`")
)

// TestDocumentedCommandLines: every line of the documents and of the help texts
// that begins with the program's name is one that it understands: the commands
// exist, the flags are theirs, and no argument is missing or too many.
func TestDocumentedCommandLines(t *testing.T) {
	t.Parallel()
	root := (&commands{&ui.Program{}}).root()
	documents, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	for _, pattern := range []string{"../../*.md", "../../docs/*/*.md", "../../examples/*/README.md", "../../docker/README.md"} {
		more, err := filepath.Glob(pattern)
		require.NoError(t, err)
		documents = append(documents, more...)
	}
	documents = slices.DeleteFunc(documents, func(document string) bool { // It has the former names.
		return strings.HasSuffix(document, "0077-references.md")
	})
	checked := 0
	for _, document := range documents {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		checked += quotedCommands(t, root, document, string(text))
		assertNoFormerNames(t, root, document, string(text))
		for _, found := range fencedLine.FindAllStringSubmatch(string(text), -1) {
			args := words(substitution.ReplaceAllString(found[1], "X"))
			if strings.Contains(found[1], " - ") || args[0] == "COMMAND" || args[0][0] == '[' || args[0] == "--version" {
				continue // the head of a command in the reference, or a synopsis
			}
			checked++
			line, err := arrange(root, args)
			if assert.NoError(t, err, "%s: %s", document, found[0]) && !line.help {
				assertVisible(t, line, document+": "+found[0])
				assertArguments(t, line, document+": "+found[0], true)
			}
		}
	}
	assert.Greater(t, checked, 100, "the documents are found")
}

// TestRemediesAreCommandLines: each command in errors, explanations and checks is a valid command line.
func TestRemediesAreCommandLines(t *testing.T) {
	t.Parallel()
	root, checked := (&commands{&ui.Program{}}).root(), 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "../.." && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			checked += quotedCommands(t, root, path, string(text))
			assertNoFormerNames(t, root, path, string(text))
		}
		return err
	}))
	assert.Greater(t, checked, 50, "the sources are found")
}

// quotedCommands checks the command lines that stand in backquotes, in a sentence:
// they may leave arguments out.
func quotedCommands(t *testing.T, root *cli.Command, where, text string) (checked int) {
	t.Helper()
	for _, found := range inlineCode.FindAllStringSubmatch(text, -1) {
		text := joined.ReplaceAllString(found[1], "X")
		if strings.ContainsAny(text, "…+\"") {
			continue // put together elsewhere
		}
		checked++
		line, err := arrange(root, words(format.ReplaceAllString(optional.ReplaceAllString(text, ""), "X")))
		if assert.NoError(t, err, "%s: %s", where, found[0]) {
			assertVisible(t, line, where+": "+found[0])
			assertArguments(t, line, where+": "+found[0], false)
		}
	}
	return checked
}

// assertNoFormerNames refuses former names in backquotes that have not the program's name in front.
func assertNoFormerNames(t *testing.T, root *cli.Command, where, text string) {
	t.Helper()
	for _, span := range span.FindAllStringSubmatch(text, -1) {
		path := span[1:3]
		if _, former := formerNames()[strings.Join(path, " ")]; former {
			assert.Fail(t, "write the verb (docs/cli.md)", "%s: %s", where, span[0])
		}
		if command := found(root, path); command != nil && command.Hidden && found(root, path[:1]) != command && !slices.Contains(unreplaced(), strings.Join(path, " ")) {
			assert.Fail(t, "write the verb (docs/cli.md)", "%s: %s", where, span[0])
		}
	}
}

// unreplaced are hidden commands that no verb does yet.
func unreplaced() []string {
	return []string{"jobtypes import", "gateway http", "api openapi", "keys end-sessions", "workers cleanup", "man", "refs"}
}

// assertVisible refuses the former name of a command in a text.
func assertVisible(t *testing.T, line *arranged, where string) {
	t.Helper()
	path := strings.Join(line.path, " ")
	if !slices.Contains(unreplaced(), path) {
		assert.False(t, line.command.Hidden || line.former != nil, "%s: write the verb (docs/cli.md), %s is a former name", where, path)
	}
}

// assertArguments holds the arguments against the command's usage.
func assertArguments(t *testing.T, line *arranged, where string, whole bool) {
	t.Helper()
	least, most := 0, 0
	for word := range strings.FieldsSeq(line.command.ArgsUsage) {
		most++
		if !strings.HasPrefix(word, "[") {
			least++
		}
		if strings.Contains(word, "...") {
			most = 1000
		}
	}
	assert.LessOrEqual(t, len(line.args), most, where)
	if whole && line.command.Action != nil {
		assert.GreaterOrEqual(t, len(line.args), least, where)
	}
}

// TestActionsAreCommandLines: the command tree accepts the line of each operation, with all arguments and with
// only the required ones.
func TestActionsAreCommandLines(t *testing.T) {
	t.Parallel()
	root := (&commands{&ui.Program{}}).root()
	for _, operation := range action.Operations() {
		all := action.Args{}
		for _, name := range action.Params(operation) {
			all[name] = "1"
		}
		for _, a := range []action.Action{action.New(operation, all), action.New(operation, nil)} {
			rest, ours := strings.CutPrefix(a.Command, "roundsman ")
			if !ours {
				assert.True(t, strings.HasPrefix(a.Command, "temporal "), a.Command)
				continue
			}
			line, err := arrange(root, words(rest))
			if assert.NoError(t, err, a.Command) {
				assertVisible(t, line, a.Command)
				assertArguments(t, line, a.Command, true)
				assert.NotNil(t, line.command.Action, a.Command)
			}
		}
	}
}
