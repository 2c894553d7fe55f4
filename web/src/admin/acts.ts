import { t } from "@lingui/core/macro"
import type { Line } from "./audit.js"

/** What a line of the audit log says was done; of an act that this version does not know its name. */
export function actOf(l: Line): string {
  const name = l.action ?? ""
  return known()[name] ?? name.replace(/^AdminService\//, "")
}

/** The acts that one can filter by. */
export const acts = ["AdminService/BanUser", "AdminService/UnbanUser", "AdminService/SetDisabled", "AdminService/KickUser", "AdminService/CreateUser", "AdminService/EraseUser", "AdminService/ExportUser", "AdminService/CreateResetLink", "AdminService/SetUsername", "AdminService/SetServerRole", "AdminService/MintToken",
  "AdminService/SetGroupOwner", "AdminService/CloseGroup", "AdminService/CreateGroupFor", "AdminService/GetReport", "AdminService/DecideReport", "AdminService/TakeBackMessage", "AdminService/SetServerSettings", "AdminService/SetRetention",
  "AdminService/Announce", "AdminService/WithdrawAnnouncement", "AdminService/AddFilterRule", "AdminService/RemoveFilterRule",
  "AdminService/SetStickerPack", "AdminService/SetCustomEmoji", "AdminService/CreateRegistrationLink", "AdminService/RevokeRegistrationLink", "import"] as const

export const actName = (action: string): string => known()[action] ?? action

function known(): Readonly<Record<string, string>> {
  return {
    "AdminService/BanUser": t`Banned a user`, "AdminService/UnbanUser": t`Ended a ban`, "AdminService/SetDisabled": t`Disabled or enabled an account`, "AdminService/KickUser": t`Ended sessions`,
    "AdminService/CreateUser": t`Created a user`, "AdminService/EraseUser": t`Deleted an account`, "AdminService/ExportUser": t`Exported a user’s data`, "AdminService/CreateResetLink": t`Made a link for a new password`,
    "AdminService/SetUsername": t`Changed a user name`, "AdminService/SetServerRole": t`Changed a role`, "AdminService/MintToken": t`Minted a token`, "AdminService/SetGroupOwner": t`Changed a group’s owner`,
    "AdminService/CloseGroup": t`Closed a group`, "AdminService/CreateGroupFor": t`Created a group`, "AdminService/GetReport": t`Looked at a report`, "AdminService/DecideReport": t`Decided a report`,
    "AdminService/TakeBackMessage": t`Took a message back`, "AdminService/SetServerSettings": t`Changed the server’s settings`, "AdminService/SetRetention": t`Changed how long messages are kept`, "AdminService/GetRetention": t`Looked at how long messages are kept`,
    "AdminService/Announce": t`Announced something`, "AdminService/WithdrawAnnouncement": t`Withdrew an announcement`, "AdminService/AddFilterRule": t`Added a filter rule`, "AdminService/RemoveFilterRule": t`Removed a filter rule`,
    "AdminService/SetStickerPack": t`Changed a sticker pack`, "AdminService/SetCustomEmoji": t`Changed an emoji`, "AdminService/CreateRegistrationLink": t`Made an invitation`, "AdminService/RevokeRegistrationLink": t`Ended an invitation`,
    import: t`Imported an export`,
    login: t`Logged in`, login_code: t`Logged in with a code`, provider: t`Logged in by a provider`, register: t`Registered`, register_guest: t`Came as a guest`, claim: t`Became the first owner`, refresh: t`Used an old token again`,
  }
}
