// Package authoring has the operations on texts of users: configurations, specs of DAGs and proposals.
package authoring
