package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"

	"github.com/itchyny/gojq"

	"github.com/roundsman/roundsman/internal/lib/jsonout"
)

// compileJQ reads a program of jq.
func compileJQ(expression string) (*gojq.Code, error) {
	parsed, err := gojq.Parse(expression)
	if err != nil {
		return nil, Usagef("--jq: %w", err)
	}
	code, err := gojq.Compile(parsed)
	if err != nil {
		return nil, Usagef("--jq: %w", err)
	}
	return code, nil
}

// answerJQ prints the results of a jq program, one on each line.
func (c *Program) answerJQ(ctx context.Context, expression string, value any) error {
	code, err := compileJQ(expression)
	if err != nil {
		return err
	}
	input, err := plain(value, c.Env.Own)
	if err != nil {
		return err
	}
	results := code.RunWithContext(ctx, input)
	for {
		result, more := results.Next()
		if !more {
			return nil
		}
		if fault, failed := result.(error); failed {
			if halt, ended := errors.AsType[*gojq.HaltError](fault); ended && halt.Value() == nil {
				return nil
			}
			return Usagef("--jq: %w", fault)
		}
		if err := c.printJQ(result); err != nil {
			return err
		}
	}
}

func (c *Program) printJQ(result any) error {
	line := []byte(nil)
	if text, is := result.(string); is {
		line = []byte(Lines(text))
	} else {
		encoded, err := gojq.Marshal(result)
		if err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
		line = escapeUnsafe(encoded)
	}
	if _, err := c.Env.Stdout.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// plain is a value as jq takes it. Whole numbers keep all their digits.
func plain(value any, own *Renaming) (any, error) {
	text, err := jsonout.JSON(value, "")
	if err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(own.Data(text)))
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	return numbers(decoded), nil
}

func numbers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, each := range value {
			value[key] = numbers(each)
		}
	case []any:
		for i, each := range value {
			value[i] = numbers(each)
		}
	case json.Number:
		if whole, err := value.Int64(); err == nil {
			return int(whole)
		}
		if large, ok := new(big.Int).SetString(value.String(), 10); ok {
			return large
		}
		float, _ := value.Float64() // JSON has no other numbers.
		return float
	}
	return value
}
