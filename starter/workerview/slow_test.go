package workerview_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/workerview"
	"github.com/roundsman/roundsman/testsuite/silent"
)

// The verdict makes many requests; all together are given up after 10 s.
func TestAStalledServerIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		server := &silent.Server{}
		shown := workerview.ShownWorker{WorkerDetail: contract.WorkerDetail{Registration: contract.WorkerRegistration{ID: "node-a"}}}
		_, err := workerview.MayReboot(t.Context(), starter.New(server, "", nil), shown)
		require.Error(t, err)
		assert.Equal(t, began.Add(10*time.Second), server.Latest())
	})
}
