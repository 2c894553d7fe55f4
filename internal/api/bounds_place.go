package api

import (
	"math"

	"github.com/skein-im/skein/internal/announce"
	"github.com/skein-im/skein/internal/filter"
	"github.com/skein-im/skein/internal/im"
)

// placeBounds is of what the deployment announces, and of what it does not allow.
func placeBounds() map[string]Bounds {
	text := Bounds{Pattern: linesPattern, MinLength: 1, MaxLength: im.MaxAnnouncementText}.required().format("visible")
	return map[string]Bounds{
		"GetAnnouncementsResponse.announcements": list(im.MaxAnnouncements),
		"GetAnnouncementsResponse.revision":      count(),
		"Announcement.id":                        id().required(),
		"Announcement.level":                     {Required: true},
		"Announcement.text":                      text,
		"Announcement.texts":                     list(im.MaxAnnouncementTexts),
		"Announcement.created_at_ms":             millis().required(),
		"Announcement.until_ms":                  millis(),
		"AnnouncementText.language":              matching(announce.LanguagePattern).required(),
		"AnnouncementText.text":                  text,
		"AnnounceRequest.text":                   text,
		"AnnounceRequest.texts":                  list(im.MaxAnnouncementTexts).format("languages"),
		"AnnounceRequest.until_ms":               millis().format("within366d"),
		"AnnounceResponse.announcement":          {Required: true},
		"WithdrawAnnouncementRequest.id":         id().required().format("announcement"),

		"FilterRule.id":                 optionalID(),
		"FilterRule.kind":               {Required: true},
		"FilterRule.pattern":            Bounds{Pattern: linesPattern, MinLength: 1, MaxLength: im.MaxFilterHost}.required().format("pattern"),
		"FilterRule.action":             {Required: true},
		"FilterRule.note":               lines(im.MaxFilterNote),
		"FilterRule.created_at_ms":      millis(),
		"FilterRule.created_by":         optionalID(),
		"ListFilterRulesResponse.rules": list(im.MaxFilterRules),
		"AddFilterRuleRequest.rule":     {Required: true},
		"AddFilterRuleResponse.rule":    {Required: true},
		"RemoveFilterRuleRequest.id":    id().required().format("rule"),
		"TestFilterRequest.text":        Bounds{MinLength: 1, MaxLength: maxTestText, MaxBytes: maxTestText}.required(),
		"TestFilterResponse.rules":      list(filter.MaxFound),
	}
}

// healthBounds is of how the deployment is.
func healthBounds() map[string]Bounds {
	known := number(0, math.MaxUint32)
	return map[string]Bounds{
		"GetHealthResponse.health":       {Required: true},
		"Health.at_ms":                   millis().required(),
		"Health.version":                 line(100),
		"Health.go_version":              line(100),
		"Health.node":                    optionalID(),
		"Health.started_at_ms":           millis().required(),
		"Health.reasons":                 {MaxItems: 1000, MaxLength: 2000},
		"Health.warnings":                {MaxItems: 1000, MaxLength: 2000},
		"Health.nodes":                   list(1000),
		"Health.stores":                  list(100),
		"Health.connections":             known,
		"Health.users_online":            known,
		"Health.stored":                  count(),
		"Health.stored_per_minute":       count(),
		"Health.sends_waiting":           known,
		"Health.sends_most":              known,
		"Health.refused":                 list(1000),
		"Health.followers":               list(1000),
		"Health.certificates":            list(100),
		"Health.memory_bytes":            count(),
		"Health.goroutines":              known,
		"Health.open_files":              known,
		"Health.open_files_most":         known,
		"NodeHealth.name":                id().required(),
		"NodeHealth.roles":               {MaxItems: 10, MaxLength: 64},
		"NodeHealth.heard_at_ms":         millis(),
		"StoreHealth.name":               {Required: true, MaxLength: 64},
		"StoreHealth.kind":               {MaxLength: 64},
		"StoreHealth.bytes":              count(),
		"StoreHealth.free_bytes":         count(),
		"StoreHealth.durability":         {MaxLength: 200},
		"StoreHealth.trouble":            {MaxLength: 1000},
		"CodeCount.code":                 {Required: true, MaxLength: 64},
		"CodeCount.count":                count(),
		"FollowerHealth.name":            {Required: true, MaxLength: 64},
		"FollowerHealth.behind":          count(),
		"FollowerHealth.behind_ms":       count(),
		"FollowerHealth.set_aside":       count(),
		"PushHealth.subscriptions":       count(),
		"PushHealth.waiting":             count(),
		"PushHealth.failing":             count(),
		"PushHealth.oldest_ms":           count(),
		"PushHealth.results":             list(100),
		"LaterHealth.scheduled":          count(),
		"LaterHealth.due":                count(),
		"LaterHealth.timers":             count(),
		"LaterHealth.timers_due":         count(),
		"LaterHealth.erasures":           count(),
		"LaterHealth.promises":           count(),
		"CertificateHealth.names":        {MaxItems: 1000, MaxLength: 253},
		"CertificateHealth.not_after_ms": millis(),
		"CertificateHealth.source":       {MaxLength: 1000},
		"CertificateHealth.trouble":      {MaxLength: 1000},
	}
}
