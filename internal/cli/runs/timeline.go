package runs

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

const flagTree = "tree"

// addTimes adds when the tasks of a run that has ended were ready, began and ended, and
// puts them into that order.
func (c *commands) addTimes(ctx *cli.Context, client *starter.Client, shown *shownRun) {
	if shown.Progress == nil || shown.Progress.Total > starter.MaxTimed {
		return
	}
	timed, err := client.Runs().Timeline(ctx.Context, shown.Snapshot, shown.Items)
	c.Note(err)
	shown.Items = timed
}

// printTree lists tasks below one of their needs, one step deeper.
func (c *commands) printTree(items []starter.Item, total int) {
	c.printItems(treeOf(items), total, "nothing matches", false)
}

// treeOf orders tasks so that each follows the need with the longest way to it, and
// indents its name by how long that is.
func treeOf(items []starter.Item) []starter.Item {
	at, depth, below := map[string]int{}, make([]int, len(items)), map[int][]int{}
	for i, item := range items {
		at[item.ID] = i
	}
	parent := make([]int, len(items))
	done := make([]bool, len(items))
	var place func(i int)
	place = func(i int) {
		if done[i] {
			return
		}
		done[i], parent[i] = true, -1
		for _, need := range items[i].Needs {
			k, known := at[need]
			if !known {
				continue
			}
			if place(k); depth[k]+1 > depth[i] {
				depth[i], parent[i] = depth[k]+1, k
			}
		}
	}
	for i := range items {
		place(i)
		below[parent[i]] = append(below[parent[i]], i)
	}
	var ordered []starter.Item
	var list func(of int)
	list = func(of int) {
		for _, i := range below[of] {
			item := items[i]
			item.ID = strings.Repeat("· ", depth[i]) + item.ID
			if others := othersOf(item.Needs, of, items); len(others) > 0 {
				item.ID += " (also needs " + strings.Join(others, ", ") + ")"
			}
			ordered = append(ordered, item)
			list(i)
		}
	}
	list(-1)
	return ordered
}

// othersOf are the needs of a task besides the one that it stands below, the first few.
func othersOf(needs []string, parent int, items []starter.Item) []string {
	const most = 3
	others := slices.Clone(needs)
	if parent >= 0 {
		others = slices.DeleteFunc(others, func(id string) bool { return id == items[parent].ID })
	}
	if len(others) > most {
		others = append(others[:most], ui.Plural(len(others)-most, "other"))
	}
	return others
}
