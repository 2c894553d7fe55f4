package api

import "strings"

// MessageRule is what holds between the fields of a message of a request, by keywords of
// JSON Schema with their values as JSON; nil: nothing does. It stands beside the fields
// where generators of clients let it be: not as anyOf or oneOf of the message itself, of
// which they would make several types.
func MessageRule(message string) map[string]string { return messageRules()[message] }

func messageRules() map[string]map[string]string {
	return map[string]map[string]string{
		// At least one thing is set; no deleted messages are nothing, which the field says.
		"SetMyStateRequest": {"allOf": `[` + anyOf("pinned", "mutedUntilMs", "hidden", "draft", "clearedBelow", "unread", "folder", "delete", "pushLevel", "thread") + `]`},
		"SetThread":         {"allOf": `[` + anyOf("follow", "read") + `]`},
		// A time is there where the kind is one, and only there.
		"SetRetentionRequest": {
			"if":   `{"required":["kind"],"properties":{"kind":{"const":"RETENTION_KIND_TIME"}}}`,
			"then": `{"required":["retentionS"]}`,
			"else": `{"not":{"required":["retentionS"]}}`,
		},
		// Merged messages become one, whose id is merge.id.
		"ForwardMessagesRequest": {
			"if":   `{"required":["merge"]}`,
			"then": `{"properties":{"messages":{"items":{"not":{"required":["id"]}}}}}`,
		},
		// What grows is text, and no poll; there is nothing beside it that must be whole.
		"SendMessageRequest": {
			"if":   `{"required":["streaming"],"properties":{"streaming":{"const":true}}}`,
			"then": `{"not":{"required":["poll"]},"properties":{"media":{"maxItems":0},"content":` + growing + `}}`,
		},
	}
}

// anyOf is that one of some fields is there.
func anyOf(fields ...string) string {
	return `{"anyOf":[{"required":["` + strings.Join(fields, `"]},{"required":["`) + `"]}]}`
}

const (
	// growing is content that is said part by part (contract.growsAs).
	growing = `{"required":["text"],"properties":{"type":{"pattern":"^(text|[a-z0-9_-]*[.][a-z0-9._-]*)$"}}}`
	// laterOnly is a message that is sent at a time: it does not grow.
	laterOnly = `{"properties":{"streaming":{"const":false}}}`
	// askedPoll is a poll as it is asked: what it came to is the server's to tell.
	askedPoll = `{"properties":{"voters":{"const":0},"endedAtMs":{"const":"0"},"options":{"items":{"properties":{"votes":{"const":0},"mine":{"const":false}}}}}}`
)
