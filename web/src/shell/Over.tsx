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
    <Empty icon={<MonitorSmartphone />} title={t`Skein is open elsewhere`} action={<Button look="primary" onClick={() => client.reconnect()}><Trans>Use Skein here</Trans></Button>}>
      {tab ? <Trans>Skein is now active in another tab of this browser.</Trans> : by === "" ? <Trans>You logged in with another browser, so this one was disconnected.</Trans> : <Trans>You logged in with {by}, so this browser was disconnected.</Trans>}
    </Empty>
  )
}

/** The connection was ended for good: why, and what can be done. */
export function Over({ error }: { error: SkeinError | undefined }) {
  const { t } = useLingui()
  const login = error?.action === "login"
  if (error?.code === "other_version") {
    // Whichever of the two is the older: once the other tabs are gone this one goes on, and loaded again it is the newest.
    return (
      <Empty icon={<MonitorSmartphone />} title={t`Another tab has a different version of Skein`} action={<Button look="primary" onClick={() => location.reload()}><Trans>Try again</Trans></Button>}>
        <Trans>Two versions cannot share this browser’s messages. Close the other tabs with Skein, then try again.</Trans>
      </Empty>
    )
  }
  if (error?.code === "version_unsupported") {
    return (
      <Empty icon={<OctagonX />} title={t`This page doesn’t match the server`} action={<Button look="primary" onClick={() => location.reload()}><Trans>Reload</Trans></Button>}>
        <Trans>The server has a different version. Reload to get the one that fits.</Trans>
      </Empty>
    )
  }
  const title = login ? t`You are logged out` : error?.code === "banned" ? t`Your account is locked` : error?.code === "account_deleted" ? t`Your account was deleted` : t`Disconnected`
  return (
    <Empty icon={<OctagonX />} title={title} action={
      login || error?.code === "account_deleted" || error?.code === "banned" || error?.code === "other_user" || error?.code === "device_mismatch"
        ? <Button look="primary" onClick={() => void logOut()}><Trans>Log in again</Trans></Button>
        : <Button look="primary" onClick={() => location.reload()}><Trans>Reload</Trans></Button>
    }>
      {login ? <Trans>This session was ended here or on another device. Data stored in this browser is removed when you log in again.</Trans> : error !== undefined && <ErrorNote error={error} />}
    </Empty>
  )
}
