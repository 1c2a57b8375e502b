package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.temporal.io/api/serviceerror"
)

func TestStorageIsJudged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err     error
		verdict Verdict
		found   string
	}{
		{nil, VerdictOK, "stores"},
		{serviceerror.NewNotFound("no such workflow"), VerdictOK, "not tried: there is no registry"},
		{serviceerror.NewPermissionDenied("no", ""), VerdictOK, "not tried: this client may not"},
		{serviceerror.NewUnavailable("database or disk is full (13)"), VerdictFail, "stores nothing: database or disk is full"},
	} {
		check := judgeStorage(c.err)
		assert.Equal(t, c.verdict, check.Verdict)
		assert.Contains(t, check.Found, c.found)
		assert.Equal(t, c.verdict == VerdictFail, check.Fix != "")
	}
}

// All missing attributes are created; with one of two the next check would fail again.
func TestAllAttributesAreCreated(t *testing.T) {
	t.Parallel()
	text := createAttributes("default", []string{"A", "B"}).Text()
	assert.Contains(t, text, "--name A` and `temporal operator search-attribute create")
	assert.Contains(t, text, "--name B`")
}
