package mask_test

import (
	"encoding/base64"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/lib/mask"
)

func TestSecretsInASCIIAreMasked(t *testing.T) {
	t.Parallel()
	m := mask.New([]string{"pässwort😀1"})
	assert.NotContains(t, m.Text(`{"password": "p\u00e4sswort\ud83d\ude001"}`), "sswort")
}

// Programs print a secret in base64 with the line end of echo, or without padding.
func TestSecretsInBase64AreMasked(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"hunter2+", "hunter2+x", "hunter2+xy", "\xff\xfe\xfd\xfc\xfb"} {
		m := mask.New([]string{secret})
		for name, printed := range map[string]string{
			"padded": base64.StdEncoding.EncodeToString([]byte(secret)), "echo": base64.StdEncoding.EncodeToString([]byte(secret + "\n")),
			"raw": base64.RawStdEncoding.EncodeToString([]byte(secret)), "URL": base64.RawURLEncoding.EncodeToString([]byte(secret)),
		} {
			assert.NotContains(t, m.Text("x: "+printed+" y"), printed[:len(printed)-4], "%s of %q", name, secret)
		}
		assert.Equal(t, "x: *** y", m.Text("x: "+base64.StdEncoding.EncodeToString([]byte(secret))+" y"))
	}
}

// pieces returns a text in pieces of given sizes, and each size as the last one, too.
type pieces struct {
	text  string
	sizes []int
}

func (p *pieces) Read(to []byte) (int, error) {
	size := 1
	if len(p.sizes) > 0 {
		size, p.sizes = p.sizes[0], p.sizes[1:]
	}
	n := copy(to[:min(size, len(to))], p.text)
	if p.text = p.text[n:]; p.text == "" {
		return n, io.EOF
	}
	return n, nil
}

// A secret is masked wherever the output is cut, and nothing else is changed.
func TestReaderProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`[ab]{4,9}`), 1, 3).Draw(t, "secrets")
		words := append([]string{"a", "b", "c", " ", "\n", "ab", "ba"}, secrets...)
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 30).Draw(t, "text"), "")
		m := mask.New(secrets)
		out, err := io.ReadAll(m.Reader(&pieces{text, rapid.SliceOfN(rapid.IntRange(0, 12), 0, 40).Draw(t, "sizes")}))
		require.NoError(t, err)
		require.Equal(t, m.Text(text), string(out))
		for _, secret := range secrets {
			require.NotContains(t, string(out), secret)
		}
		var shown []string
		for part := range strings.SplitSeq(string(out), "***") {
			shown = append(shown, part)
		}
		rest := text
		for _, part := range shown {
			_, after, found := strings.Cut(rest, part)
			require.True(t, found, "%q is in %q", part, text)
			rest = after
		}
	})
}

var codes = regexp.MustCompile("\x1b(\\[[0-9;]*[mK]|\\(B)")

// TestTerminalCodesHideNoSecret: the text on a terminal has no secret, for codes and cuts at any place.
func TestTerminalCodesHideNoSecret(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const secret = "hunter2+"
		var printed strings.Builder
		printed.WriteString(rapid.StringMatching(`[hu\x1b\[ ]{0,5}`).Draw(t, "before"))
		for _, b := range secret {
			printed.WriteRune(b)
			printed.WriteString(strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"\x1b[01;31m", "\x1b[K", "\x1b(B\x1b[m", "\x1b[38;5;196m"}), 0, 3).Draw(t, "codes"), ""))
		}
		printed.WriteString(rapid.StringMatching(`[hu\x1b\[ ]{0,5}`).Draw(t, "after"))
		out, err := io.ReadAll(mask.New([]string{secret}).Reader(&pieces{printed.String(), rapid.SliceOfN(rapid.IntRange(0, 12), 0, 40).Draw(t, "sizes")}))
		require.NoError(t, err)
		require.NotContains(t, codes.ReplaceAllString(string(out), ""), secret)
		require.Contains(t, string(out), "***")
	})
}

// TestEndlessCodesAreNotKeptBack: a program may print codes for ever.
func TestEndlessCodesAreNotKeptBack(t *testing.T) {
	t.Parallel()
	for _, codes := range []string{"\x1b[" + strings.Repeat("1;", 100_000), strings.Repeat("\x1b[m", 100_000)} {
		reader := mask.New([]string{"hunter2+"}).Reader(io.MultiReader(strings.NewReader("h"+codes), blocked{}))
		read, want := 0, len(codes)-4<<10
		for buffer := make([]byte, 64<<10); read < want; {
			n, err := reader.Read(buffer)
			require.NoError(t, err)
			read += n
		}
	}
}

// blocked ends the test that reads it.
type blocked struct{}

func (blocked) Read([]byte) (int, error) { return 0, errors.New("it was kept back") }

func TestShortTextsAreNoSecrets(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "abc and line", mask.New([]string{"abc", "line\nline"}).Text("abc and line"))
	assert.Equal(t, "*** and abcdefgh", mask.New([]string{"first line\nabc"}).Text("first line and abcdefgh"))
	var none *mask.Masker
	assert.Equal(t, "text", none.Text("text"))
}
