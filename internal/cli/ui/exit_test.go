package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/starter"
)

// TestOfSeveralErrorsEachIsPrintedAndTheWorstDecides: a silent exit code hides no other error.
func TestOfSeveralErrorsEachIsPrintedAndTheWorstDecides(t *testing.T) {
	t.Parallel()
	warned := fmt.Errorf("b: %w", Silent(ExitWarning))
	for _, tt := range []struct {
		err  error
		code int
		says string
	}{
		{nil, ExitOK, ""},
		{errors.Join(fmt.Errorf("a: refused"), warned), ExitFailed, "roundsman: a: refused\n"},
		{errors.Join(warned, fmt.Errorf("a: refused")), ExitFailed, "roundsman: a: refused\n"},
		{errors.Join(Silent(ExitWarning), Silent(ExitFailed)), ExitFailed, ""},
		{errors.Join(Silent(ExitWarning), Silent(ExitDifference)), ExitDifference, ""},
		{errors.Join(warned, errors.Join(Usagef("a: wrong"), Silent(ExitDifference))), ExitUsage, "roundsman: a: wrong\n"},
		{errors.Join(starter.Invalidf("a: wrong"), errors.New("c: down")), ExitFailed, "roundsman: a: wrong\nc: down\n"},
		{errors.Join(context.Canceled, context.Canceled, errors.New("c: down")), ExitFailed, "roundsman: interrupted\nc: down\n"},
		{errors.Join(config.Faults{{File: "a.yaml", Line: 4, Column: 2, Message: "wrong"}, {File: "b.yaml", Message: "gone"}}, errors.New("c: down")), ExitFailed, "roundsman: c: down\na.yaml:4:2: wrong\nb.yaml: gone\n"},
		{Faulty(config.Faults{{File: "environment", Path: "TEMPORAL_TLS", Message: "wrong"}, {File: "a.yaml", Message: "gone"}}), ExitUsage, "roundsman: environment: TEMPORAL_TLS: wrong\na.yaml: gone\n"},
		{config.Faults{{File: "configuration", Message: "no file was given"}}, ExitFailed, "roundsman: configuration: no file was given\n"},
		{config.Faults{{File: "environment", Line: 1, Column: 1, Message: "wrong"}}, ExitFailed, "environment:1:1: wrong\n"},
		{Faulty(spec.Faults{{File: "a.yaml", Message: "wrong"}}), ExitUsage, "a.yaml: wrong\n"},
		{fmt.Errorf("%w: %w", starter.ErrNotFound, starter.Invalidf("no name")), ExitUsage, "roundsman: " + starter.ErrNotFound.Error() + ": no name\n"},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		if errors.Is(tt.err, context.Canceled) {
			interrupt()
		}
		var stderr bytes.Buffer
		assert.Equal(t, tt.code, Env{Stderr: &stderr}.Finish(ctx, tt.err), "%v", tt.err)
		assert.Equal(t, tt.says, stderr.String())
		interrupt()
	}
}
