// Package authoring has the operations that take what people write: configurations,
// specs of DAGs and proposals. It checks them, says what they would do, and does it.
package authoring
