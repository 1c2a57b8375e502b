package spec

import (
	"fmt"
	"reflect"
	"strings"
	"text/template"
	"text/template/parse"
)

// reference is one use of a name in a template.
type reference struct {
	// root is Needs, Params, Item or Matrix.
	root string
	// path follows it: for Needs the task, "Result", the key.
	path []string
	// line within the template, from 0.
	line int
}

// templated reports whether text has anything to render. Everything else is
// spared the parser, which is most of a large spec.
func templated(text string) bool { return strings.Contains(text, "{{") }

// maxSteps bounds the passes of all loops of one template. A template without
// loops needs time in proportion to its length and what it prints.
const maxSteps = 100_000

// parseTemplate parses text so that every loop asks for its passes first: loops
// within loops over a small result could otherwise run for hours. Each template
// parsed has its own allowance and is executed once.
func parseTemplate(text string) (*template.Template, error) {
	left := maxSteps
	t, err := template.New("").Option("missingkey=error").Funcs(template.FuncMap{
		"items": func(v any) (any, error) { return items(v, &left) },
	}).Parse(text)
	if err != nil {
		return nil, err
	}
	if t.Tree != nil {
		meter(t.Root)
	}
	return t, nil
}

// items is put behind whatever a template ranges over.
func items(v any, left *int) (any, error) {
	var n int
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array:
		n = r.Len()
	case reflect.Invalid:
		return nil, nil //nolint:nilnil // a range over nothing does nothing
	default:
		return nil, fmt.Errorf("range works on lists and maps, not on %v", v)
	}
	if *left -= n; *left < 0 {
		return nil, fmt.Errorf("the loops of a template may make %d passes in all", maxSteps)
	}
	return v, nil
}

// meter appends items to the pipeline of every range.
func meter(n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, child := range n.Nodes {
				meter(child)
			}
		}
	case *parse.IfNode:
		meter(n.List)
		meter(n.ElseList)
	case *parse.WithNode:
		meter(n.List)
		meter(n.ElseList)
	case *parse.RangeNode:
		n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{
			NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{parse.NewIdentifier("items").SetPos(n.Pos)},
		})
		meter(n.List)
		meter(n.ElseList)
	}
}

// scan parses a template and returns what it refers to. Faults are what the
// language does not allow: unknown names and constructs whose cost the size of
// the data does not bound.
func scan(text string) ([]reference, []error) {
	t, err := template.New("").Parse(text)
	if err != nil {
		return nil, []error{templateError(err)}
	}
	s := scanner{text: text}
	//workflowcheck:ignore only their number is asked for
	if len(t.Templates()) > 1 {
		s.fault("define and block are not part of the language")
	}
	if t.Tree != nil {
		s.node(t.Root, true)
	}
	return s.refs, s.faults
}

// templateError makes the parser's message fit ours.
func templateError(err error) error {
	text := strings.TrimPrefix(err.Error(), "template: ")
	if _, rest, ok := strings.Cut(text, ": "); ok {
		text = rest
	}
	if strings.Contains(text, "bad character U+002D '-'") {
		text += `; write a name with a dash as {{(index .Needs "the-name").Result.key}}`
	}
	return fmt.Errorf("not a valid template: %s", text)
}

type scanner struct {
	text   string
	refs   []reference
	faults []error
}

func (s *scanner) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Errorf(format, args...))
}

func (s *scanner) line(pos parse.Pos) int {
	return strings.Count(s.text[:min(int(pos), len(s.text))], "\n")
}

// node walks the tree; root says that the dot is still the template's data.
func (s *scanner) node(n parse.Node, root bool) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, child := range n.Nodes {
				s.node(child, root)
			}
		}
	case *parse.ActionNode:
		s.pipe(n.Pipe, root)
	case *parse.IfNode:
		s.branch(&n.BranchNode, root, root)
	case *parse.WithNode:
		s.branch(&n.BranchNode, root, false)
	case *parse.RangeNode:
		s.rangeOver(n.Pipe)
		s.branch(&n.BranchNode, root, false)
	case *parse.TemplateNode:
		s.fault("calling templates is not part of the language")
	}
}

func (s *scanner) branch(n *parse.BranchNode, root, inside bool) {
	s.pipe(n.Pipe, root)
	s.node(n.List, inside)
	if n.ElseList != nil {
		s.node(n.ElseList, root)
	}
}

// rangeOver refuses a range over a number where it can be seen; items refuses it
// where only the data shows it.
func (s *scanner) rangeOver(p *parse.PipeNode) {
	for _, cmd := range p.Cmds {
		if _, number := cmd.Args[0].(*parse.NumberNode); number {
			s.fault("range works on lists and maps of the data, like {{range .Params.items}}")
		}
	}
}

func (s *scanner) pipe(p *parse.PipeNode, root bool) {
	if p == nil {
		return
	}
	for _, cmd := range p.Cmds {
		s.command(cmd, root, nil)
	}
}

// command looks at one call; tail are field names applied to its result.
func (s *scanner) command(cmd *parse.CommandNode, root bool, tail []string) {
	args := cmd.Args
	if id, ok := args[0].(*parse.IdentifierNode); ok && id.Ident == "index" && len(args) > 2 {
		if path, ok := s.rooted(args[1], root); ok {
			s.use(indexed(path, args[2:], tail), cmd.Pos)
			args = args[2:]
		}
	}
	for _, a := range args {
		s.operand(a, root)
	}
}

// indexed continues a path with the constant arguments of index, up to the first
// that only the data knows.
func indexed(path []string, keys []parse.Node, tail []string) []string {
	for _, key := range keys {
		text, constant := key.(*parse.StringNode)
		if !constant {
			return path
		}
		path = append(path, text.Text)
	}
	return append(path, tail...)
}

// rooted returns the path of a field of the template's data.
func (s *scanner) rooted(n parse.Node, root bool) ([]string, bool) {
	switch n := n.(type) {
	case *parse.FieldNode:
		return append([]string(nil), n.Ident...), root
	case *parse.VariableNode:
		return append([]string(nil), n.Ident[1:]...), n.Ident[0] == "$" && len(n.Ident) > 1
	}
	return nil, false
}

func (s *scanner) operand(n parse.Node, root bool) {
	if path, ok := s.rooted(n, root); ok {
		s.use(path, n.Position())
		return
	}
	switch n := n.(type) {
	case *parse.PipeNode:
		s.pipe(n, root)
	case *parse.ChainNode:
		if p, ok := n.Node.(*parse.PipeNode); ok && len(p.Cmds) == 1 {
			s.command(p.Cmds[0], root, n.Field)
			return
		}
		s.operand(n.Node, root)
	case *parse.DotNode:
		if root {
			s.fault("the whole of the data cannot be used; name what is meant, like {{.Params.x}}")
		}
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) == 1 {
			s.fault("the whole of the data cannot be used; name what is meant, like {{$.Params.x}}")
		}
	case *parse.IdentifierNode:
		if n.Ident == "call" {
			s.fault("call is not part of the language")
		}
	}
}

// use records a reference to the data.
func (s *scanner) use(path []string, pos parse.Pos) {
	roots := []string{"Needs", "Params", "Item", "Matrix"}
	for _, r := range roots {
		if path[0] == r {
			s.refs = append(s.refs, reference{root: r, path: path[1:], line: s.line(pos)})
			return
		}
	}
	s.fault("unknown reference .%s; %s", strings.Join(path, "."), suggestion(path[0], roots))
}
