// Package explainer collects the facts about a thing that does not run. internal/engine/explain has the texts.
package explainer
