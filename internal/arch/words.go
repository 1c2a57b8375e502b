package arch

import (
	"fmt"
	"regexp"
	"strings"
)

// refusedWords are those of docs/glossary.md that it has other words for and that
// mean nothing else in a comment. What is also an identifier or on the wire is not
// among them: a weed worker's first message is a hello.
var refusedWords = regexp.MustCompile(`(?i)\b(anew|bounce[sd]?|farewells?|goodbyes?|heralds?|hush|sent ahead|audit trail|wish(es)?|put off|recall grace)\b`)

func wordRules() []Rule {
	return []Rule{{
		Name: "words", Source: "docs/glossary.md", Find: wordsOfOld,
		Fix: "write the glossary's word: again, requeue, resume, register, deregister, prefetch, record",
	}}
}

// wordsOfOld looks into comments only: a text that a machine reads may have any word.
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
