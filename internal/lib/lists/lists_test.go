package lists_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

func TestNilAndEmptyLists(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"2", "1"}, lists.Map([]int{2, 1}, strconv.Itoa))
	assert.Equal(t, []string{}, lists.Map(nil, strconv.Itoa))
	assert.Equal(t, 2, lists.Count([]int{2, 1, 2}, func(n int) bool { return n == 2 }))
	assert.Zero(t, lists.Count(nil, func(int) bool { return true }))
	assert.Equal(t, []int{}, lists.OrEmpty([]int(nil)))
	assert.Equal(t, []int{1}, lists.OrEmpty([]int{1}))
}
