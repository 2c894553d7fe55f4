package api

import (
	"math"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/group"
)

// moderationBounds is of groups as administrators see them, of reports, and of what the
// deployment tells of itself.
func moderationBounds() map[string]Bounds {
	return map[string]Bounds{
		"GetServerInfoResponse.info":       {Required: true},
		"SetServerSettingsResponse.info":   {Required: true},
		"ServerInfo.name":                  shown(maxNameChars).required(),
		"ServerInfo.picture":               {MaxLength: account.MaxServerPicture, MaxBytes: account.MaxServerPicture},
		"ServerInfo.registration":          {Required: true},
		"SetServerSettingsRequest.name":    called(maxNameChars),
		"SetServerSettingsRequest.picture": Bounds{Pattern: "^(https://[!#-;=?-~]{1,490})?$"},

		"ListGroupsRequest.limit":           page(100, 500),
		"ListGroupsRequest.cursor":          optionalID(),
		"ListGroupsRequest.query":           line(maxNameChars),
		"ListGroupsResponse.groups":         list(500),
		"ListGroupsResponse.next":           optionalID(),
		"InspectGroupRequest.conversation":  matching(groupPattern).required().format("conversation"),
		"InspectGroupRequest.limit":         page(group.DefaultPage, group.MaxPage),
		"InspectGroupRequest.cursor":        matching(group.CursorPattern),
		"InspectGroupResponse.group":        {Required: true},
		"InspectGroupResponse.members":      list(group.MaxPage),
		"InspectGroupResponse.next":         matching(group.CursorPattern),
		"SetGroupOwnerRequest.conversation": matching(groupPattern).required().format("conversation"),
		"SetGroupOwnerRequest.user":         id().required().format("user"),
		"CloseGroupRequest.conversation":    matching(groupPattern).required().format("conversation"),

		"ReportMessageRequest.conversation":   matching(toPattern).required().format("conversation"),
		"ReportMessageRequest.seq":            someSeq().required(),
		"ReportMessageRequest.reason":         Bounds{}.required().only("REPORT_REASON_SPAM", "REPORT_REASON_ABUSE", "REPORT_REASON_ILLEGAL", "REPORT_REASON_OTHER"),
		"ReportMessageRequest.text":           lines(maxReportText),
		"Report.id":                           id().required(),
		"Report.conversation":                 matching(toPattern).required(),
		"Report.seq":                          someSeq().required(),
		"Report.author":                       optionalID(),
		"Report.reporter":                     optionalID(),
		"Report.reason":                       {Required: true},
		"Report.text":                         lines(maxReportText),
		"Report.said":                         {MaxLength: entrycodec.MaxSaid},
		"Report.created_at_ms":                millis().required(),
		"Report.state":                        {Required: true},
		"Report.decided_by":                   optionalID(),
		"Report.decided_at_ms":                millis(),
		"Report.note":                         lines(maxReportNote),
		"ListReportsRequest.limit":            page(50, 200),
		"ListReportsRequest.cursor":           optionalID().format("cursor"),
		"ListReportsRequest.author":           optionalID().format("user"),
		"ListReportsResponse.reports":         list(200),
		"ListReportsResponse.next":            optionalID(),
		"GetReportRequest.id":                 matching(reportPattern).required().format("report"),
		"GetReportRequest.around":             page(defaultContext, maxContext),
		"GetReportResponse.report":            {Required: true},
		"GetReportResponse.entries":           list(math.MaxInt32),
		"DecideReportRequest.id":              matching(reportPattern).required().format("report"),
		"DecideReportRequest.state":           {Required: true},
		"DecideReportRequest.note":            lines(maxReportNote),
		"TakeBackMessageRequest.conversation": matching(toPattern).required().format("conversation"),
		"TakeBackMessageRequest.seq":          someSeq().required(),
	}
}

// reportPattern is of ids of reports.
const reportPattern = "^[A-Za-z0-9_-]{22}$"
