package fleet

const (
	// refined is the number of trusted entries described per poll for an exact skew: all of a small fleet, a block in
	// turn of a large one.
	refined = 16
	// refinedPolls span more than one interval, so that a beat falls between two of them.
	refinedPolls = 4
)

func (t *tracker) choose(found []sighting) []int {
	var chosen, trusted []int
	for i, s := range found {
		if s.near && t.trusts(s.owner) {
			trusted = append(trusted, i)
		} else {
			chosen = append(chosen, i)
		}
	}
	t.polls++
	blocks := max(1, (len(trusted)+refined-1)/refined)
	block := t.polls / refinedPolls % blocks
	return append(chosen, trusted[min(block*refined, len(trusted)):min((block+1)*refined, len(trusted))]...)
}
