// Package scenario drives tests from text files. A block has a command line, input lines, a line of
// dashes and the expected output, which a -rewrite run updates. Only tests import it.
//
//	# a comment, kept
//	command argument argument
//	input
//	----
//	expected output
//
// A block ends at an empty line after its output. If the input or output contains empty lines, the
// dashes are written twice ("----
// ----"), and the same two lines end the block.
package scenario

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Command is one block of a file.
type Command struct {
	// Place is file:line of the command, for messages.
	Place string
	Name  string
	Args  []string
	Input string
}

// Run executes every file that matches the pattern as a subtest, with the function from start. A pattern without files fails.
func Run(t *testing.T, pattern string, rewrite bool, start func(t *testing.T) func(Command) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenario matches %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			runFile(t, file, rewrite, start(t))
		})
	}
}

const dashes = "----"

func runFile(t *testing.T, file string, rewrite bool, answer func(Command) string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := parser{lines: strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"), file: filepath.Base(file)}
	var out strings.Builder
	blocks := 0
	for p.comments(&out) {
		c, want := p.block(t)
		got := strings.TrimRight(answer(c), "\n")
		if !rewrite && got != want {
			t.Errorf("%s: %s %s\n--- want\n%s\n--- got\n%s", c.Place, c.Name, strings.Join(c.Args, " "), want, got)
		}
		write(&out, c, got)
		blocks++
	}
	if blocks == 0 {
		t.Fatalf("%s holds no command", file)
	}
	if rewrite {
		if err := os.WriteFile(file, []byte(strings.TrimRight(out.String(), "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func write(out *strings.Builder, c Command, got string) {
	out.WriteString(strings.Join(append([]string{c.Name}, c.Args...), " ") + "\n")
	if c.Input != "" {
		out.WriteString(c.Input + "\n")
	}
	double := strings.Contains(got, "\n\n") || strings.Contains(c.Input, "\n\n")
	out.WriteString(dashes + "\n")
	if double {
		out.WriteString(dashes + "\n")
	}
	if got != "" {
		out.WriteString(got + "\n")
	}
	if double {
		out.WriteString(dashes + "\n" + dashes + "\n")
	}
	out.WriteString("\n")
}

type parser struct {
	file  string
	lines []string
	at    int
}

func (p *parser) comments(out *strings.Builder) bool {
	for ; p.at < len(p.lines); p.at++ {
		line := p.lines[p.at]
		if line != "" && !strings.HasPrefix(line, "#") {
			return true
		}
		if line != "" || !strings.HasSuffix(out.String(), "\n\n") {
			out.WriteString(line + "\n")
		}
	}
	return false
}

func (p *parser) block(t *testing.T) (Command, string) {
	t.Helper()
	c := Command{Place: p.file + ":" + strconv.Itoa(p.at+1)}
	words := strings.Fields(p.lines[p.at])
	c.Name, c.Args = words[0], words[1:]
	p.at++
	input := p.until(t, c, func() bool { return p.lines[p.at] == dashes })
	c.Input = strings.Join(input, "\n")
	p.at++
	if p.at < len(p.lines) && p.lines[p.at] == dashes {
		p.at++
		want := p.until(t, c, func() bool {
			return p.lines[p.at] == dashes && p.at+1 < len(p.lines) && p.lines[p.at+1] == dashes
		})
		p.at += 2
		return c, strings.Join(want, "\n")
	}
	var want []string
	for ; p.at < len(p.lines) && p.lines[p.at] != ""; p.at++ {
		want = append(want, p.lines[p.at])
	}
	return c, strings.Join(want, "\n")
}

func (p *parser) until(t *testing.T, c Command, stop func() bool) []string {
	t.Helper()
	var taken []string
	for ; p.at < len(p.lines); p.at++ {
		if stop() {
			return taken
		}
		taken = append(taken, p.lines[p.at])
	}
	t.Fatalf("%s: the block has no %s", c.Place, dashes)
	return nil
}
