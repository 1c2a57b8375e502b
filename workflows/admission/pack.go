package admission

import (
	"fmt"

	"github.com/roundsman/roundsman/internal/engine/admission"
	"github.com/roundsman/roundsman/internal/lib/pack"
)

// maxUnpacked guards against corrupt input.
const maxUnpacked = 64 << 20

func unpackState(packed []byte) (*admission.Core, error) {
	var snapshot admission.Snapshot
	if err := pack.OpenJSON(packed, maxUnpacked, &snapshot); err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	return admission.Restore(snapshot)
}
