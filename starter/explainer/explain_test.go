package explainer

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAKeyKeepsItsSlashes(t *testing.T) {
	t.Parallel()
	for thing, want := range map[string]string{
		"vacuum:/vol/1/": "vacuum:/vol/1/", " vacuum:/ ": "vacuum:/", ":/vol/1/": ":/vol/1/", "vacuum@last:a/": "vacuum@last:a/",
		"vacuum/": "vacuum", "/group/x-1/job-00001/ ": "group/x-1/job-00001", "worker/w1/": "worker/w1", "/": "", "": "",
	} {
		assert.Equal(t, want, nameOf(thing), thing)
	}
}
