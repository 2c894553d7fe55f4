import { SkeinError } from "@skein-im/client"
import { useLingui } from "@lingui/react/macro"

/** Says in the user's language what an error means for them. */
export function useWhy(): (error: unknown) => string {
  const { t } = useLingui()
  return (error) => {
    if (error instanceof TypeError) return t`The server cannot be reached.` // of fetch
    if (!(error instanceof SkeinError)) return t`Something went wrong.`
    switch (error.code) {
      case "offline":
      case "connection_lost":
        return t`There is no connection.`
      case "unavailable":
      case "overloaded":
      case "internal":
        return t`The server cannot do this right now. Try again in a moment.`
      case "rate_limited":
        return t`That was too often. Wait a moment, then try again.`
      case "permission_denied":
        return t`You may not do this.`
      case "not_found":
        return t`This does not exist, or not any more.`
      case "not_contact":
        return t`Only contacts can write to each other.`
      case "too_large":
        return t`This is too large.`
      case "muted":
        return t`You may not write here for now.`
      case "already_exists":
        return t`This is taken.`
      case "session_revoked":
      case "token_invalid":
      case "token_expired":
      case "token_reused":
      case "unauthenticated":
        return t`The session has ended. Log in again.`
      case "storage_full":
        return t`The server's disk is full. Tell whoever runs it.`
      case "store":
        return t`This browser cannot store messages. Is its storage full, or switched off?`
      case "outbox_full":
        return t`Too many messages are waiting to be sent.`
      case "bad_credentials":
        return t`The user name or the password is wrong.`
      default:
        return error.message === error.code ? t`Something went wrong (${error.code}).` : error.message
    }
  }
}
