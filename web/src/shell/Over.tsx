import { Trans, useLingui } from "@lingui/react/macro"
import type { SkeinError } from "@skein-im/client"
import { useClient } from "@skein-im/react"
import { MonitorSmartphone, OctagonX } from "lucide-react"
import { logOut } from "../client.js"
import { Button, Empty, ErrorNote } from "../ui/index.js"

/** Another device or tab took this one's place. */
export function Replaced({ by, tab }: { by: string; tab: boolean }) {
  const { t } = useLingui()
  const client = useClient()
  return (
    <Empty icon={<MonitorSmartphone />} title={t`Skein is open elsewhere`} action={<Button look="primary" onClick={() => client.reconnect()}><Trans>Use it here</Trans></Button>}>
      {tab ? <Trans>Another tab of this browser has taken over.</Trans> : by === "" ? <Trans>You logged in with another browser, so this one was disconnected.</Trans> : <Trans>You logged in with {by}, so this browser was disconnected.</Trans>}
    </Empty>
  )
}

/** The connection was ended for good: why, and what can be done. */
export function Over({ error }: { error: SkeinError | undefined }) {
  const { t } = useLingui()
  const login = error?.action === "login"
  if (error?.code === "version_unsupported" || error?.code === "other_version") {
    return (
      <Empty icon={<OctagonX />} title={t`The server speaks another version`} action={<Button look="primary" onClick={() => location.reload()}><Trans>Load anew</Trans></Button>}>
        <Trans>This page is older than the server, or newer. Loading it anew brings the one that fits.</Trans>
      </Empty>
    )
  }
  const title = login ? t`You are logged out` : error?.code === "banned" ? t`Your account is locked` : error?.code === "account_deleted" ? t`Your account was deleted` : t`The connection was ended`
  return (
    <Empty icon={<OctagonX />} title={title} action={
      login || error?.code === "account_deleted" || error?.code === "banned" || error?.code === "other_user" || error?.code === "device_mismatch"
        ? <Button look="primary" onClick={() => void logOut()}><Trans>Log in again</Trans></Button>
        : <Button look="primary" onClick={() => location.reload()}><Trans>Load anew</Trans></Button>
    }>
      {login ? <Trans>This session was ended, here or on another device. What this browser kept is removed when you log in again.</Trans> : error !== undefined && <ErrorNote error={error} />}
    </Empty>
  )
}
