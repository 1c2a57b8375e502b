package spec

// LoadLarge and LoadWhole are the two implementations of [Load].
func LoadLarge(file string, data []byte) *Spec { return loadLarge(file, data) }

// LoadWhole reads every document into one tree.
func LoadWhole(file string, data []byte) (*Spec, error) { return loadWhole(file, data) }
