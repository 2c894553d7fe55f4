import { Trans, useLingui } from "@lingui/react/macro"
import { EllipsisVertical, MicOff, Search, UserPlus } from "lucide-react"
import { useEffect, useRef, useState } from "react"
import type { Response } from "@skein-im/client"
import { useAction, useClient, useEvent } from "@skein-im/react"
import { Button, ErrorNote, Field, IconButton, Loading, Note, Select, Tag, Tooltip } from "../ui/index.js"
import { Person } from "../people/Person.js"
import { ProfileDialog } from "../people/ProfileDialog.js"
import { AddMembers } from "./AddMembers.js"
import { MemberMenu } from "./MemberMenu.js"
import { powersIn, type Group, type Member, type Role } from "./powers.js"
import { useDay } from "./times.js"
import s from "./Groups.module.css"

const pageSize = 50
const some = 6

interface Shown {
  members: readonly Member[]
  next: string
}

/** Members, with pages and a search; `few`: the first of them, and a way to all. */
function useMembers(conversation: string, limit: number, query: string, role: Role | ""): { shown: Shown | undefined; error: ReturnType<typeof useAction>["error"]; pending: boolean; again: () => void; more: () => void } {
  const client = useClient()
  const [shown, setShown] = useState<Shown | undefined>(undefined)
  const wanted = useRef("")
  const load = useAction(async (cursor: string) => {
    const mine = (wanted.current = `${conversation} ${role} ${query} ${cursor}`)
    const r: Response<"skein.v1.GroupService/ListMembers"> = await client.call("skein.v1.GroupService/ListMembers", { conversation, limit, cursor, query, ...(role === "" ? {} : { role }) })
    if (mine !== wanted.current) return // something else is looked for by now
    setShown((was) => ({ members: [...(cursor === "" ? [] : (was?.members ?? [])), ...(r.members ?? [])], next: r.next ?? "" }))
  })
  const { run } = load
  useEffect(() => {
    const timer = setTimeout(() => void run(""), query === "" ? 0 : 250)
    return () => clearTimeout(timer)
  }, [run, conversation, query, role])
  useEvent("group", (e) => {
    if (e.conversation === conversation && /^(MEMBER|ROLE|OWNER)_/.test(e.type)) void run("")
  })
  return { shown, error: load.error, pending: load.pending, again: () => void run(""), more: () => void run(shown?.next ?? "") }
}

export function Members({ group, few = false, onAll, onChanged }: { group: Group; few?: boolean; onAll?: () => void; onChanged: () => void }) {
  const { t } = useLingui()
  const [query, setQuery] = useState("")
  const [role, setRole] = useState<Role | "">("")
  const [adding, setAdding] = useState(false)
  const [profile, setProfile] = useState<string | undefined>(undefined)
  const { shown, error, pending, again, more } = useMembers(group.conversation, few ? some : pageSize, query.trim(), role)
  const may = powersIn(group)
  const changed = (): void => {
    again()
    onChanged()
  }
  return (
    <div className={s.members}>
      {may.add && <Button icon={<UserPlus />} onClick={() => setAdding(true)}><Trans>Add people</Trans></Button>}
      {!few && group.members > some && (
        <div className={s.row}>
          <Field bare label={t`Find a member`} type="search" value={query} onChange={(e) => setQuery(e.currentTarget.value)} placeholder={t`Find a member`} before={<Search aria-hidden="true" />} maxLength={64} />
          <Select bare label={t`Role`} value={role} onChange={(v) => setRole(v as Role | "")} options={[{ value: "", label: t`All` }, { value: "ROLE_ADMIN", label: t`Admins` }, { value: "ROLE_MEMBER", label: t`Members` }]} />
        </div>
      )}
      {error !== undefined && <ErrorNote error={error} onRetry={again} />}
      {shown === undefined && error === undefined && <Loading />}
      {shown?.members.length === 0 && shown.next === "" && <Note><Trans>No matching members.</Trans></Note>}
      <ul className={s.list}>{(few ? shown?.members.slice(0, some) : shown?.members)?.map((m) => <Line key={m.user} group={group} m={m} onOpen={() => setProfile(m.user)} onChanged={changed} />)}</ul>
      {few ? group.members > some && <Button look="quiet" className={s.more} onClick={onAll}><Trans>All {group.members} members</Trans></Button> : (shown?.next ?? "") !== "" && <Button look="quiet" className={s.more} busy={pending} onClick={more}><Trans>Show more</Trans></Button>}
      {adding && <AddMembers group={group} onClose={() => setAdding(false)} onDone={changed} />}
      {profile !== undefined && <ProfileDialog user={profile} onClose={() => setProfile(undefined)} />}
    </div>
  )
}

function Line({ group, m, onOpen, onChanged }: { group: Group; m: Member; onOpen: () => void; onChanged: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const day = useDay()
  const muted = Number(m.mutedUntilMs ?? 0) > client.serverTimeMs()
  const mark = (
    <>
      {m.role === "ROLE_OWNER" && <Tag tone="accent">{t`Owner`}</Tag>}
      {m.role === "ROLE_ADMIN" && <Tag>{t`Admin`}</Tag>}
      {m.user === client.user && <Tag>{t`You`}</Tag>}
      {muted && <Tooltip text={t`Muted until ${day(m.mutedUntilMs)}`}><span role="img" aria-label={t`Muted until ${day(m.mutedUntilMs)}`}><MicOff /></span></Tooltip>}
    </>
  )
  const menu = <MemberMenu group={group} member={m} muted={muted} onProfile={onOpen} onChanged={onChanged} trigger={<IconButton label={t`Member actions`} tooltip={false}><EllipsisVertical /></IconButton>} />
  return <Person id={m.user} nickname={m.nickname} mark={mark} onOpen={onOpen} end={m.user === client.user ? undefined : menu} />
}
