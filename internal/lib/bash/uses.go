package bash

import (
	"errors"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

// Reasons for which a value cannot stand in a place of a script.
var (
	errLiteral    = errors.New(`a value is not inserted between '…' or into a quoted here-document: write "{{…}}"`)
	errArithmetic = errors.New("bash would execute the value as arithmetic: give it to a variable and test it, as in [[ $n =~ ^[0-9]+$ ]], first")
	errAgain      = errors.New("another shell would execute the value as a script: write \"$1\" there and give the value as an argument")
	errExpansion  = errors.New("a value cannot be a part of ${…}: give it to a variable first")
)

type uses struct {
	values map[string]string
	lines  map[string]int
	above  []syntax.Node
	seen   map[string]bool
	bare   []span
	faults []*Fault
}

// span is a place without quotes, in bytes.
type span struct{ from, to int }

// visit is called before the nodes below a node, and with nil after them.
func (u *uses) visit(node syntax.Node) bool {
	if node == nil {
		u.above = u.above[:len(u.above)-1]
		return true
	}
	switch n := node.(type) {
	case *syntax.ParamExp:
		if n.Param != nil && u.values[n.Param.Value] != "" {
			u.use(n)
		}
	case *syntax.Comment:
		//workflowcheck:ignore the order does not matter
		for value := range u.values {
			u.seen[value] = u.seen[value] || strings.Contains(n.Text, "${"+value+"}")
		}
	}
	u.above = append(u.above, node)
	return true
}

func (u *uses) use(n *syntax.ParamExp) {
	u.seen[n.Param.Value] = true
	if err := u.reason(); err != nil {
		u.faults = append(u.faults, &Fault{Line: u.lines[n.Param.Value], Err: err})
		return
	}
	if !u.quoted() {
		u.bare = append(u.bare, span{int(n.Pos().Offset()), int(n.End().Offset())}) //nolint:gosec // within the script
	}
}

func (u *uses) quoted() bool {
	last := len(u.above) - 1
	switch parent := u.above[last].(type) {
	case *syntax.DblQuoted:
		return true
	case *syntax.Word:
		redirect, ok := u.above[last-1].(*syntax.Redirect)
		return ok && redirect.Hdoc == parent
	}
	return false
}

func (u *uses) reason() error {
	for k, node := range slices.Backward(u.above) {
		below := node
		if k+1 < len(u.above) {
			below = u.above[k+1]
		}
		switch n := node.(type) {
		case *syntax.ParamExp:
			return errExpansion
		case *syntax.CallExpr:
			if executes(n, below) {
				return errAgain
			}
		default:
			if calculates(node, below) {
				return errArithmetic
			}
		}
	}
	return nil
}

// calculates: bash takes the node below for arithmetic, or for a name whose index would be arithmetic.
func calculates(node, below syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.BinaryArithm, *syntax.UnaryArithm, *syntax.CStyleLoop:
		return true
	case *syntax.Assign:
		return n.Index != nil && n.Index == below
	case *syntax.ArrayElem:
		return n.Index != nil && n.Index == below
	case *syntax.BinaryTest:
		return n.Op >= syntax.TsEql && n.Op <= syntax.TsGtr
	case *syntax.UnaryTest:
		return n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar
	case *syntax.DeclClause:
		assign, ok := below.(*syntax.Assign)
		return !ok || assign.Naked || slices.ContainsFunc(n.Args, func(a *syntax.Assign) bool {
			return a.Naked && a.Value != nil && integers.MatchString(a.Value.Lit())
		})
	}
	return false
}

var (
	// integers are the options of declare that make a value arithmetic or a name.
	integers = regexp.MustCompile(`^-[a-zA-Z]*[in]`)
	// evaluating are builtins that execute an argument, or take it for a name.
	evaluating = regexp.MustCompile(`^(?:eval|trap|unset|read|mapfile|readarray|getopts)$`)
	// shells are programs that execute the argument of an option.
	shells = regexp.MustCompile(`^(?:bash|sh|dash|ash|ksh|zsh|su|runuser|script|flock|sg)$`)
	// scriptOption may be followed by further options; the script is the first argument that is none.
	scriptOption = regexp.MustCompile(`^(?:-[a-zA-Z]*c[a-zA-Z]*|--(?:session-)?command)$`)
	scriptWithin = regexp.MustCompile(`^(?:-c|--(?:session-)?command=)`)
	otherOption  = regexp.MustCompile(`^[-+]`)
	namedOption  = regexp.MustCompile(`^[-+][a-zA-Z]*[oO]$`)
	prefixes     = []string{"command", "builtin", "exec"} //nolint:gochecknoglobals // constant table
)

func executes(call *syntax.CallExpr, below syntax.Node) bool {
	at := slices.IndexFunc(call.Args, func(w *syntax.Word) bool { return syntax.Node(w) == below })
	if at < 1 {
		return false // It is the program, or a variable before it.
	}
	words := lists.Map(call.Args, (*syntax.Word).Lit)
	program := slices.IndexFunc(words[:at], func(word string) bool { return !slices.Contains(prefixes, word) })
	switch {
	case program < 0:
		return false
	case evaluating.MatchString(words[program]):
		return true
	case slices.Contains([]string{"printf", "test", "["}, words[program]) && words[at-1] == "-v":
		return true
	}
	shell := slices.IndexFunc(words[:at], func(word string) bool { return shells.MatchString(path.Base(word)) })
	return shell >= 0 && (scriptWithin.MatchString(beginning(call.Args[at])) || scriptFollows(words[shell+1:at]))
}

func scriptFollows(words []string) bool {
	asked := false
	for k, word := range words {
		switch {
		case scriptOption.MatchString(word):
			asked = true
		case asked && !otherOption.MatchString(word) && !namedOption.MatchString(words[k-1]):
			return false // It was this one.
		}
	}
	return asked
}

func beginning(word *syntax.Word) string {
	if literal, ok := word.Parts[0].(*syntax.Lit); ok {
		return literal.Value
	}
	return ""
}

func (u *uses) verdict() error {
	for _, value := range slices.Sorted(maps.Keys(u.values)) {
		if !u.seen[value] {
			u.faults = append(u.faults, &Fault{Line: u.lines[value], Err: errLiteral})
		}
	}
	if len(u.faults) == 0 {
		return nil
	}
	return u.faults[0]
}

func (u *uses) quote(script string) string {
	slices.SortFunc(u.bare, func(a, b span) int { return a.from - b.from })
	var out strings.Builder
	from := 0
	for _, bare := range u.bare {
		out.WriteString(script[from:bare.from] + `"` + script[bare.from:bare.to] + `"`)
		from = bare.to
	}
	out.WriteString(script[from:])
	return out.String()
}
