package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// module writes an invented module and returns its directory.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.com/m\n\ngo 1.24\n"
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

func TestWhatMakesAPackageRacy(t *testing.T) {
	t.Parallel()
	const product = "package p\n"
	for name, c := range map[string]struct{ product, test, want string }{
		"nothing":               {product, "var table = map[string]int{\"a\": 1}\nfunc f() int { local := 1; local++; return local + table[\"a\"] }\n", ""},
		"a goroutine":           {product, "func f() { go f() }\n", "p_test.go has a goroutine"},
		"a goroutine, product":  {product + "func f() { go f() }\n", "", "p.go has a goroutine"},
		"a channel":             {product, "func f(c <-chan int) { <-c }\n", "p_test.go has a channel"},
		"a lock":                {product, "import \"sync\"\nvar mu sync.Mutex\n", "p_test.go has sync.Mutex"},
		"a lock, renamed":       {product, "import s \"sync\"\nvar mu s.Mutex\n", "p_test.go has sync"},
		"a value made once":     {product, "import \"sync\"\nvar v = sync.OnceValue(func() int { return 1 })\n", ""},
		"a server":              {product, "import _ \"net/http/httptest\"\n", "p_test.go has net/http/httptest"},
		"a process":             {product, "import \"os/exec\"\nfunc f() { exec.Command(\"a\").Start() }\n", "p_test.go has os/exec with Start"},
		"a process, renamed":    {product, "import _ \"os/exec\"\n", "p_test.go has os/exec"},
		"a process's output":    {product, "import \"os/exec\"\nfunc f() { exec.Command(\"a\").Output() }\n", ""},
		"an address":            {product, "import \"net\"\nvar ip = net.ParseIP(\"::1\")\n", ""},
		"a timer":               {product, "import \"time\"\nfunc f() { time.AfterFunc(0, f) }\n", "p_test.go has time.AfterFunc"},
		"a variable":            {product + "var count int\n", "func f() { count = 1 }\n", "p_test.go has a variable that is written: count"},
		"a counter":             {product, "var count int\nfunc f() { count++ }\n", "p_test.go has a variable that is written: count"},
		"an entry":              {product, "var table = map[string]int{}\nfunc f() { table[\"a\"] = 1 }\n", "p_test.go has a variable that is written: table"},
		"a field by an address": {product, "var v struct{ n int }\nfunc f() *int { return &v.n }\n", "p_test.go has a variable that is written: v"},
		"a deleted entry":       {product, "var table = map[string]int{}\nfunc f() { delete(table, \"a\") }\n", "p_test.go has a variable that is written: table"},
		"what it links":         {product, "import _ \"example.com/m/q\"\n", "example.com/m/q: q.go has a goroutine"},
		"what that links":       {product, "import _ \"example.com/m/r\"\n", "example.com/m/q: q.go has a goroutine"},
		"what guards itself":    {product, "import _ \"example.com/m/guarded\"\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := module(t, map[string]string{
				"p/p.go": c.product, "p/p_test.go": "package p\n" + c.test,
				"q/q.go": "package q\nfunc F() { go F() }\n", "r/r.go": "package r\nimport _ \"example.com/m/q\"\n",
				"guarded/g.go": "package guarded\nimport \"sync\"\nvar Mu sync.Mutex\n",
			})
			packages, err := list(t.Context(), "go", dir, "./...")
			require.NoError(t, err)
			found, err := racy(packages)
			require.NoError(t, err)
			assert.Equal(t, c.want, found["example.com/m/p"])
		})
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{
		"ae2e/a_test.go":    "package ae2e\n",
		"be2e/b_test.go":    "package be2e\n",
		"pure/p_test.go":    "package pure\n",
		"slow/s_test.go":    "package slow\n",
		"racy/r_test.go":    "package racy\nfunc f() { go f() }\n",
		"missing/README.md": "",
	})
	o := options{
		goCommand: "go", modules: []string{dir}, packages: []string{"./..."}, race: true, ends: "e2e$", slowest: "be2e slow",
		endsFlags: []string{"-p", "2"}, unitFlags: []string{"-p", "3"}, flags: []string{"-v"},
	}
	jobs, err := plan(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, []job{
		{step: "test: units of " + dir, dir: dir, packages: []string{"example.com/m/slow", "example.com/m/pure"}, flags: []string{"-p", "3", "-v"}},
		{step: "test: units of " + dir + " that can race", dir: dir, packages: []string{"example.com/m/racy"}, flags: []string{"-race", "-p", "3", "-v"}},
		{step: "test: end to end of " + dir, dir: dir, packages: []string{"example.com/m/be2e", "example.com/m/ae2e"}, flags: []string{"-p", "2", "-v"}, again: true},
	}, jobs)

	o.withoutRace = []string{"racy"}
	jobs, err = plan(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, jobs, 2)
	assert.ElementsMatch(t, []string{"example.com/m/slow", "example.com/m/pure", "example.com/m/racy"}, jobs[0].packages)

	o.withoutRace, o.ends = []string{dir}, ""
	jobs, err = plan(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	assert.Equal(t, []string{"-p", "3", "-v"}, jobs[0].flags)
	assert.Len(t, jobs[0].packages, 5)
}
