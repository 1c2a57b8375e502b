package gotemplate

import (
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"
)

// Bounds of one execution.
const (
	// MaxOutput bounds the output of a template in bytes.
	MaxOutput = 256 << 10
	// maxText bounds the text produced by the functions of a template.
	maxText = 1 << 20
	// Every pass of a range costs as many steps as its body has parts.
	maxSteps = 2_000_000
)

// Template is a parsed template. It is safe for concurrent use.
type Template struct {
	name string
	tree *parse.Tree // nil for an empty template
}

// Templated reports whether text must be parsed as a template.
func Templated(text string) bool { return strings.Contains(text, "{{") }

// New parses a template that may refer to the given fields of its data. The error joins all faults.
func New(name, text string, fields []string) (*Template, error) {
	_, faults := Scan(text, fields)
	if len(faults) > 0 {
		return nil, join(faults)
	}
	return Trusted(name, text)
}

// Trusted parses a template that was scanned before.
func Trusted(name, text string) (*Template, error) {
	parsed, err := template.New(name).Funcs((&allowance{}).functions()).Parse(text)
	if err != nil {
		return nil, fault(err)
	}
	if parsed.Tree == nil {
		return &Template{name: name}, nil
	}
	meter(parsed.Root)
	return &Template{name: name, tree: parsed.Tree}, nil
}

// Execute renders the template within the bounds. Exceeding a bound is an error.
func (t *Template) Execute(data any) (string, error) {
	if t.tree == nil {
		return "", nil
	}
	left := allowance{steps: maxSteps, text: maxText, output: MaxOutput}
	runnable, err := template.New(t.name).Option("missingkey=error").Funcs(left.functions()).AddParseTree(t.name, t.tree)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if err := runnable.Execute(&bounded{&out, &left}, data); err != nil {
		return "", err
	}
	return out.String(), nil
}

type bounded struct {
	to   *strings.Builder
	left *allowance
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left.output -= len(p); b.left.output < 0 {
		return 0, fmt.Errorf("the template produces more than %d bytes", MaxOutput)
	}
	return b.to.Write(p)
}

// meter makes every range charge its passes first, by the function items.
func meter(n parse.Node) (parts int) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, child := range n.Nodes {
				parts += 1 + meter(child)
			}
		}
	case *parse.IfNode:
		parts = meter(n.List) + meter(n.ElseList)
	case *parse.WithNode:
		parts = meter(n.List) + meter(n.ElseList)
	case *parse.RangeNode:
		parts = 1 + meter(n.List)
		n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{
			parse.NewIdentifier("items").SetPos(n.Pos),
			&parse.NumberNode{NodeType: parse.NodeNumber, Pos: n.Pos, IsInt: true, Int64: int64(parts), Text: fmt.Sprint(parts)},
		}})
		parts += meter(n.ElseList)
	}
	return parts
}
