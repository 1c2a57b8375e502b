package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// RunCommon is the data common to all jobs of a run, cached by workers, see [ExecuteInput.Common].
type RunCommon struct {
	Params   json.RawMessage `json:"params,omitempty"`
	Settings json.RawMessage `json:"settings,omitempty"`
	Cluster  json.RawMessage `json:"cluster,omitempty"`
}

// MinCommonBytes is the smallest size that gets an id.
const MinCommonBytes = 128

// Bytes returns the total size.
func (c RunCommon) Bytes() int { return len(c.Params) + len(c.Settings) + len(c.Cluster) }

// ID returns a hash of the content: equal ids mean equal bytes.
func (c RunCommon) ID() string {
	h := sha256.New()
	for _, part := range [][]byte{c.Params, c.Settings, c.Cluster} {
		sum := sha256.Sum256(part)
		h.Write(sum[:])
	}
	const short = 16 // As long as a UUID, so contents of a namespace do not collide.
	return hex.EncodeToString(h.Sum(nil)[:short])
}

// QueryCommon takes the id of a [RunCommon] and returns it, for a worker without its copy.
const QueryCommon = "common"
