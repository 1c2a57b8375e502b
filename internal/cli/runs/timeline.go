package runs

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

// FlagTree lists the tasks of a DAG as a tree.
const FlagTree = "tree"

// addTimes adds the ready, start and end times of the tasks of an ended run, and sorts the tasks by them.
func (c *commands) addTimes(ctx *cli.Context, client *starter.Client, shown *shownRun) {
	if shown.Progress == nil || shown.Progress.Total > starter.MaxTimed {
		return
	}
	timed, err := client.Runs().Timeline(ctx.Context, shown.Snapshot, shown.Items)
	c.Note(err)
	shown.Items = timed
}

const treeRuns = 100

// printTree lists tasks below one of their needs, one step deeper. The tasks of a sub-DAG stand below its task.
func (c *commands) printTree(ctx *cli.Context, client *starter.Client, shown shownRun) {
	left, leftOut := treeRuns, 0
	var inside func(item starter.Item) []starter.Item
	inside = func(item starter.Item) []starter.Item {
		if item.Kind != string(starter.KindDAG) || item.StartedAt.IsZero() {
			return nil
		}
		if left--; left < 0 {
			leftOut++
			return nil
		}
		inner := starter.RunRef{WorkflowID: contract.SubDAGWorkflowID(item.Run.WorkflowID, item.ID)}
		items, total, err := client.Runs().Items(ctx.Context, inner, starter.ItemFilter{Limit: mostShown})
		if err != nil {
			c.Note(err)
			return nil
		}
		shown.Total += total
		return treeOf(items, inside)
	}
	tree := treeOf(shown.Items, inside)
	c.printItems(tree, shown.Total, "nothing matches", false)
	if leftOut > 0 {
		c.Print("the tasks of %s are not listed", ui.Plural(leftOut, "other sub-DAG"))
	}
}

const deeper = "· "

// below returns the indented name of a task of a sub-DAG.
func below(task string, depth int, inner string) string {
	name := strings.TrimLeft(inner, deeper)
	return strings.Repeat(deeper, depth+1) + strings.TrimSuffix(inner, name) + task + "/" + name
}

// treeOf puts each task after the need with the longest path to it, indented by its length.
func treeOf(items []starter.Item, inside func(starter.Item) []starter.Item) []starter.Item {
	at, depth, next := map[string]int{}, make([]int, len(items)), map[int][]int{}
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
		next[parent[i]] = append(next[parent[i]], i)
	}
	var ordered []starter.Item
	var list func(of int)
	list = func(of int) {
		for _, i := range next[of] {
			item := items[i]
			item.ID = strings.Repeat(deeper, depth[i]) + item.ID
			if others := othersOf(item.Needs, of, items); len(others) > 0 {
				item.ID += " (also needs " + strings.Join(others, ", ") + ")"
			}
			ordered = append(ordered, item)
			for _, inner := range inside(items[i]) {
				inner.ID = below(items[i].ID, depth[i], inner.ID)
				ordered = append(ordered, inner)
			}
			list(i)
		}
	}
	list(-1)
	return ordered
}

// othersOf returns the first few needs of a task, except its parent in the tree.
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
