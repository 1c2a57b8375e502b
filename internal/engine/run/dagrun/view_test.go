package dagrun_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

// TestAKeyIsTheItemOfATask: the name of a task is only made of its item.
func TestAKeyIsTheItemOfATask(t *testing.T) {
	t.Parallel()
	p := start(t, `
version: 1
name: keys
tasks:
  - {id: com, noop: true}
  - {id: host, for_each: [node1.example.com, /var/log/x, "a: b", 7, {name: z}], command: [x]}
  - {id: both, matrix: {disk: [sda, sdb], host: [n1, n.2]}, command: [x]}
  - {id: dump, key: "dump/tuesday", command: [x]}
  - {id: get, for_each: [n9], key: "get/{{.Item}}", command: [x]}
`, dagrun.Config{})
	for key, want := range map[string][]string{
		"com": {"com"}, "example.com": nil, "node1.example.com": {"host.node1.example.com"}, "host.node1.example.com": {"host.node1.example.com"},
		"/var/log/x": {"host.-var-log-x"}, "-var-log-x": nil, "a: b": {"host.a--b"}, "7": {"host.7"}, `{"name":"z"}`: {"host.#4"}, "#4": nil,
		"sdb": {"both.sdb.n1", "both.sdb.n.2"}, "n.2": {"both.sda.n.2", "both.sdb.n.2"}, "2": nil,
		"dump/tuesday": {"dump"}, "dump/": nil, "get/n9": {"get.n9"},
	} {
		tasks, total := p.g.Tasks(dagrun.Filter{Key: key, Limit: 10})
		var got []string
		for _, task := range tasks {
			got = append(got, task.ID)
		}
		assert.Equal(t, want, got, key)
		assert.Len(t, want, total, key)
	}
}
