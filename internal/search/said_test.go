package search

import "testing"

// A link is an address with a host, whatever its case; text that only looks like one is
// none.
func TestLink(t *testing.T) {
	for text, want := range map[string]bool{
		"https://ok.example": true, "see HTTPS://UPPER.example now": true, "Http://mixed.example": true, "[text](https://md.example)": true,
		"http://[::1]/": true, "http://例え.jp": true, "": false, "http:// nohost": false, "xhttp://a.b": false, "https://": false, "http:/a": false, "example.org": false,
	} {
		if got := link.MatchString(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
