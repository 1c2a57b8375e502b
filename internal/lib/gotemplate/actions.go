package gotemplate

import (
	"errors"
	"text/template"
	"text/template/parse"
)

// Piece is a part of a template: a text, or an action such as "{{.Params.name}}" that inserts a value.
type Piece struct {
	Text   string
	Action string
	// Line within the template, from 0.
	Line int
}

// Pieces divides a template without branches, loops and variables. A quoted text as an action counts as text.
func Pieces(text string) ([]Piece, error) {
	parsed, err := template.New("").Funcs((&allowance{}).functions()).Parse(text)
	if err != nil {
		return nil, fault(err)
	}
	//workflowcheck:ignore only their number is used
	if len(parsed.Templates()) > 1 {
		return nil, errors.New("define and block are not part of the language")
	}
	if parsed.Tree == nil {
		return nil, nil
	}
	s := scanner{text: text}
	var pieces []Piece
	for _, node := range parsed.Root.Nodes {
		switch n := node.(type) {
		case *parse.TextNode:
			pieces = append(pieces, Piece{Text: string(n.Text), Line: s.line(n.Pos)})
		case *parse.ActionNode:
			if len(n.Pipe.Decl) > 0 {
				return nil, errors.New("it sets a variable of a template; use a variable of the script")
			}
			piece := Piece{Action: n.String(), Line: s.line(n.Pos)}
			if literal, ok := quoted(n.Pipe); ok {
				piece = Piece{Text: literal, Line: piece.Line}
			}
			pieces = append(pieces, piece)
		default:
			return nil, errors.New("only {{…}} that inserts a value is possible; use if and for of the script")
		}
	}
	return pieces, nil
}

func quoted(pipe *parse.PipeNode) (string, bool) {
	if len(pipe.Cmds) != 1 || len(pipe.Cmds[0].Args) != 1 {
		return "", false
	}
	literal, ok := pipe.Cmds[0].Args[0].(*parse.StringNode)
	if !ok {
		return "", false
	}
	return literal.Text, true
}
