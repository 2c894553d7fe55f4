import { useLingui } from "@lingui/react/macro"
import { Megaphone, TriangleAlert, X } from "lucide-react"
import { useEffect, useState } from "react"
import type { Announcement } from "@skein-im/client"
import { useClient, useConnection } from "@skein-im/react"
import { Button, cx } from "../ui/index.js"
import { living, put, putAway, saidIn } from "./announced.js"
import s from "./Announcements.module.css"

/** What the operators of the server tell everybody, each in a slim bar that a user may put away, if it says so. */
export function Announcements() {
  const { t, i18n } = useLingui()
  const client = useClient()
  const { state } = useConnection()
  const [all, setAll] = useState<readonly Announcement[]>([])
  const [gone, setGone] = useState<ReadonlySet<string>>(putAway)
  const [now, setNow] = useState(Date.now)
  useEffect(() => client.on("announcements", setAll), [client])
  useEffect(() => {
    if (state !== "connected") return undefined
    let left = false
    client.call("skein.v1.AccountService/GetAnnouncements", {}).then((r) => { if (!left) setAll((r.announcements ?? []) as unknown as Announcement[]) }, () => undefined) // a server of before has none
    return () => { left = true }
  }, [client, state])
  useEffect(() => {
    const tick = setInterval(() => setNow(Date.now()), 30_000)
    return () => clearInterval(tick)
  }, [])
  return (
    <div role="status">
      {living(all, gone, now).map((a) => (
        <div key={a.id} className={cx(s.bar, a.level === "ANNOUNCEMENT_LEVEL_WARNING" && s.warning)}>
          {a.level === "ANNOUNCEMENT_LEVEL_WARNING" ? <TriangleAlert aria-hidden="true" /> : <Megaphone aria-hidden="true" />}
          <bdi className={s.words}>{saidIn(a, [i18n.locale, ...navigator.languages])}</bdi>
          {a.dismissible && <Button look="quiet" className={s.away} aria-label={t`Close`} onClick={() => setGone(put(a.id, all))}><X aria-hidden="true" /></Button>}
        </div>
      ))}
    </div>
  )
}
