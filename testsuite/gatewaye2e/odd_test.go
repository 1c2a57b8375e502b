package gatewaye2e

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestOddNames: every operation that reads answers impossible names with 404 or 422, and unknown workers with
// 404.
func TestOddNames(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.key("boss", "--role", "admin")
	g.apply(jobType("scrub", "tidy", ""))
	for _, odd := range []string{"\x00", "a\nb", "\xff\xfe", "\u0085", "a\x1b[31m"} {
		for _, o := range readers(t) {
			names := map[string]string{}
			for _, name := range []string{"name", "run", "item", "id", "pool", "key", "task"} {
				names[name] = odd
			}
			path := o.filled(names)
			if path == o.path {
				continue
			}
			status, body := g.raw("boss", "/api/v1"+path, nil)
			assert.Contains(t, []int{http.StatusNotFound, http.StatusUnprocessableEntity}, status, "%q of %s: %s", odd, o.path, body)
		}
	}
	for _, o := range readers(t) {
		if path := o.filled(map[string]string{"id": "nobody"}); path != o.path {
			status, body := g.raw("boss", "/api/v1"+path, nil)
			assert.Equal(t, http.StatusNotFound, status, "%s: %s", o.path, body)
		}
	}
	actions := map[string]object{"drain": {}, "cordon": {}, "uncordon": {}, "remove": {}, "resize": {"max_execute": 2}}
	for _, action := range slices.Sorted(maps.Keys(actions)) {
		a := g.as("boss").post("/workers/nobody/"+action, actions[action])
		assert.Equal(t, http.StatusNotFound, a.status, "%s: %v", action, a.body)
	}
}
