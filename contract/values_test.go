package contract_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func TestResultData(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		result  jobtype.Result
		want    string
		printed bool
	}{
		{jobtype.Result{}, `{}`, false},
		{jobtype.Result{Data: map[string]any{"files": 7}, Output: "done"}, `{"files":7}`, false},
		{jobtype.Result{Data: map[string]any{"exit_code": 0, "a": 1}, Output: "x\n{\"a\": 2, \"b\": [3]}\n\n"}, `{"exit_code":0,"a":2,"b":[3]}`, true},
		{jobtype.Result{Data: map[string]any{"a": 1}, Output: "{\"a\": 2}\nend"}, `{"a":1}`, false},
		{jobtype.Result{Output: `{"a": 2`}, `{}`, false},
		{jobtype.Result{Output: `{"a": 12345678901234567890}`}, `{"a":12345678901234567890}`, true},
	} {
		fields, printed := contract.ResultData(c.result)
		encoded, err := json.Marshal(fields)
		require.NoError(t, err)
		assert.JSONEq(t, c.want, string(encoded))
		assert.Equal(t, c.printed, printed)
	}
}
