package contract_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

func TestOnlyAbsentWorkersAreMissedAlone(t *testing.T) {
	t.Parallel()
	missed := func(codes ...contract.Code) contract.JobGroupResult {
		result := contract.JobGroupResult{}
		for _, code := range codes {
			result.Missed = append(result.Missed, contract.MissedWorker{Worker: "node-" + string(code), Code: code})
		}
		return result
	}
	assert.Equal(t, []string{"node-" + string(contract.CodeUnreachable)}, missed(contract.CodeUnreachable).OnlyMissed())
	assert.Nil(t, missed(contract.CodeUnreachable, contract.CodeNotInstalled).OnlyMissed(), "a detection that fails is another fault")
	failed := missed(contract.CodeUnreachable)
	failed.Counts.Failed = 1
	assert.Nil(t, failed.OnlyMissed())
}
