package api

import (
	"encoding/json"
	"fmt"
	"testing"
)

// What is wrong is named, also where it is one of many or shows late.
func TestRefusalsNameTheField(t *testing.T) {
	w := newWorld(t)
	s := w.scene(asOwner)
	for _, c := range []struct {
		method, body string
		code, field  string
	}{
		{"MessageService/SetMyState", fmt.Sprintf(`{"conversation":%q,"delete":[%d,0]}`, s.group, s.said), "invalid_argument", "delete[1]"},
		{"MessageService/SetMyState", fmt.Sprintf(`{"conversation":%q,"delete":[%d,9999]}`, s.group, s.said), "not_found", "delete"}, // and the message has the number,
		{"MessageService/SetMyState", fmt.Sprintf(`{"conversation":%q,"draft":"%5000s"}`, s.group, "tea"), "too_large", "draft"},
		{"MessageService/SetMyState", fmt.Sprintf(`{"conversation":%q}`, s.group), "invalid_argument", "pinned"}, // none of what may be set: the first
		{"MessageService/StreamMessage", fmt.Sprintf(`{"conversation":%q,"seq":%d,"offset":4000,"text":"x"}`, s.group, s.myStream), "part_missing", "offset"},
	} {
		resp := do(w.http, post(c.method, s.me.token, c.body))
		var refused struct{ Code, Field string }
		if err := json.Unmarshal(resp.Body.Bytes(), &refused); err != nil {
			t.Fatal(err)
		}
		if refused.Code != c.code || refused.Field != c.field {
			t.Errorf("%s %.90s: %d %s", c.method, c.body, resp.Code, resp.Body)
		}
	}
}
