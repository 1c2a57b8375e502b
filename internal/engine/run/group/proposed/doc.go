// Package proposed keeps the proposals that one job stands for: a single one, or a batch of them.
package proposed
