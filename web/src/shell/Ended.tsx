import { Trans, useLingui } from "@lingui/react/macro"
import type { SkeinError } from "@skein-im/client"
import { useClient, useConnection, useEvent } from "@skein-im/react"
import { MonitorSmartphone, OctagonX } from "lucide-react"
import { useState, type ReactNode } from "react"
import { logOut } from "../client.js"
import { Button, Dialog, Empty, ErrorNote } from "../ui/index.js"

/** The client was told to stop: another device took its place, the session is over, or it fits no more. */
export function Ended({ children }: { children: ReactNode }) {
  const { state, error } = useConnection()
  const [by, setBy] = useState("")
  useEvent("state", (e) => { if (e.by !== undefined) setBy(e.by.name ?? "") })
  if (state !== "stopped" && state !== "closed") return children
  if (error?.code === "replaced") return <>{children}<Replaced by={by} /></>
  return <Over error={error} />
}

function Replaced({ by }: { by: string }) {
  const { t } = useLingui()
  const client = useClient()
  return (
    <Dialog open onClose={() => undefined} size="s" title={t`Skein is open elsewhere`} actions={<Button look="primary" onClick={() => client.reconnect()}><Trans>Use it here</Trans></Button>}>
      <MonitorSmartphone aria-hidden="true" />
      {by === "" ? <Trans>You logged in with another browser, so this one was disconnected.</Trans> : <Trans>You logged in with {by}, so this browser was disconnected.</Trans>}
    </Dialog>
  )
}

function Over({ error }: { error: SkeinError | undefined }) {
  const { t } = useLingui()
  const login = error?.action === "login"
  if (error?.code === "version_unsupported") {
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
