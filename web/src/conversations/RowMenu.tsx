import { Trans, useLingui } from "@lingui/react/macro"
import type { Summary } from "@skein-im/client"
import { useClient } from "@skein-im/react"
import { Archive, ArchiveRestore, Bell, BellOff, CheckCheck, ExternalLink, Mail, Pin, PinOff } from "lucide-react"
import { MenuItem, MenuLine, SubMenu, toast, useWhy } from "../ui/index.js"

const hour = 3_600_000
/** Until the end of time, as a number that every program reads. */
const forEver = 253_402_300_799_000

/** What the user sets for themselves in a conversation. */
export function RowMenu({ c, muted }: { c: Summary; muted: boolean }) {
  const { t } = useLingui()
  const client = useClient()
  const why = useWhy()
  const at = client.conversation(c.id)
  const run = (what: Promise<void>): void => void what.catch((e: unknown) => toast(why(e), { tone: "error" }))
  const mute = (ms: number): void => run(at.setMyState({ mutedUntilMs: String(ms === 0 ? 0 : ms === forEver ? forEver : client.serverTimeMs() + ms) }))
  const pinned = c.mine.pinned === true
  const unread = c.unread > 0 || c.markedUnread
  const hide = (hidden: boolean): void => {
    run(at.setMyState({ hidden }).then(() => {
      if (hidden) toast(t`Hidden until there is a new message`, { action: { label: t`Undo`, run: () => run(at.setMyState({ hidden: false })) } })
    }))
  }
  const read = (): void => run(Promise.all([c.unread > 0 ? at.markRead(c.head) : undefined, c.markedUnread ? at.setMyState({ unread: false }) : undefined]).then(() => undefined))
  return (
    <>
      <MenuItem icon={<ExternalLink />} onClick={() => window.open(`/c/${c.id}`, "_blank", "noopener")}><Trans>Open in a new tab</Trans></MenuItem>
      <MenuItem icon={pinned ? <PinOff /> : <Pin />} onClick={() => run(at.setMyState({ pinned: !pinned }))}>{pinned ? <Trans>Unpin</Trans> : <Trans>Pin</Trans>}</MenuItem>
      {unread ? <MenuItem icon={<CheckCheck />} onClick={read}><Trans>Mark as read</Trans></MenuItem> : <MenuItem icon={<Mail />} onClick={() => run(at.setMyState({ unread: true }))}><Trans>Mark as unread</Trans></MenuItem>}
      {muted ? <MenuItem icon={<Bell />} onClick={() => mute(0)}><Trans>Unmute</Trans></MenuItem> : (
        <SubMenu icon={<BellOff />} label={t`Mute`}>
          <MenuItem onClick={() => mute(hour)}><Trans>For an hour</Trans></MenuItem>
          <MenuItem onClick={() => mute(8 * hour)}><Trans>For eight hours</Trans></MenuItem>
          <MenuItem onClick={() => mute(7 * 24 * hour)}><Trans>For a week</Trans></MenuItem>
          <MenuItem onClick={() => mute(forEver)}><Trans>Until I change it</Trans></MenuItem>
        </SubMenu>
      )}
      <MenuLine />
      <MenuItem icon={c.hidden ? <ArchiveRestore /> : <Archive />} onClick={() => hide(!c.hidden)}>{c.hidden ? <Trans>Show in the list</Trans> : <Trans>Hide</Trans>}</MenuItem>
    </>
  )
}
