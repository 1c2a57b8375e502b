package launch

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Bounds of [Hooks.Timeout].
const (
	DefaultHookTimeout = jobtype.Duration(time.Minute)
	MinHookTimeout     = jobtype.Duration(time.Second)
	MaxHookTimeout     = jobtype.Duration(time.Hour)
)

// Names of hooks.
const (
	HookBefore    = "before"
	HookOnFailure = "on_failure"
	HookFinally   = "finally"
)

// Hooks are programs that run around that of a job, in the same way.
type Hooks struct {
	// Before runs first. If it fails, the program does not start.
	Before []string `json:"before,omitempty"`
	// OnFailure runs after a failure, Finally after every end, in this order.
	OnFailure []string `json:"on_failure,omitempty"`
	Finally   []string `json:"finally,omitempty"`
	// Timeout bounds each hook; nil: [DefaultHookTimeout].
	Timeout *jobtype.Duration `json:"timeout,omitempty"`
}

// Limit returns the time that each hook may take.
func (h Hooks) Limit() time.Duration { return cmp.Or(h.Timeout, new(DefaultHookTimeout)).Std() }

// Hook is one of [Hooks].
type Hook struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
}

// All returns the hooks that are set, in the order in which they run.
func (h Hooks) All() []Hook {
	var set []Hook
	for _, one := range []Hook{{HookBefore, h.Before}, {HookOnFailure, h.OnFailure}, {HookFinally, h.Finally}} {
		if len(one.Command) > 0 {
			set = append(set, one)
		}
	}
	return set
}

func (h Hooks) mapped(change func(path, text string) string) Hooks {
	h.Before = mapAll("hooks.before", h.Before, change)
	h.OnFailure = mapAll("hooks.on_failure", h.OnFailure, change)
	h.Finally = mapAll("hooks.finally", h.Finally, change)
	return h
}

func (h Hooks) faults() []error {
	var faults []error
	for _, one := range h.All() {
		if one.Command[0] == "" {
			faults = append(faults, fmt.Errorf("hooks.%s: names no program", one.Name))
		}
	}
	if h.Timeout == nil {
		return faults
	}
	if *h.Timeout < MinHookTimeout || *h.Timeout > MaxHookTimeout {
		faults = append(faults, fmt.Errorf("hooks.timeout: %s is out of range: use %s to %s", *h.Timeout, MinHookTimeout, MaxHookTimeout))
	}
	if len(h.All()) == 0 {
		faults = append(faults, errors.New("hooks.finally: name a program, for example [umount, /backup]"))
	}
	return faults
}
