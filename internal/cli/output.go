package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
)

const (
	outputTable = "table"
	outputJSON  = "json"
)

// wantsJSON reports whether the command's --output asks for JSON.
func wantsJSON(c *cli.Context) bool {
	return c.String(flagOutput) == outputJSON || c.Bool(flagJSON)
}

func checkOutput(c *cli.Context) error {
	switch value := c.String(flagOutput); value {
	case "", outputTable, outputJSON:
		return nil
	default:
		return usagef("--output %s: must be table or json", value)
	}
}

// printJSON writes value, indented, without escaping < and >: it is read by
// people and jq, not by browsers.
func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// printJSONLine writes value on one line, for streams.
func printJSONLine(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// outcomePaint colors an outcome by whether somebody must look.
func outcomePaint(outcome contract.Outcome) paint {
	switch outcome {
	case contract.OutcomeCompleted:
		return good
	case contract.OutcomePartial, contract.OutcomeCanceled, contract.OutcomeSkipped:
		return odd
	case contract.OutcomeFailed, contract.OutcomeTimeout:
		return bad
	}
	return plain
}
