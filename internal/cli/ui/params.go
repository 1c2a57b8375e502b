package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

// StdinName stands for standard input on a command line, StdinFile in messages.
const (
	StdinName = "-"
	StdinFile = "stdin"
)

// ParamFlag collects --param KEY=VALUE. The parser's list would split values at commas.
type ParamFlag struct{ Given [][2]string }

// sameValue stands for the value itself: the parser copies an alias to the name, and both share it.
const sameValue = "\x00"

// Serialize implements [cli.Serializer].
func (p *ParamFlag) Serialize() string { return sameValue }

// Set implements flag.Value.
func (p *ParamFlag) Set(text string) error {
	if text == sameValue {
		return nil
	}
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return fmt.Errorf("write KEY=VALUE, not %q", text)
	}
	p.Given = append(p.Given, [2]string{key, value})
	return nil
}

// String implements flag.Value.
func (p *ParamFlag) String() string {
	if p == nil {
		return ""
	}
	return strings.Join(lists.Map(p.Given, func(each [2]string) string { return each[0] + "=" + each[1] }), " ")
}

// Pairs returns the values of a [ParamFlag].
func Pairs(ctx *cli.Context, name string) [][2]string {
	if params, ok := ctx.Generic(name).(*ParamFlag); ok && params != nil {
		return params.Given
	}
	return nil
}

// TextsFlag collects texts. The parser's list would split them at commas.
type TextsFlag struct{ given []string }

// Set implements flag.Value.
func (f *TextsFlag) Set(text string) error {
	f.given = append(f.given, text)
	return nil
}

// String implements flag.Value.
func (*TextsFlag) String() string { return "" }

// Texts returns the values of a [TextsFlag].
func Texts(ctx *cli.Context, name string) []string {
	if texts, ok := ctx.Generic(name).(*TextsFlag); ok && texts != nil {
		return texts.given
	}
	return nil
}

// ParamsJSON writes KEY=VALUE as an object. A value that is JSON is taken as it is, any other is a text.
func ParamsJSON(pairs [][2]string) (json.RawMessage, error) {
	params := map[string]json.RawMessage{}
	for _, pair := range pairs {
		key, value := pair[0], pair[1]
		if !json.Valid([]byte(value)) {
			quoted, err := json.Marshal(value)
			if err != nil {
				return nil, Usagef("--param %s: %w", key, err)
			}
			value = string(quoted)
		}
		params[key] = json.RawMessage(value)
	}
	text, err := json.Marshal(params)
	if err != nil {
		return nil, Usagef("--param: %w", err)
	}
	return text, nil
}

// ReadSpec reads a file, or standard input, within the size a spec may have.
func (c *Program) ReadSpec(name string) ([]byte, error) {
	from, size := c.Env.Stdin, int64(0)
	if name != StdinName {
		file, err := os.Open(name)
		if err != nil {
			return nil, Usagef("%w", err)
		}
		defer file.Close()
		from = file
		if info, err := file.Stat(); err == nil {
			size = min(info.Size(), spec.MaxFileSize)
		}
	}
	// The room is made at once: a buffer that grows leaves as much behind again.
	data := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(from, spec.MaxFileSize+1)); err != nil {
		return nil, Usagef("%s: %w", name, err)
	}
	return data.Bytes(), nil
}
