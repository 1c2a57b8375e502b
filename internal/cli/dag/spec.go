package dag

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

// compileSpec reads and compiles a spec. Its faults carry the given path, so that an editor can follow them.
func (c *commands) compileSpec(name string, params [][2]string) (*spec.Compiled, error) {
	data, err := c.ReadSpec(name)
	if err != nil {
		return nil, err
	}
	defer collectOften(len(data))()
	dir, base := filepath.Dir(name), filepath.Base(name)
	if name == ui.StdinName {
		dir, base = ".", ui.StdinFile
	}
	compiled, err := compileIn(dir, base, data, params)
	if faults, ok := errors.AsType[spec.Faults](err); ok {
		err = filesIn(dir, faults)
	}
	if err != nil {
		return nil, ui.Faulty(err)
	}
	return compiled, nil
}

func filesIn(dir string, faults spec.Faults) spec.Faults {
	for i := range faults {
		if dir != "." {
			faults[i].File = filepath.Join(dir, filepath.FromSlash(faults[i].File))
		}
	}
	return faults
}

// Collecting more often costs half as much time again, for less memory. end restores the setting.
func collectOften(size int) (end func()) {
	const large, percent = 1 << 20, 20
	if size < large {
		return func() {}
	}
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}

// compileIn refuses files outside dir, also behind symbolic links.
func compileIn(dir, base string, data []byte, params [][2]string) (*spec.Compiled, error) {
	loaded, err := spec.Load(base, data)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	for _, param := range params {
		values[param[0]] = param[1]
	}
	if err := loaded.SetParams(values); err != nil {
		return nil, err
	}
	tree, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	return spec.Compile(loaded, rootFiles{tree})
}

type rootFiles struct{ *os.Root }

// ReadFile implements spec.Files. One byte beyond the limit distinguishes a file that is too large from one that just fits.
func (r rootFiles) ReadFile(name string) ([]byte, error) {
	file, err := r.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, spec.MaxFileSize+1))
}

// travelSize returns the size of the graph in a message, or the reason why it cannot be sent.
func travelSize(compiled *spec.Compiled) (int, error) {
	defer collectOften(compiled.Spec.Size())()
	payloads, err := starter.DataConverter().ToPayloads(compiled.Graph.Encode())
	if err != nil {
		return 0, fmt.Errorf("DAG %s: %w", compiled.Header.Name, err)
	}
	size := 0
	for _, payload := range payloads.GetPayloads() {
		size += len(payload.GetData())
	}
	if size > starter.MaxDAGBytes {
		return size, &starter.DAGTooLargeError{Name: compiled.Header.Name, Tasks: compiled.Graph.Len(), Bytes: size}
	}
	return size, nil
}
