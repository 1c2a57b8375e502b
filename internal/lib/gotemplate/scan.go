package gotemplate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/roundsman/roundsman/internal/lib/suggest"
)

// Reference is a use of a data field in a template.
type Reference struct {
	// Root is the field, Path the keys after it that are constant in the template.
	Root string
	Path []string
	// Line within the template, from 0.
	Line int
}

// Where returns the line as the prefix of a message; empty for the first line.
func (r Reference) Where() string {
	if r.Line == 0 {
		return ""
	}
	return fmt.Sprintf("line %d: ", r.Line+1)
}

// Scan returns the references of a template. It reports unknown fields, and constructs of unbounded cost.
func Scan(text string, fields []string) ([]Reference, []error) {
	parsed, err := template.New("").Funcs((&allowance{}).functions()).Parse(text)
	if err != nil {
		return nil, []error{fault(err)}
	}
	s := scanner{text: text, fields: fields}
	//workflowcheck:ignore only their number is used
	if len(parsed.Templates()) > 1 {
		s.fault("define and block are not part of the language")
	}
	if parsed.Tree != nil {
		s.node(parsed.Root, true)
	}
	return s.refs, s.faults
}

func fault(err error) error {
	text, where := strings.TrimPrefix(err.Error(), "template: "), ""
	if place, rest, ok := strings.Cut(text, ": "); ok {
		text = rest
		if line := place[strings.LastIndexByte(place, ':')+1:]; line != "1" {
			where = "line " + line + ": "
		}
	}
	if strings.Contains(text, "bad character U+002D '-'") {
		text += `; write a name with a dash as {{(index .Needs "the-name").Result.key}}`
	}
	return fmt.Errorf("not a valid template: %s%s", where, text)
}

func join(faults []error) error {
	if len(faults) == 1 {
		return faults[0]
	}
	return errors.Join(faults...)
}

type scanner struct {
	text   string
	fields []string
	refs   []Reference
	faults []error
	// lines counts the line breaks before counted.
	lines, counted int
}

func (s *scanner) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Errorf(format, args...))
}

// line counts from the last position, which is near.
func (s *scanner) line(pos parse.Pos) int {
	at := min(int(pos), len(s.text))
	if at >= s.counted {
		s.lines += strings.Count(s.text[s.counted:at], "\n")
	} else {
		s.lines -= strings.Count(s.text[at:s.counted], "\n")
	}
	s.counted = at
	return s.lines
}

// node walks the tree. root is true while the dot is the template's data.
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

// rangeOver refuses a range over a constant number. items refuses one that only the data shows.
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

// command scans one call. tail holds the field names applied to its result.
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

func (s *scanner) use(path []string, pos parse.Pos) {
	if !slices.Contains(s.fields, path[0]) {
		where, hint := Reference{Line: s.line(pos)}.Where(), ""
		if word := suggest.Word(path[0], s.fields); word != "" {
			hint = "; did you mean ." + word + "?"
		}
		s.fault("%sthere is no .%s here; a template knows .%s%s", where, path[0], strings.Join(s.fields, ", ."), hint)
		return
	}
	s.refs = append(s.refs, Reference{Root: path[0], Path: path[1:], Line: s.line(pos)})
}
