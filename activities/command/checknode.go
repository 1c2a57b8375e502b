package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"github.com/roundsman/roundsman/internal/lib/gotemplate"
	"github.com/roundsman/roundsman/internal/lib/launch"
)

// CheckNode implements [jobtype.NodeChecker]. It cannot check settings with templates.
func (h *Handler) CheckNode(ctx context.Context, detect, execute json.RawMessage) error {
	var faults []error
	for block, data := range map[string]json.RawMessage{"detect": detect, "execute": execute} {
		var written settings
		if len(data) == 0 || json.Unmarshal(data, &written) != nil {
			continue // validate reports that fault.
		}
		if _, err := exec.LookPath("bash"); err != nil && written.Shell != "" {
			faults = append(faults, fmt.Errorf("%s.shell: %w", block, noBash(err)))
		}
		if err := h.checkKeys(ctx, withoutTemplates(written.Spec)); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", block, err))
		}
	}
	return errors.Join(faults...)
}

func (h *Handler) checkKeys(ctx context.Context, keys launch.Spec) error {
	account, err := accountOf(ctx, keys)
	if err != nil {
		return err
	}
	p := program{launch: keys, account: account, shim: h.options.Shim, cgroups: &h.cgroups}
	if len(h.options.Shim) == 0 || !shims {
		return p.withoutShim()
	}
	return p.setup().Allowed()
}

func withoutTemplates(s launch.Spec) launch.Spec {
	if gotemplate.Templated(s.User) {
		s.Limits.PIDs = 0 // It depends on the user.
	}
	s = s.Map(func(_, text string) string {
		if gotemplate.Templated(text) {
			return ""
		}
		return text
	})
	s.Groups = slices.DeleteFunc(s.Groups, func(name string) bool { return name == "" })
	return s
}
