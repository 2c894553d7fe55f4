import { Trans, useLingui } from "@lingui/react/macro"
import { useClient, useUsers } from "@skein-im/react"
import { CalendarDays, Check, X } from "lucide-react"
import { useMemo } from "react"
import { useLoad } from "../settings/useLoad.js"
import { useRemarks } from "../people/book.js"
import { nameOf } from "../timeline/names.js"
import { Button, cx, Field, Popover, Select } from "../ui/index.js"
import { kinds, narrowed, type Filters, type Kind } from "./filters.js"
import { peerOf } from "./peers.js"
import type { Places } from "./places.js"
import s from "./Search.module.css"

/** Where, by whom, what and when. */
export function FilterBar({ filters: f, places, onChange }: { filters: Filters; places: Places; onChange: (f: Filters) => void }) {
  const { t } = useLingui()
  const names: Record<Kind, string> = { any: t`All`, pictures: t`Pictures`, videos: t`Videos`, files: t`Files`, links: t`Links`, voice: t`Voice`, polls: t`Polls` }
  const people = usePeople(f.conversation, places)
  return (
    <div className={s.filters}>
      <div className={s.kinds} role="group" aria-label={t`What`}>
        {kinds.map((k) => <button key={k} type="button" className={s.chip} aria-pressed={k === f.kind} onClick={() => onChange({ ...f, kind: k })}>{k === f.kind && <Check aria-hidden="true" />}{names[k]}</button>)}
      </div>
      <div className={s.narrow}>
        <Select label={t`Conversation`} bare value={f.conversation} onChange={(conversation) => onChange({ ...f, conversation, sender: "" })}
          options={[{ value: "", label: t`In all conversations` }, ...known(f.conversation, places).map((id) => ({ value: id, label: places.name(id) }))]} />
        <Select label={t`Sender`} bare value={f.sender} onChange={(sender) => onChange({ ...f, sender })} options={[{ value: "", label: t`From anyone` }, ...people]} />
        <Popover label={t`When`} align="end" side="bottom" trigger={<Button className={cx((f.from !== "" || f.to !== "") && s.on)} icon={<CalendarDays />}>{whenOf(f, t`Any time`)}</Button>}>
          <div className={s.when}>
            <Field label={t`From`} type="date" value={f.from} max={f.to || undefined} onChange={(e) => onChange({ ...f, from: e.currentTarget.value })} />
            <Field label={t`Up to`} type="date" value={f.to} min={f.from || undefined} onChange={(e) => onChange({ ...f, to: e.currentTarget.value })} />
            <Button look="quiet" onClick={() => onChange({ ...f, from: "", to: "" })}><Trans>Any time</Trans></Button>
          </div>
        </Popover>
        {narrowed(f) && <Button look="quiet" icon={<X />} onClick={() => onChange({ query: f.query, conversation: "", sender: "", kind: "any", from: "", to: "" })}><Trans>Clear</Trans></Button>}
      </div>
    </div>
  )
}

/** The conversation of the address may be none of the list: it is in the choice nevertheless. */
function known(conversation: string, places: Places): readonly string[] {
  const ids = places.list.map((c) => c.id)
  return conversation === "" || ids.includes(conversation) ? ids : [conversation, ...ids]
}

function whenOf(f: Filters, any: string): string {
  if (f.from === "" && f.to === "") return any
  return f.from === f.to ? f.from : `${f.from || "…"} – ${f.to || "…"}`
}

/** Who may have written it: of a group its members, of a dm both, otherwise those one writes with. */
function usePeople(conversation: string, places: Places): readonly { value: string; label: string }[] {
  const { t } = useLingui()
  const client = useClient()
  const members = useLoad(async (signal) => {
    if (!conversation.startsWith("grp:")) return []
    return ((await client.call("skein.v1.GroupService/ListMembers", { conversation, limit: 200 }, { signal })).members ?? []).map((m) => m.user ?? "")
  }, conversation)
  const ids = useMemo(() => {
    const others = conversation === "" ? places.list.map((c) => peerOf(c.id, client.user)) : conversation.startsWith("dm:") ? [peerOf(conversation, client.user)] : members.data ?? []
    return [...new Set(others)].filter((u) => u !== "" && u !== client.user)
  }, [conversation, places.list, members.data, client])
  const users = useUsers(ids)
  const remarks = useRemarks()
  return useMemo(() => {
    const others = ids.map((u) => ({ value: u, label: nameOf(users.get(u), remarks.get(u)) })).sort((a, b) => a.label.localeCompare(b.label))
    return [{ value: client.user, label: t`From me` }, ...others]
  }, [ids, users, remarks, client, t])
}
