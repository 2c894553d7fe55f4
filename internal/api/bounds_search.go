package api

import (
	"math"

	"github.com/skein-im/skein/internal/search"
)

// searchBounds is of the search of messages.
func searchBounds() map[string]Bounds {
	return map[string]Bounds{
		"SearchMessagesRequest.query":           {MaxLength: search.MaxQuery},
		"SearchMessagesRequest.conversation":    matching(maybePattern).format("conversation"),
		"SearchMessagesRequest.sender":          optionalID(),
		"SearchMessagesRequest.types":           {Pattern: typePattern, MaxItems: search.MaxTypes},
		"SearchMessagesRequest.after_ms":        millis(),
		"SearchMessagesRequest.before_ms":       millis(),
		"SearchMessagesRequest.limit":           page(search.DefaultLimit, math.MaxUint32),
		"SearchMessagesRequest.cursor":          opaqueText().format("cursor"),
		"SearchMessagesResponse.found":          list(search.MaxLimit),
		"SearchMessagesResponse.next":           opaqueText(),
		"SearchMessagesResponse.known_until_ms": millis(),
		"FoundMessage.entry":                    {Required: true},
		"FoundMessage.matches":                  list(search.MaxMatches),
		"TextMatch.field":                       Bounds{Pattern: `^(text|fallback|caption|name|title|question|address|options\[[0-9]+\]\.text|entries\[[0-9]+\]\.(text|fallback))$`}.required(),
		"TextMatch.start":                       number(0, math.MaxUint32),
		"TextMatch.end":                         number(1, math.MaxUint32).required(),
	}
}

// maybePattern is of a conversation, or none.
const maybePattern = "^((dm:" + idChars + "{1,64}:" + idChars + "{1,64}|(grp|me):" + idChars + "{1,64}))?$"
