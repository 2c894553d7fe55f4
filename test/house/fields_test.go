package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fieldless are the refusals with invalid_argument that no field is to blame for, by the
// line that makes them, each with its reason.
var fieldless = map[string]string{
	`"the message is no frame"`:                    "what cannot be read as a frame has no fields; the decoder names one where it got so far",
	`"the request cannot be read"`:                 "the same of a request",
	`"the request did not arrive completely"`:      "the connection broke",
	`"the provider's answer cannot be read"`:       "a page of the browser, no method",
	`"the form must be UTF-8"`:                     "a page of the browser, no method",
	`"the checksum is of other bytes`:              "tus: the status 460 says what is wrong",
	`"it is so already"`:                           "never told: the amendment is answered without a seq",
	`Code: CodeInvalidArgument, Field: field`:      "im.Wrong, which names one",
	`Code: im.CodeInvalidArgument, Field: "token"`: "names one",
}

var madeInvalid = regexp.MustCompile(`(Errorf|Wrap)\(.*CodeInvalidArgument|Code: +(im\.)?CodeInvalidArgument`)

// A client that is told invalid_argument shows its user which field is wrong: SPEC §10.
// So it is made by im.Wrong, and what else makes it says why no field is to blame.
func TestInvalidArgumentsNameTheirField(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir("../../internal", func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_gen.go") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
	lines:
		for n, line := range strings.Split(string(raw), "\n") {
			if !madeInvalid.MatchString(line) {
				continue
			}
			for part := range fieldless {
				if strings.Contains(line, part) {
					used[part] = true
					continue lines
				}
			}
			t.Errorf("%s:%d: invalid_argument without a field; im.Wrong names it", path, n+1)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for part, why := range fieldless {
		if !used[part] {
			t.Errorf("nothing says %s any more (%s)", part, why)
		}
	}
}
