package bash

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/roundsman/roundsman/internal/lib/gotemplate"
)

const (
	// MaxScript bounds a script. Linux takes 128 KiB in one argument.
	MaxScript = 64 << 10
	// variable begins the names of the variables that hold the values.
	variable = "ROUNDSMAN_VALUE_"
	// name is $0 of the script, which begins its error messages.
	name = "shell"
)

// Fault is a mistake in a script.
type Fault struct {
	// Line within the script, from 0.
	Line int
	Err  error
}

func (f *Fault) Error() string { return fmt.Sprintf("line %d of the script: %v", f.Line+1, f.Err) }
func (f *Fault) Unwrap() error { return f.Err }

// Script is a script that can be run.
type Script struct {
	Argv []string
	// Values are templates by the names of the variables that the script reads them from.
	Values map[string]string
}

// Is reports whether a command line runs a [Script].
func Is(argv []string) bool {
	begin := argvOf("")
	return len(argv) == len(begin) && slices.Equal(argv[:4], begin[:4]) && argv[5] == name
}

func argvOf(script string) []string { return []string{"bash", "-euo", "pipefail", "-c", script, name} }

// Plain reads a script without templates.
func Plain(script string) (Script, error) {
	if _, err := parsed(script); err != nil {
		return Script{}, err
	}
	return Script{Argv: argvOf(script)}, nil
}

// Templated reads a script with templates. Each becomes a variable in double quotes. The error is a [*Fault].
func Templated(script string) (Script, error) {
	if !gotemplate.Templated(script) {
		return Plain(script)
	}
	pieces, err := gotemplate.Pieces(script)
	if err != nil {
		return Script{}, &Fault{Err: err}
	}
	out := Script{Values: map[string]string{}}
	var text strings.Builder
	lines := map[string]int{}
	for _, piece := range pieces {
		if piece.Action == "" {
			text.WriteString(piece.Text)
			continue
		}
		value := variable + strconv.Itoa(len(out.Values)+1)
		out.Values[value], lines[value] = piece.Action, piece.Line
		text.WriteString("${" + value + "}")
	}
	file, err := parsed(text.String())
	if err != nil {
		return Script{}, err
	}
	uses := uses{values: out.Values, lines: lines, seen: map[string]bool{}}
	syntax.Walk(file, uses.visit)
	if fault := uses.verdict(); fault != nil {
		return Script{}, fault
	}
	out.Argv = argvOf(uses.quote(text.String()))
	return out, nil
}

func parsed(script string) (*syntax.File, error) {
	switch {
	case strings.TrimSpace(script) == "":
		return nil, &Fault{Err: errors.New("the script is empty")}
	case len(script) > MaxScript:
		return nil, &Fault{Err: fmt.Errorf("the script has %d bytes; %d are possible: install it on the nodes and write command", len(script), MaxScript)}
	case strings.ContainsRune(script, 0):
		return nil, &Fault{Err: errors.New("the script has a NUL byte, which no program can be given")}
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(script), "")
	if wrong, ok := errors.AsType[syntax.ParseError](err); ok {
		return nil, &Fault{Line: line(wrong.Pos), Err: fmt.Errorf("bash would not read it: %s", wrong.Text)}
	}
	if wrong, ok := errors.AsType[syntax.LangError](err); ok {
		return nil, &Fault{Line: line(wrong.Pos), Err: fmt.Errorf("bash has no %s", wrong.Feature)}
	}
	if err != nil {
		return nil, &Fault{Err: err}
	}
	return file, nil
}

func line(at syntax.Pos) int {
	return max(int(at.Line())-1, 0) //nolint:gosec // a script has at most MaxScript lines
}
