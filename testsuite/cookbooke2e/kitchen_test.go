package cookbooke2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/testsuite/sites"
)

func TestMain(m *testing.M) { sites.Main(m, nil) }

// recipe is a section of a document.
type recipe struct {
	// title is the heading.
	title string
	// documents are its YAML blocks, lines its command lines.
	documents, lines []string
}

var (
	headings = regexp.MustCompile(`(?m)^## `)
	blocks   = regexp.MustCompile("(?ms)^```(yaml|sh)\n(.*?)^```$")
)

// recipesOf returns the sections with YAML blocks of a document below docs/.
func recipesOf(t *testing.T, name string) (found []recipe) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	require.NoError(t, err)
	for _, section := range headings.Split(string(text), -1)[1:] {
		title, _, _ := strings.Cut(section, "\n")
		r := recipe{title: title}
		for _, block := range blocks.FindAllStringSubmatch(section, -1) {
			if block[1] == "yaml" {
				r.documents = append(r.documents, block[2])
				continue
			}
			r.lines = append(r.lines, strings.Split(strings.TrimSpace(block[2]), "\n")...)
		}
		if len(r.documents) > 0 {
			found = append(found, r)
		}
	}
	return found
}

// named returns the documents of a recipe with this name.
func (r recipe) named(name string) (found []string) {
	for _, document := range r.documents {
		if strings.Contains(document, "\nname: "+name+"\n") {
			found = append(found, document)
		}
	}
	return found
}

// program replaces each program of a recipe. LINE is its name and arguments. It waits while hold/LINE exists, fails while
// fail/LINE has a character left, and prints say/NAME.
const program = `#!/bin/sh
cd DIR || exit 9
name=$(basename "$0")
line="$name${*:+ $*}"
file=$(printf %s "$line" | tr / _)
echo "$line begins@$ROUNDSMAN_WORKER_ID" >> journal
while [ -e "hold/$file" ]; do sleep 0.05; done
if [ -s "fail/$file" ]; then
  rest=$(tail -c +2 "fail/$file")
  printf %s "$rest" > "fail/$file"
  echo "$line fails@$ROUNDSMAN_WORKER_ID" >> journal
  exit 1
fi
echo "$line ends@$ROUNDSMAN_WORKER_ID" >> journal
if [ -e "say/$name" ]; then cat "say/$name"; fi
`

// kitchen is a site whose workers find the programs of recipes.
type kitchen struct {
	*sites.Site
	bin string
}

// newKitchen starts a server, and has these programs on the path of its workers.
func newKitchen(t *testing.T, programs ...string) *kitchen {
	t.Helper()
	k := &kitchen{Site: sites.New(t)}
	k.bin = filepath.Join(k.Dir, "bin")
	for _, dir := range []string{"bin", "hold", "fail", "say"} {
		require.NoError(t, os.Mkdir(filepath.Join(k.Dir, dir), 0o700))
	}
	for _, name := range programs {
		require.NoError(t, os.WriteFile(filepath.Join(k.bin, name), []byte(strings.ReplaceAll(program, "DIR", k.Dir)), 0o700)) //nolint:gosec // a program
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the journal:\n%s", strings.Join(k.journal(), "\n"))
		}
	})
	return k
}

// open starts a control plane and these workers, and waits for them.
func (k *kitchen) open(workers ...string) {
	k.T.Helper()
	k.Start("server")
	for _, id := range workers {
		k.worker(id)
	}
	k.AwaitFresh(workers...)
}

// worker starts a worker that finds the programs.
func (k *kitchen) worker(id string, extra ...string) *sites.Process {
	k.T.Helper()
	line := []string{sites.Self(k.T), "worker", "--id", id, "--data-dir", filepath.Join(k.Dir, "data-"+id), "--address", k.Server.Address(), "--config", k.File()}
	return k.Program([]string{"PATH=" + k.bin + ":" + os.Getenv("PATH")}, append(line, extra...)...)
}

// write writes a document to the file of its lines.
func (k *kitchen) write(name, text string) {
	k.T.Helper()
	require.NoError(k.T, os.WriteFile(filepath.Join(k.Dir, name), []byte(text), 0o600))
}

// fail makes a program fail that many times.
func (k *kitchen) fail(line string, times int) {
	k.T.Helper()
	k.write(filepath.Join("fail", strings.ReplaceAll(line, "/", "_")), strings.Repeat("x", times))
}

// hold makes a program wait until the returned function is called.
func (k *kitchen) hold(line string) (release func()) {
	k.T.Helper()
	path := filepath.Join("hold", strings.ReplaceAll(line, "/", "_"))
	k.write(path, "")
	return func() { require.NoError(k.T, os.Remove(filepath.Join(k.Dir, path))) }
}

// journal returns the journal's lines.
func (k *kitchen) journal() []string {
	text, err := os.ReadFile(filepath.Join(k.Dir, "journal"))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(k.T, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// done returns the lines of successful programs, without the worker.
func (k *kitchen) done() (lines []string) {
	for _, line := range k.journal() {
		if line, ended := strings.CutSuffix(line[:strings.LastIndex(line, "@")], " ends"); ended {
			lines = append(lines, line)
		}
	}
	return lines
}

// begun returns the lines of started programs, without the worker.
func (k *kitchen) begun() (lines []string) {
	for _, line := range k.journal() {
		if line, began := strings.CutSuffix(line[:strings.LastIndex(line, "@")], " begins"); began {
			lines = append(lines, line)
		}
	}
	return lines
}

// worst returns the largest number of concurrent programs of a name.
func (k *kitchen) worst(name string) (most int) {
	running := 0
	for _, line := range k.journal() {
		switch {
		case !strings.HasPrefix(line, name+" "):
		case strings.Contains(line, " begins@"):
			running++
			most = max(most, running)
		default:
			running--
		}
	}
	return most
}

// line starts the command line of the recipe that begins with these words.
func (k *kitchen) line(r recipe, words string) *sites.Process {
	k.T.Helper()
	for _, line := range r.lines {
		if command, is := strings.CutPrefix(line, "roundsman "); is && strings.HasPrefix(command, words) {
			// The shell splits it, as an operator's does.
			return k.Program(nil, "sh", "-c", `"$0" `+command+` --address "$1" --config "$2"`, sites.Self(k.T), k.Server.Address(), k.File())
		}
	}
	k.T.Fatalf("the recipe %q has no line %q", r.title, words)
	return nil
}

// runs runs a command line of the recipe to its end and returns its exit code.
func (k *kitchen) runs(r recipe, words string) int {
	k.T.Helper()
	return k.line(r, words).Code(k.T, 3*time.Minute)
}

// shortened replaces texts of a recipe: waits that are too long for a test, and paths that the test machine
// lacks. Each text must be there.
func shortened(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		require.Contains(t, text, pairs[i])
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}
