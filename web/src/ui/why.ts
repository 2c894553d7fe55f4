import { SkeinError } from "@skein-im/client"
import { useLingui } from "@lingui/react/macro"

/** Says in the user's language what an error means for them. */
export function useWhy(): (error: unknown) => string {
  const { t } = useLingui()
  return (error) => {
    if (error instanceof TypeError) return t`Can’t reach the server.` // of fetch
    if (!(error instanceof SkeinError)) return t`Something went wrong.`
    switch (error.code) {
      case "offline":
      case "connection_lost":
        return t`No connection.`
      case "unavailable":
      case "overloaded":
      case "internal":
        return t`The server can’t do this right now. Try again in a moment.`
      case "rate_limited":
        return t`Too many attempts. Wait a moment, then try again.`
      case "permission_denied":
        return t`You don’t have permission to do this.`
      case "not_found":
        return t`This doesn’t exist, or no longer does.`
      case "not_contact":
        return t`Only contacts can write to each other.`
      case "too_large":
        return t`This is too large.`
      case "muted":
        return t`You can’t write here for now.`
      case "already_exists":
        return t`This is taken.`
      case "session_revoked":
      case "token_invalid":
      case "token_expired":
      case "token_reused":
      case "unauthenticated":
        return t`Your session has ended. Log in again.`
      case "storage_full":
        return t`The server’s disk is full. Tell its administrator.`
      case "store":
        return t`This browser can’t store messages. Is its storage full or turned off?`
      case "outbox_full":
        return t`Too many messages are waiting to be sent.`
      case "bad_credentials":
        return t`Wrong user name or password.`
      default:
        return error.message === error.code ? t`Something went wrong (${error.code}).` : error.message
    }
  }
}
