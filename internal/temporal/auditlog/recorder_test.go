package auditlog_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/temporal/auditlog"
)

func TestIdentitiesAreRead(t *testing.T) {
	t.Parallel()
	for identity, want := range map[string][2]string{
		auditlog.Identity("roundsman", "ann", "desk"): {"ann", "desk"},
		"temporal-cli:ann@desk":                       {"ann", "desk (temporal CLI)"},
		"temporal-cli:ann@corp.example@desk":          {"ann@corp.example", "desk (temporal CLI)"},
		"roundsman@host/4711":                         {"", "roundsman@host/4711"},
		"4711@worker@":                                {"", "4711@worker@"},
		"web:nobody":                                  {"", "web:nobody"},
		"web:@host":                                   {"", "web:@host"},
		"":                                            {"", ""},
	} {
		actor, from := auditlog.ParseIdentity(identity)
		assert.Equal(t, want, [2]string{actor, from}, identity)
	}
}
