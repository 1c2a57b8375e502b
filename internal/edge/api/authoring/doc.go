// Package authoring has the operations on texts of users: configurations, specs of DAGs and proposals. It
// validates them, previews their effect and carries them out.
package authoring
