package gotemplate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// New parses a template. It has few functions on purpose: what needs more logic
// belongs into a program.
func New(name, text string) (*template.Template, error) {
	return template.New(name).Option("missingkey=error").Funcs(template.FuncMap{
		"json": func(value any) (string, error) {
			encoded, err := json.Marshal(value)
			return string(encoded), err
		},
		"base": path.Base,
		"dir":  path.Dir,
	}).Parse(text)
}

// Plain decodes a block so that templates print and compare its numbers as
// they were written: 1000000, not 1e+06.
func Plain(block string, data json.RawMessage) (any, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return map[string]any{}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("%s: %w", block, err)
	}
	return plainNumbers(value), nil
}

func plainNumbers(value any) any {
	switch typed := value.(type) {
	case json.Number:
		if whole, err := typed.Int64(); err == nil {
			return whole
		}
		if strings.ContainsAny(typed.String(), ".eE") {
			if float, err := typed.Float64(); err == nil {
				return float
			}
		}
		return typed.String()
	case map[string]any:
		for key, element := range typed {
			typed[key] = plainNumbers(element)
		}
	case []any:
		for i, element := range typed {
			typed[i] = plainNumbers(element)
		}
	}
	return value
}

// UnknownField finds names at the top level of a template that will never
// exist, so that `.Job` in a detection or a misspelt `.Parmas` is found by
// validate and not in the night. Inside range and with the dot is another.
func UnknownField(list *parse.ListNode, fields []string) error {
	if list == nil {
		return nil
	}
	for _, node := range list.Nodes {
		var pipe *parse.PipeNode
		switch typed := node.(type) {
		case *parse.ActionNode:
			pipe = typed.Pipe
		case *parse.IfNode:
			pipe = typed.Pipe
			for _, branch := range []*parse.ListNode{typed.List, typed.ElseList} {
				if err := UnknownField(branch, fields); err != nil {
					return err
				}
			}
		case *parse.RangeNode:
			pipe = typed.Pipe
		case *parse.WithNode:
			pipe = typed.Pipe
		}
		if err := unknownInPipe(pipe, fields); err != nil {
			return err
		}
	}
	return nil
}

func unknownInPipe(pipe *parse.PipeNode, fields []string) error {
	if pipe == nil {
		return nil
	}
	for _, command := range pipe.Cmds {
		for _, argument := range command.Args {
			if field, ok := argument.(*parse.FieldNode); ok && !slices.Contains(fields, field.Ident[0]) {
				return fmt.Errorf("there is no .%s here; a template knows .%s", field.Ident[0], strings.Join(fields, ", ."))
			}
			if nested, ok := argument.(*parse.PipeNode); ok {
				if err := unknownInPipe(nested, fields); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
