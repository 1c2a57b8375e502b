package buildinfo

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRecorded(t *testing.T) {
	t.Parallel()
	dep := func(version string, replace *debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{
			Main: debug.Module{Path: "example.com/ours", Version: "v9.9.9"},
			Deps: []*debug.Module{
				{Path: "example.com/other", Version: "v8.8.8"},
				{Path: modulePath, Version: version, Replace: replace},
			},
		}
	}
	tests := map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"installed by version":        {&debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "v1.2.3"}}, "v1.2.3"},
		"built in a working tree":     {&debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "(devel)"}}, ""},
		"a dependency of a binary":    {dep("v1.4.0", nil), "v1.4.0"},
		"replaced by a fork":          {dep("v1.4.0", &debug.Module{Path: "example.com/fork", Version: "v1.4.1"}), "v1.4.1"},
		"replaced by a directory":     {dep("v1.4.0", &debug.Module{Path: "../roundsman"}), ""},
		"a build that has nothing":    {&debug.BuildInfo{}, ""},
		"somebody else's binary only": {&debug.BuildInfo{Main: debug.Module{Path: "example.com/ours", Version: "v9.9.9"}}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, recorded(tt.info))
		})
	}
}

func TestVersionIsNeverEmpty(t *testing.T) {
	t.Parallel()
	assert.NotEmpty(t, Version())
}

// A binary with its own handlers has its own name.
func TestOwnBinariesAreNamed(t *testing.T) {
	t.Parallel()
	for want, info := range map[string]debug.BuildInfo{
		"":               {Path: modulePath + "/cmd/roundsman", Main: debug.Module{Path: modulePath, Version: "v1.2.3"}},
		"cleaner v9.9.9": {Path: "example.com/ours/cmd/cleaner", Main: debug.Module{Path: "example.com/ours", Version: "v9.9.9"}},
		"tempfiles":      {Path: "example.com/tempfiles", Main: debug.Module{Path: "example.com/tempfiles", Version: "(devel)"}},
	} {
		assert.Equal(t, want, own(&info))
	}
	assert.Equal(t, "roundsman "+Version(), Program())
}
