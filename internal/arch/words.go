package arch

import (
	"fmt"
	"regexp"
	"strings"
)

// refusedWords have other words in docs/glossary.md and no other meaning in a comment. Words that are
// also an identifier or on the wire are excluded: a weed worker's first message is a hello.
var refusedWords = regexp.MustCompile(`(?i)\b(anew|beside|go(?:es)? on|went on|bounce[sd]?|farewells?|goodbyes?|heralds?|hush|sent ahead|audit trail|wish(es)?|put off|recall grace)\b`)

func wordRules() []Rule {
	return []Rule{{
		Name: "words", Source: "docs/glossary.md", Find: wordsOfOld,
		Fix: "write the glossary's word: again, next to or besides, continue, requeue, resume, register, deregister, prefetch, record",
	}, {
		Name: "sentence-subject", Source: "docs/glossary.md", Find: vagueSubjects,
		Fix: "name the thing: \"A job that runs continues\", not \"What runs continues\"",
	}}
}

// vagueSubject matches the start of a sentence. At the start of a comment, "What" may be an
// identifier.
var vagueSubject = regexp.MustCompile(`(?:^|[.!?] )(?:Who|Whoever|Nobody) [a-z]|[.!?] What [a-z]`)

// vagueSubjects checks comments of the product.
func vagueSubjects(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		for _, f := range p.code() {
			for _, comment := range f.AST.Comments {
				text := strings.Join(strings.Fields(comment.Text()), " ")
				for _, words := range vagueSubject.FindAllString(text, -1) {
					found = append(found, fmt.Sprintf("%s begins a sentence with %q", f.at(p, comment.Pos()), strings.Trim(words, ".!? ")))
				}
			}
		}
	}
	return found
}

// wordsOfOld checks only comments: a text for a machine may have any word.
func wordsOfOld(repo Repo) []string {
	var found []string
	for _, p := range repo.Packages {
		for _, f := range p.Files {
			for _, comment := range f.AST.Comments {
				text := strings.Join(strings.Fields(comment.Text()), " ")
				for _, word := range refusedWords.FindAllString(text, -1) {
					found = append(found, fmt.Sprintf("%s writes %q", f.at(p, comment.Pos()), word))
				}
			}
		}
	}
	return found
}
