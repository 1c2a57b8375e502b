package commandlint

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

// Code is the kind of a finding.
type Code string

// The kinds of finding.
const (
	// LiteralSecret is a secret written into the document.
	LiteralSecret Code = "LITERAL_SECRET"
	// OneElement is a program and its arguments in one element of argv.
	OneElement Code = "COMMAND_LINE_IN_ONE_ELEMENT"
	// LostFailure is a pipeline of a shell without pipefail.
	LostFailure Code = "PIPELINE_WITHOUT_PIPEFAIL"
)

// Finding is a likely mistake.
type Finding struct {
	Code Code
	// Index is the position of the faulty element in argv.
	Index int
	// Name is the option or variable with the secret, or the program with its arguments.
	Name string
}

// Message returns the sentence of the finding, with the remedy. Configurations and specs share it.
func (f Finding) Message() string {
	switch f.Code {
	case LiteralSecret:
		return fmt.Sprintf("%s is a literal secret: write env: {NAME: {file: PATH}}, or let the program read a file", f.Name)
	case OneElement:
		return fmt.Sprintf("a whole command line in one element: no shell splits it; write [%s, …], an element per argument", f.Name)
	case LostFailure:
		return "only the last program of the pipeline decides its success: write [bash, -o, pipefail, -c, …]"
	}
	return string(f.Code)
}

// Located is a finding in a document.
type Located struct {
	Finding
	Place yamlread.Place
	// Path is the path below the examined node, such as env.PGPASSWORD or command[2].
	Path string
}

// Values examines the texts below a node by their keys. path is the node's own path.
func Values(n *yamlread.Node, path string) []Located {
	if n == nil {
		return nil
	}
	return values(n, path[strings.LastIndexByte(path, '.')+1:], path)
}

// Command examines a list of texts as argv. It returns nothing for another kind of node.
func Command(list *yamlread.Node, path string) []Located {
	if list == nil || list.Kind != yamlread.List {
		return nil
	}
	argv := lists.Map(list.Items, func(item *yamlread.Node) string { return item.Literal })
	var found []Located
	for _, f := range Argv(argv) {
		found = append(found, Located{Finding: f, Place: list.Items[f.Index].Place(), Path: path + "[" + strconv.Itoa(f.Index) + "]"})
	}
	return found
}

// Script examines a text as the script of a `shell` key. It returns nothing for another kind of node.
func Script(n *yamlread.Node, path string) []Located {
	if n == nil || n.Kind != yamlread.Text {
		return nil
	}
	var found []Located
	for _, f := range script(n.Literal, "pipefail", 0) {
		found = append(found, Located{Finding: f, Place: n.Place(), Path: path})
	}
	return found
}

func values(n *yamlread.Node, key, path string) []Located {
	var found []Located
	switch n.Kind {
	case yamlread.Text:
		if Secret(key, n.Literal) {
			found = append(found, Located{Finding: Finding{Code: LiteralSecret, Name: key}, Place: n.Place(), Path: path})
		}
	case yamlread.Object:
		for _, f := range n.Fields {
			found = append(found, values(f.Value, f.Key, strings.Join([]string{path, f.Key}, "."))...)
		}
	case yamlread.List:
		for i, item := range n.Items {
			found = append(found, values(item, "", path+"["+strconv.Itoa(i)+"]")...)
		}
	case yamlread.Null, yamlread.Integer, yamlread.Number, yamlread.Bool:
	}
	return found
}

// Around examines the guard and the hooks of a block. prefix is the path of the block with a dot, or empty.
func Around(block *yamlread.Node, prefix string) []Located {
	if block == nil || block.Kind != yamlread.Object {
		return nil
	}
	var found []Located
	for _, path := range []string{"guard.command", "hooks.before", "hooks.on_failure", "hooks.finally"} {
		object, key, _ := strings.Cut(path, ".")
		if of := block.Get(object); of != nil && of.Kind == yamlread.Object {
			found = append(found, Command(of.Get(key), prefix+path)...)
		}
	}
	return found
}
