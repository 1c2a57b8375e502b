package hook

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/launch"
)

const (
	owedSuffix = ".hooks.json"
	newSuffix  = ".new"
)

// Owed are the closing hooks of an attempt that have not ended. Its file survives the process and the machine.
type Owed struct {
	// Job, Key and Attempt are those of the owner of the program.
	Job     string `json:"job,omitempty"`
	Key     string `json:"key,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Launch has the secrets as references. Own are the variables of Roundsman.
	Launch  launch.Spec   `json:"launch"`
	Own     []string      `json:"own,omitempty"`
	Outcome Outcome       `json:"outcome"`
	Pending []launch.Hook `json:"pending"`

	path string
}

// Open gives the hooks a file in dir, unless dir is empty.
func (o *Owed) Open(dir, name string) error {
	if dir == "" || len(o.Pending) == 0 {
		return nil
	}
	o.path = filepath.Join(dir, name+owedSuffix)
	return o.save()
}

// Settle notes the outcome. Without a failure it drops the hook on_failure.
func (o *Owed) Settle(outcome Outcome) error {
	o.Outcome = outcome
	if !outcome.Failed() && len(o.Pending) > 0 && o.Pending[0].Name == launch.HookOnFailure {
		o.Pending = o.Pending[1:]
	}
	return o.save()
}

// Next returns the next hook; nil at the end.
func (o *Owed) Next() *launch.Hook {
	if len(o.Pending) == 0 {
		return nil
	}
	return &o.Pending[0]
}

// Done removes the hook that Next has returned.
func (o *Owed) Done() error {
	o.Pending = o.Pending[1:]
	return o.save()
}

// save replaces the file, and removes it if nothing is owed.
func (o *Owed) save() error {
	if o.path == "" {
		return nil
	}
	if len(o.Pending) == 0 {
		return os.Remove(o.path)
	}
	encoded, err := json.Marshal(o)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(o.path+newSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(encoded)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(o.path+newSuffix, o.path)
}

// Read returns the hooks that earlier processes owe. A file that cannot be read is removed.
func Read(dir string) ([]*Owed, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*"+owedSuffix+"*"))
	if err != nil {
		return nil, err
	}
	var list []*Owed
	for _, path := range paths {
		o := &Owed{path: path}
		encoded, err := os.ReadFile(path)
		if err != nil || !strings.HasSuffix(path, owedSuffix) || json.Unmarshal(encoded, o) != nil {
			_ = os.Remove(path)
			continue
		}
		list = append(list, o)
	}
	return list, nil
}
