package api

// Patterns of strings, anchored. They are in what ECMAScript and Python have in
// common.
const (
	idChars      = "[A-Za-z0-9_-]"
	idPattern    = "^" + idChars + "{1,64}$"
	maybeID      = "^" + idChars + "{0,64}$"
	groupPattern = "^grp:" + idChars + "{1,64}$"
	// toPattern is of conversations that members write to.
	toPattern   = "^(dm:" + idChars + "{1,64}:" + idChars + "{1,64}|grp:" + idChars + "{1,64})$"
	anyPattern  = "^(dm:" + idChars + "{1,64}:" + idChars + "{1,64}|(grp|me):" + idChars + "{1,64})$"
	typePattern = "^[a-z0-9._-]{1,64}$"
	namePattern = "^[A-Za-z0-9_.-]{3,32}$"
	maybeName   = "^([A-Za-z0-9_.-]{3,32})?$"
	// namesPattern is of names as they are told: in lower case, or of nobody.
	namesPattern = "^([a-z0-9_.-]{3,32})?$"
	tokenPattern = "^[!-~]{1,512}$"
	maybeToken   = "^[!-~]{0,512}$"
	codePattern  = "^[a-z_]{1,64}$"
	// maybeSecret is of a new password that may be absent.
	maybeSecret = `^([\s\S]{8,200})?$`
	// typedCode is of codes as people type them: 6 digits, or a recovery code, which is
	// told as recoveryPattern.
	typedCode       = "^[ -]*(([0-9][ -]*){6}|([A-Za-z2-7][ -]*){16})$"
	recoveryPattern = "^[a-z2-7]{4}(-[a-z2-7]{4}){3}$"
	// notePattern is text without what ASCII has of control characters.
	notePattern = `^[^\u0000-\u001f\u007f]*$`
	// linesPattern is text with tabs and line feeds, and no other control characters.
	linesPattern = `^[^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*$`
	// linePattern is text without control characters, titlePattern such text that
	// shows something.
	linePattern  = `^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$`
	titlePattern = `^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*[^\s\u0000-\u001f\u007f-\u009f\u2028\u2029][^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$`
	// unseen is what no name may have, wherever in it (im.CheckName); shownPattern is of
	// names, maybeShown of those that may be empty.
	unseen       = `\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb`
	shownPattern = `^[^` + unseen + `]*[^\s` + unseen + `][^` + unseen + `]*$`
	maybeShown   = `^([^` + unseen + `]*[^\s` + unseen + `][^` + unseen + `]*)?$`
)

// BytesPattern is of base64, as the server writes it.
const BytesPattern = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"

// messageIDPattern is of the base64 of 16 bytes.
const messageIDPattern = "^[A-Za-z0-9+/]{21}[AQgw]==$"

// namedIDPattern is that, or the text of a UUIDv7, as a client may write it.
const namedIDPattern = "^([A-Za-z0-9+/]{21}[AQgw]==|[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-7[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12})$"
