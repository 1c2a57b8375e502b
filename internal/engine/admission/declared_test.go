package admission

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/jobtype"
)

// declares requests n of the pool db with a configuration of that time that declares that size.
func (p *play) declares(who string, n, size int, at time.Time) []Decision {
	return p.step(Requested{Holder: group(who), JobType: who, Grace: jobtype.Duration(grace), DeclaredAt: at, Items: []Request{
		{ID: "db", Pools: []Amount{{Pool: "db", N: n, Size: size}}},
	}})
}

// TestASmallerDeclarationRefusesWhatCanNeverBeHad: `apply` makes the pool smaller than a waiting
// request needs. That request must not wait for ever, nor reserve the pool.
func TestASmallerDeclarationRefusesWhatCanNeverBeHad(t *testing.T) {
	t.Parallel()
	p := ready()
	assert.Equal(t, []string{"a granted"}, told(p.declares("a", 3, 5, epoch)))
	assert.Empty(t, p.declares("large", 5, 5, epoch))
	assert.Equal(t, []string{"large TOO_LARGE"}, told(p.declares("new", 1, 3, epoch.Add(time.Minute))))
	assert.Equal(t, []string{"new granted"}, told(p.release("a")))
}

// TestASmallerDeclarationOutlivesTheOnlyRequest: the refused request was the only one that named the pool.
func TestASmallerDeclarationOutlivesTheOnlyRequest(t *testing.T) {
	t.Parallel()
	p := ready()
	object := []Object{{Name: "x"}}
	assert.Equal(t, []string{"a granted"}, told(p.ask("a", Request{ID: "x", Objects: object})))
	assert.Empty(t, p.step(Requested{Holder: group("large"), JobType: "large", Grace: jobtype.Duration(grace), DeclaredAt: epoch, Items: []Request{
		{ID: "db", Objects: object, Pools: []Amount{{Pool: "db", N: 5, Size: 5}}},
	}}))
	assert.Equal(t, []string{"large TOO_LARGE", "new granted"}, told(p.declares("new", 2, 3, epoch.Add(time.Minute))))
	assert.Equal(t, 3, p.d.View(everything{}).Pools[0].Size)
}
