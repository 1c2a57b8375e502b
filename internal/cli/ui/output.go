package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
)

// The values of --output.
const (
	OutputTable = "table"
	OutputJSON  = "json"
)

// WantsJSON reports whether the command's --output asks for JSON.
func WantsJSON(c *cli.Context) bool {
	return c.String(FlagOutput) == OutputJSON || c.Bool(FlagJSON)
}

// CheckOutput refuses an unknown --output.
func CheckOutput(c *cli.Context) error {
	switch value := c.String(FlagOutput); value {
	case "", OutputTable, OutputJSON:
		return nil
	default:
		return Usagef("--output %s: must be table or json", value)
	}
}

// PrintJSON writes value, indented, without escaping < and >: it is read by
// people and jq, not by browsers.
func PrintJSON(w io.Writer, value any) error { return writeJSON(w, value, "  ") }

// PrintJSONLine writes value on one line, for streams.
func PrintJSONLine(w io.Writer, value any) error { return writeJSON(w, value, "") }

func writeJSON(w io.Writer, value any, indent string) error {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	err := encoder.Encode(value)
	if err == nil {
		_, err = w.Write(escapeUnsafe(encoded.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// OutcomePaint colors an outcome by whether somebody must look.
func OutcomePaint(outcome contract.Outcome) Paint {
	switch outcome {
	case contract.OutcomeCompleted:
		return Good
	case contract.OutcomePartial, contract.OutcomeCanceled, contract.OutcomeSkipped:
		return Odd
	case contract.OutcomeFailed, contract.OutcomeTimeout:
		return Bad
	}
	return Plain
}
